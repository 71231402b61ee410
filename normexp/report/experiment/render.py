"""Writes everything that an experiment shows into results/NAME/SCALE, from its records alone, byte for byte."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normexp.errors import UserError
from normexp.evidence.curves import Cell, origins
from normexp.evidence.scales import SMOKE
from normexp.experiments.command import command
from normexp.experiments.experiment import Experiment
from normexp.experiments.figure_kinds import SELECTION, TARGETS
from normexp.experiments.freeze import Change, changes_since_frozen
from normexp.experiments.selection import choice_text, read_choice, read_selection
from normexp.experiments.tables import Published
from normexp.experiments.trials import SEEDS, STEPS
from normexp.records.names import CLAIMS
from normexp.report.drawing import Drawn
from normexp.report.experiment.choices import choice_notes
from normexp.report.experiment.claims import claim_entries, claims_text
from normexp.report.experiment.not_counted import not_counted
from normexp.report.experiment.printed import numbers_text
from normexp.report.experiment.rates import choice_chart, sensitivity_text
from normexp.report.experiment.summary import summary_text
from normexp.report.experiment.table import experiment_table
from normexp.report.figures.chart import Chart
from normexp.report.figures.drawn import drawn
from normexp.report.figures.experiments import charts, legend, page
from normexp.report.figures.formats import USUAL, Theme, theme
from normexp.report.figures.own.targets import over_targets
from normexp.report.figures.styles import LineStyle
from normexp.report.files import write
from normexp.report.frames.measured import Measured, read_measured
from normexp.report.tables.formats import csv_of, csv_text, markdown
from normexp.report.tables.html import html_page
from normexp.report.tables.latex import latex
from normexp.report.tables.table import Table

logger = logging.getLogger("normexp")
MOST_CHOICES = 12  # that a footnote can hold


class NothingTrained(UserError):
    """No run that counts is finished; of those that choose hyperparameters there may be some."""


@dataclass(frozen=True)
class Rendered:
    """What an experiment shows, before it is files.

    Args:
        claims: with verdict and evidence, as claims.json has them.
        changes: what was declared otherwise when the runs began.
        legend: name and style of each cell's curve, wherever it is drawn.
    """

    experiment: Experiment
    measured: Measured
    changes: Sequence[Change]
    table: Table
    claims: Sequence[dict[str, Any]]
    figures: Sequence[Drawn]
    legend: Mapping[Cell, tuple[str, LineStyle]]


def render(experiment: Experiment, results: Path) -> list[Path]:
    """Write table.md, .csv, .tex, .html, the figures, claims.json, summary.md if asked; return what was written.

    Raises: UserError where no run is finished, or a record is damaged.
    """
    return write_rendered(rendered(experiment, results), results)


def rendered(experiment: Experiment, results: Path) -> Rendered:
    """Make table, verdicts and figures from the records, and write nothing.

    Raises: UserError as `render` does, NothingTrained where no run is finished.
    """
    measured = read_measured(experiment, results)
    left_out = not_counted(experiment, measured, results)
    if not measured.curves:
        none = f"{results / experiment.name}: no finished run"
        raise NothingTrained(left_out or f"{none}; start with `{command(experiment)}`")
    if left_out:
        logger.info(left_out)
    changes = changes_since_frozen(experiment, results)
    table = experiment_table(experiment, measured, _notes(experiment, measured, results, changes))
    claims = claim_entries(experiment, measured, changes)
    figures = _figures(experiment, measured, results, claims, theme(), USUAL)
    return Rendered(experiment, measured, changes, table, claims, figures, legend(experiment, measured))


def write_rendered(content: Rendered, results: Path) -> list[Path]:
    """Write what an experiment shows into results/NAME/SCALE; return the files."""
    experiment = content.experiment
    contents: dict[str, str | bytes] = {
        **texts(content, results),
        "table.html": html_page(content.table, content.figures),
        **_files(experiment, content.figures),
    }
    return [write(experiment.folder(results) / name, text) for name, text in contents.items()]


def texts(content: Rendered, results: Path) -> dict[str, str]:
    """Return {name of a file: what stands in it}, of tables, verdicts and whatever else has no figures in it."""
    experiment, claims = content.experiment, content.claims
    return {
        "table.md": markdown(content.table),
        "table.csv": csv_text(content.table),
        "table.tex": latex(content.table),
        CLAIMS: claims_text(experiment, claims, content.changes),
        **targets_text(claims),
        **summary_text(experiment, content.measured, claims, content.table.notes),
        **selection_text(experiment, results),
        **sensitivity_text(experiment, content.measured, results),
        **numbers_text(experiment, results),
    }


def targets_text(claims: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {targets.csv: the speed-up of every claim about steps, over a range of targets}; else nothing."""
    rows = [
        {
            "claim": claim["text"],
            **{key: value for key, value in at.items() if key != "never"},
            **dict(zip(("baseline never", "arm never"), at["never"], strict=True)),
        }
        for claim in claims
        for at in claim.get("targets", [])
    ]
    return {"targets.csv": csv_of(rows)} if rows else {}


def selection_text(experiment: Experiment, results: Path) -> dict[str, str]:
    """Return {selection.csv: every combination tried, with its score per seed}; nothing where none was chosen."""
    if experiment.select is None:
        return {}
    record = read_selection(experiment, results)
    further = (seed for trials in record["tried"].values() for trial in trials for seed in trial.get(SEEDS, []))
    seeds = list(dict.fromkeys([*record["seeds"], *further]))
    rows = []
    for arm, trials in record["tried"].items():
        for trial in trials:
            scores = ["diverged or not finite" if score is None else repr(score) for score in trial["scores"]]
            by_seed = dict(zip(trial.get(SEEDS, record["seeds"]), scores, strict=True))
            columns = {f"{record['metric']} seed={seed}": by_seed.get(seed, "") for seed in seeds}
            chosen = "yes" if trial["values"] == record["chosen"][arm] else ""
            budget = {STEPS: trial[STEPS]} if STEPS in trial else {}
            rows.append({"arm": arm, **trial["values"], **budget, **columns, "chosen": chosen})
    return {"selection.csv": csv_of(rows)}


def _short_notes(experiment: Experiment, measured: Measured) -> tuple[str, ...]:
    missing = (f"Only {measured.waiting or measured.partly}.",) if measured.partly else ()
    data = (f"Data: {note}." for note in measured.notes)
    precisions = (f"Computed in {name} where that is safe." for name in measured.precisions)
    gpus = (f"Computed on a GPU: {name}." for name in measured.gpus)
    looks = (measured.progress,) if measured.progress else ()
    return (f"Scale: {experiment.scale}.", *looks, *missing, *measured.left_out, *data, *precisions, *gpus)


def _notes(
    experiment: Experiment, measured: Measured, results: Path, changes: Sequence[Change]
) -> dict[str, list[str]]:
    """Return what stands below the table: the runs and their hyperparameters, findings, deviations, the command."""
    chosen = [f"{arm}: {choice_text(values)}" for arm, values in _chosen(experiment, results).items()]
    if len(chosen) > MOST_CHOICES:
        chosen = ["see selection.csv"]
    for_all = ", for all arms" if experiment.select and experiment.select.arm else ""
    places = _places(experiment)
    runs = [
        *_short_notes(experiment, measured)[1:],  # the scale stands in the title
        *((f"Chosen on the validation split, with other seeds: {'; '.join(chosen)}{for_all}.",) if chosen else ()),
        *choice_notes(experiment, measured, results),
        *((f"Published numbers from {'; '.join(places)}.",) if places else ()),
        *(f"{arm} was refused: {words}." for arm, words in experiment.refusals().items()),
        f"Made by `{command(experiment)}`, commit {', '.join(measured.commits)}.",
        *_processors(measured),
    ]
    changed = [f"{str(change)[0].upper()}{str(change)[1:]}." for change in changes]
    return {
        "Runs": runs,
        "Changed after the first run": changed,
        "Findings": experiment.findings,
        "Deviations": experiment.deviations,
    }


def _processors(measured: Measured) -> Iterator[str]:
    """Say which processors trained, where not every arm has the same ones."""
    by_arm = origins(measured.curves, "processor")
    if len(set(map(frozenset, filter(None, by_arm.values())))) > 1:
        every = sorted(set().union(*by_arm.values()))
        yield f"Not every arm was trained on the same processors, which round otherwise: {', '.join(every)}."


def _places(experiment: Experiment) -> list[str]:
    """Return where the published numbers stand; where they are about several things, each with its own."""
    several = len({_subject(entry) for entry in experiment.published}) > 1
    judged = [entry.place + (f" ({_subject(entry)})" if several else "") for entry in experiment.published]
    return list(dict.fromkeys([*judged, *(entry.place for entry in experiment.published_only)]))


def _subject(entry: Published) -> str:
    """Return what a published number is about, as the heads of columns say it."""
    return f"speed-up over {entry.than} to {entry.target}" if entry.than else entry.words


def _chosen(experiment: Experiment, results: Path) -> dict[str, dict[str, Any]]:
    """Return {arm: hyperparameters} of the arms for which they were chosen."""
    chosen = read_choice(experiment, results)
    return {arm: chosen[arm] for arm in experiment.selection_arms(list(chosen)) if arm in chosen}


def draw_figures(
    experiment: Experiment, results: Path, style: Theme, formats: Sequence[str]
) -> Mapping[str, str | bytes]:
    """Return {name: content} of the figures and the page with their captions."""
    measured = read_measured(experiment, results)
    claims = claim_entries(experiment, measured, changes_since_frozen(experiment, results))
    return _files(experiment, _figures(experiment, measured, results, claims, style, formats))


def _figures(
    experiment: Experiment,
    measured: Measured,
    results: Path,
    claims: Sequence[Mapping[str, Any]],
    style: Theme,
    formats: Sequence[str],
) -> list[Drawn]:
    notes = _short_notes(experiment, measured)
    made: dict[str, Chart | None] = {
        **charts(experiment, measured, notes),
        TARGETS: over_targets(claims, experiment.title, notes, experiment.scale == SMOKE),
        SELECTION: choice_chart(experiment, measured, results, notes),
    }
    return [drawn(name, chart, style, formats) for name, chart in made.items() if chart is not None]


def _files(experiment: Experiment, figures: Sequence[Drawn]) -> Mapping[str, str | bytes]:
    """Return {name: content} of the figures and the page with their captions."""
    return {**page(experiment, figures), **{name: content for each in figures for name, content in each.files.items()}}
