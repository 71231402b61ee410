"""The learning rate: how good every rate was that the grid sweeps or a choice tried, as table and figure.

Of a choice these are the runs of the selection (its own seeds, its metric of the validation split), of successive
halving those of the first rung, which tried every rate, of a sampler those that it drew; of a grid the runs that count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from normexp.evidence.curves import Cell, named_point
from normexp.evidence.metrics import better_direction, is_share
from normexp.evidence.reading import value_at
from normexp.evidence.scales import SMOKE
from normexp.evidence.sensitivity import has_range
from normexp.evidence.stats import CONFIDENCE
from normexp.experiments.experiment import Experiment, Point
from normexp.experiments.figure import Figure
from normexp.experiments.figure_kinds import SELECTION
from normexp.experiments.halving import budget
from normexp.experiments.rung_words import seeds_in_words
from normexp.experiments.selection import read_selection
from normexp.experiments.trials import choosings, combinations
from normexp.records import RunDirectory
from normexp.report.figures.chart import Chart, Panel
from normexp.report.figures.choice import MOST_TICKS, logarithmic, top_of
from normexp.report.figures.context import MOST, FigureContext
from normexp.report.figures.experiments import legend
from normexp.report.figures.scales import short
from normexp.report.figures.styles import LineStyle, distinct, of_arms
from normexp.report.figures.words import of_key
from normexp.report.frames.chosen import RATE
from normexp.report.frames.measured import Measured
from normexp.report.frames.record import Record
from normexp.report.metrics import bad_end, factor, possible, title
from normexp.report.tables.formats import csv_text, markdown
from normexp.report.tables.sensitivity import sensitivity_table

UNIT = re.compile(r" \([^()]+\)$")  # at the end of a label
TABLE = ("sensitivity.md", "compares the arms at one common rate and each at its best")


def sensitivity_text(experiment: Experiment, measured: Measured, results: Path) -> dict[str, str]:
    """Return {sensitivity.md, .csv} where the grid sweeps three learning rates or a choice tried them; else nothing."""
    if RATE in experiment.grid:
        records, confidence = _at_look(measured), measured.confidence
        metric, note = experiment.table.metric or experiment.table.looks[0].metric, measured.progress
    else:  # of the seeds of a search, which are looked at once
        records, confidence = trial_records(experiment, results), CONFIDENCE
        metric, note = _metric(experiment), _whose(experiment, "; one seed gives no interval")
    if better_direction(metric) is None:
        return {}
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(str(Cell(record.arm, _others(record))), []).append(record)
    made = sensitivity_table(groups, RATE, metric, [note] if note else [], confidence)
    return {"sensitivity.md": markdown(made), "sensitivity.csv": csv_text(made)} if made else {}


def _at_look(measured: Measured) -> list[Record]:
    """Return the runs of the grid, under a sequential design those of the looks that were taken."""
    seeds = measured.at_look({record.seed: None for record in measured.records if record.seed is not None})
    return [record for record in measured.records if record.seed in seeds]


def trial_records(experiment: Experiment, results: Path) -> list[Record]:
    """Return the runs of the selection that tried a learning rate, of successive halving those of its first rung."""
    return list(_trial_records(experiment, results)) if experiment.select and RATE in experiment.select.search else []


def _trial_records(experiment: Experiment, results: Path) -> Iterator[Record]:
    select = experiment.select
    assert select is not None
    drawn = read_selection(experiment, results)["tried"] if select.sampler else {}
    for name, choosing in choosings(experiment, results, list(experiment.arms)).items():
        for values in [each["values"] for each in drawn.get(name, [])] if select.sampler else combinations(select):
            tuned = named_point((*choosing.at, *values.items()))
            for seed, path in zip(select.seeds, choosing.runs(values, budget(select, 0)), strict=True):
                run = RunDirectory(path)
                yield Record(run, path.name, experiment.name, experiment.scale, choosing.arm, tuned, seed)


def _metric(experiment: Experiment) -> str:
    return experiment.select.metric if experiment.select else ""


def _whose(experiment: Experiment, of_one_seed: str = "") -> str:
    """Return a sentence on whose runs these are; empty of an experiment that chooses nothing.

    Args:
        of_one_seed: what it says besides where there is one seed.
    """
    if (select := experiment.select) is None:
        return ""
    rung = f" after {select.halving.steps[0]:,} steps (the first rung)," if select.halving else ""
    interval = "" if len(select.seeds) > 1 else of_one_seed
    return f"Of the hyperparameter search, on the validation split,{rung} {seeds_in_words(select.seeds)}{interval}."


def _others(record: Record) -> Point:
    return tuple((key, value) for key, value in record.point if key != RATE)


def choice_chart(experiment: Experiment, measured: Measured, results: Path, notes: Sequence[str]) -> Chart | None:
    """Return the metric of a choice against the learning rate; None where fewer than three rates were tried.

    A line per arm and a panel per other value; of more arms than colours a panel per arm and a line per other value.
    How many seeds were added to the runs is left out of the notes: trials have seeds of their own.
    """
    records = [record for record in trial_records(experiment, results) if record.finished]
    rates = sorted({float(record.value(RATE)) for record in records})
    if not has_range(rates):
        return None
    labels = {key: word for spec in experiment.figures for key, word in spec.labels.items()}
    context = FigureContext(experiment, measured, Figure(name=SELECTION, labels=labels))
    metric, by_arm = _metric(experiment), len({record.arm for record in records}) > MOST
    data = pd.DataFrame([_row(context, record, metric, by_arm) for record in records])
    top = top_of(data["value"], metric)
    return Chart(
        data, "interval", x="place", y="value", colour="line", panel="panel", band="range",
        log=logarithmic(data["value"][data["value"] <= top], metric) | {"x"},
        title=f"Choosing the {of_key(RATE)}: {experiment.title}",
        panels={each: Panel(each, "", possible(metric), bad_end(metric), top=top) for each in data["panel"].unique()},
        styles=_styles(context, records, by_arm),
        labels={"x": of_key(RATE), "y": title(metric) + _unit(experiment, metric)},
        ticks={rate: short(rate) for rate in rates if len(rates) <= MOST_TICKS}, preview=experiment.scale == SMOKE,
        sentences=(_whose(experiment),), beside=TABLE, notes=tuple(note for note in notes if note != measured.progress),
    )  # fmt: skip


def _unit(experiment: Experiment, metric: str) -> str:
    """Return the unit that a figure names for the same measure of another split: ` (nats per character)`."""
    for spec in experiment.figures:
        if str(getattr(spec, "metric", "")).rpartition("/")[2] == metric.rpartition("/")[2] and not is_share(metric):
            words = (spec.labels.get(key, "") for key in (str(getattr(spec, "metric", "")), "y", "z"))
            if unit := next((found[0] for word in words if (found := UNIT.search(word))), ""):
                return unit
    return ""


def _row(context: FigureContext[Figure], record: Record, metric: str, by_arm: bool) -> dict[str, object]:
    arm, point = context.label(record.arm), _point(context, record)
    return {
        "line": point if by_arm else arm,
        "panel": arm if by_arm else point,
        "run": record.seed,
        "place": float(record.value(RATE)),
        "value": factor(metric) * value_at(record.curve, metric, "last", better_direction(metric)),
        "ended": record.state == "diverged",
    }


def _point(context: FigureContext[Figure], record: Record) -> str:
    return ", ".join(context.point(axis, value) for axis, value in _others(record))


def _styles(context: FigureContext[Figure], records: Sequence[Record], by_arm: bool) -> dict[str, LineStyle]:
    """Return the style of every line: of arms that the other figures of the experiment show as one, that of theirs."""
    if by_arm:
        return {name: distinct(i) for i, name in enumerate(dict.fromkeys(_point(context, each) for each in records))}
    arms = list(dict.fromkeys(each.arm for each in records))
    cells = {arm: [cell for cell in context.measured.curves if cell.arm == arm] for arm in arms}
    drawn = legend(context.experiment, context.measured) if all(len(each) == 1 for each in cells.values()) else {}
    elsewhere = {context.label(arm): drawn[cells[arm][0]][1] for arm in arms if drawn}
    return elsewhere or of_arms({context.label(arm): context.scheme(arm) for arm in arms})
