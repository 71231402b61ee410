"""An experiment's table: rows are arms in the paper's order, columns are what its YAML asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from normexp.config.config import flat
from normexp.config.options import option
from normexp.config.text import override_text
from normexp.evidence.audit import cited
from normexp.evidence.curves import Cell
from normexp.evidence.learned import learned
from normexp.evidence.metrics import is_share
from normexp.evidence.scales import PAPER
from normexp.experiments.experiment import Experiment
from normexp.experiments.tables import Look, PublishedOnly
from normexp.experiments.tables import Published as Printed
from normexp.experiments.tables import Table as Asked
from normexp.report.experiment.columns import At, Column, Difference, Metric, Row
from normexp.report.experiment.published_columns import NOT_RUN, Published, Verdict
from normexp.report.experiment.ratio_column import RatioTo
from normexp.report.experiment.run_columns import Finite, Learned
from normexp.report.experiment.steps_columns import SpeedUpOver, StepsTo
from normexp.report.figures.words import renamed
from normexp.report.frames.measured import Measured
from normexp.report.metrics import title
from normexp.report.tables.row import MEDIAN, explained
from normexp.report.tables.table import Table

REFUSED = "refused"
SET_UP = "Set-up"  # heading of what the arms are and the columns mean
KEYS = re.compile(r"\bstudy\.\w+|\bbatch_size\b")  # of the configuration, in what a study says of its metrics


def experiment_table(experiment: Experiment, measured: Measured, notes: Mapping[str, Sequence[str]]) -> Table:
    """Build the table of an experiment: one metric beside the published numbers, or several columns.

    Args:
        notes: heading -> sentences below the table; what the columns mean is added.
    """
    if experiment.table.metric:
        rows = list(_compared_rows(experiment, measured))
        columns = _compared_columns(experiment, measured, rows)
    else:
        rows = [Row(cell) for cell in _cells(experiment, measured)]
        columns = list(_columns(experiment, measured))
    columns = [*columns, *_learned(measured, columns)]
    shown = [*columns, Finite(measured, tuple(columns))]
    partly = f" Only {measured.partly}." if measured.partly else ""
    return Table(
        title=experiment.title if experiment.title.endswith(("?", ".")) else f"{experiment.title}.",
        source=f"{experiment.paper}, {experiment.item}. Scale: {experiment.scale}.{partly}",
        label=f"{experiment.name}-{experiment.scale}",
        heads=["arm", *(column.head for column in shown)],
        rows=[[cited(str(row.cell)), *(column.text(row) for column in shown)] for row in rows],
        values=[_plain(row, columns) for row in rows],
        notes={
            SET_UP: [
                experiment.about,
                *_described(experiment, columns),
                *_meaning(columns, rows),
                *_in_figures(experiment),
            ],
            **notes,
        },
    )


def _learned(measured: Measured, columns: Sequence[Column]) -> list[Column]:
    """Return the column of runs above chance, where test accuracies are shown and every run's chance is known."""
    shares = any(is_share(getattr(column, "metric", "")) for column in columns if isinstance(column, Metric))
    runs = [learned(run) for run in measured.runs]
    return [Learned(measured)] if shares and runs and None not in runs else []


def _plain(row: Row, columns: Sequence[Column]) -> dict[str, Any]:
    cells = [column.plain(row) for column in columns]
    return {"arm": str(row.cell), **{name: value for cell in cells for name, value in cell.items()}}


def _described(experiment: Experiment, columns: Sequence[Column]) -> Iterator[str]:
    """Yield a sentence for every metric of a study that a column shows, as the study's option has it.

    A key that it names has its value behind it, `study.rate (0.5)`, where that is the same in all runs.
    """
    about = {name: said for each in _said_by_studies(experiment, "_metrics_") for name, said in each.items()}
    shown = dict.fromkeys(column.metric for column in columns if isinstance(column, Metric) and column.metric in about)
    yield from (f"{title(metric)}: {KEYS.sub(partial(_with_value, experiment), about[metric])}." for metric in shown)


def _with_value(experiment: Experiment, key: re.Match[str]) -> str:
    runs = (flat(experiment.config(arm, point).values) for arm in experiment.arms for point in experiment.points())
    values = {override_text(run.get(key[0])) for run in runs}
    return f"{key[0]} ({values.pop()})" if len(values) == 1 else key[0]


def _said_by_studies(experiment: Experiment, key: str) -> Iterator[Any]:
    """Yield what the studies of the arms say of themselves under a key."""
    studies = dict.fromkeys(experiment.settings(arm, ()).get("study", "none") for arm in experiment.arms)
    return (said for study in studies if (said := option("study", study).get(key)))


def _meaning(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    if any(isinstance(column, Metric) and column.count(row) > 1 for column in columns for row in rows):
        same = (
            "; the mean alone where the deviation is less than a millionth of it"
            if _has_constants(columns, rows)
            else ""
        )
        yield f"Mean ± standard deviation over the seeds with a finite value{same}."
        yield from explained(column.text(row) for column in columns for row in rows)
    yield from dict.fromkeys(column.meaning for column in columns if column.meaning)


def _in_figures(experiment: Experiment) -> Iterator[str]:
    """Yield what figures call the schemes in the names of arms, which commands need and the table keeps."""
    if experiment.figures and (words := renamed(experiment.arms)):
        yield f"In figures: {'; '.join(f'{scheme} is {word}' for scheme, word in words.items())}."


def _has_constants(columns: Sequence[Column], rows: Sequence[Row]) -> bool:
    """Tell whether a mean over several seeds stands without its deviation."""
    metrics = [column for column in columns if isinstance(column, Metric)]
    texts = (column.text(row) for column in metrics for row in rows if len(column.finite(row)) > 1)
    return any("±" not in text and not text.startswith(MEDIAN) for text in texts)


def _cells(experiment: Experiment, measured: Measured) -> list[Cell]:
    """Return the cells with a finished run, in the order of the arms."""
    return [cell for arm in experiment.arms for cell in measured.curves if cell.arm == arm]


def _columns(experiment: Experiment, measured: Measured) -> Iterator[Column]:
    """Yield every column of `table.columns`, after the published numbers that there are for it."""
    rounding = {metric for said in _said_by_studies(experiment, "_rounding_") for metric in said}
    looks = experiment.table.looks
    columns = {look.key: _column(measured, look, experiment.table, look.metric in rounding) for look in looks}
    printed = {key: [entry for entry in experiment.published if entry.key == key] for key in columns}
    shorts = [columns[key].short for key, entries in printed.items() if entries]
    for key, column in columns.items():
        if entries := printed[key]:
            of = column.short if shorts.count(column.short) == 1 else column.head.removesuffix(" [95 %]")
            share = isinstance(column, Metric) and column.factor > 1
            yield Published(of, _unit(entries), {entry.arm: entry.value for entry in entries}, share)
        yield column


def _unit(entries: Iterable[Printed | PublishedOnly]) -> str:
    """Return the unit that the paper prints once, above its numbers."""
    return next((unit for entry in entries if (unit := getattr(entry, "unit", None))), "")


def _column(measured: Measured, look: Look, table: Asked, rounds: bool) -> Column:
    if look.at is not None:
        looked = (measured, look.metric, look.at, look.at != table.usual)
        return RatioTo(*looked, look.relative_to) if look.relative_to else Metric(*looked, rounds=rounds)
    assert look.target is not None  # a look has the one or the other
    several = any(other.target == look.target and other.metric != look.metric for other in table.looks)
    race = StepsTo(measured, look.metric, look.target, several)
    return SpeedUpOver(race, look.than) if look.than else race


def _compared_columns(experiment: Experiment, measured: Measured, rows: Sequence[Row]) -> list[Column]:
    """Return the columns of `table.metric`: ours beside the printed number, the difference to the baseline."""
    table = experiment.table
    places = {row.at for row in rows if row.at}
    only = next(iter(places)) if len(places) == 1 else ""
    metric = Metric(measured, table.metric or "", only, named=only not in ("", "last"))
    printed = [row.published for row in rows if row.published]
    verdicts = bool(printed) or any(row.verdict for row in rows)
    return [
        *([] if only else [At()]),
        *([Published(metric.short, _unit(printed), share=metric.factor > 1)] if printed else []),
        metric,
        *([Difference(metric, table.baseline)] if table.baseline else []),
        *([Verdict(metric, table.margin, experiment.scale, rows)] if verdicts else []),
    ]


def _compared_rows(experiment: Experiment, measured: Measured) -> Iterator[Row]:
    """Yield every arm at the table's place, and wherever the paper prints a number; then what was not run."""
    metric, usual = experiment.table.metric or "", experiment.table.usual
    for cell in _cells(experiment, measured):
        entries = [entry for entry in experiment.published if (entry.arm, entry.metric) == (cell.arm, metric)]
        rows = [Row(cell, entry.at, entry) for entry in entries if entry.at]
        if not any(row.at == usual for row in rows):
            rows.append(Row(cell, usual))
        for row in rows:  # shorter runs do not get to every place
            if Metric(measured, metric).values(row) or experiment.scale == PAPER:
                yield row
    yield from (Row(Cell(arm), verdict=REFUSED) for arm in experiment.refused)
    yield from (Row(Cell(entry.arm), "", entry, NOT_RUN) for entry in experiment.published_only)
