"""Writes everything that an experiment shows into results/NAME/SCALE, from its records alone, byte for byte."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from normexp.errors import UserError
from normexp.evidence.claims import Claim, Verdict, entry, judge
from normexp.evidence.claims.check import check_names
from normexp.experiments.experiment import Experiment
from normexp.experiments.freeze import Change, changes_since_frozen
from normexp.experiments.reproduce import command, read_choice, read_selection
from normexp.experiments.shape import CLAIMS
from normexp.records import write_atomically
from normexp.report.experiment.measured import Measured, measured
from normexp.report.experiment.printed import numbers_text
from normexp.report.experiment.summary import summary_text
from normexp.report.experiment.table import experiment_table
from normexp.report.figures.drawn import drawn as figure
from normexp.report.figures.experiments import draw_all, page
from normexp.report.figures.formats import USUAL, Look, look
from normexp.report.figures.own.targets import NAME as TARGETS
from normexp.report.figures.own.targets import over_targets
from normexp.report.formats import csv_text, html_page, latex, markdown

MOST_CHOICES = 12  # that a footnote can hold


def render(experiment: Experiment, results: Path) -> list[Path]:
    """Write table.md, .csv, .tex, .html, the figures, claims.json, summary.md if asked; return what was written.

    Raises: UserError where no run is finished, or a record is damaged.
    """
    found = measured(experiment, results)
    if not found.curves:
        raise UserError(f"{results / experiment.name}: no finished run; start with `{command(experiment)}`")
    changes = changes_since_frozen(experiment, results)
    notes = _notes(experiment, found, results, changes)
    table = experiment_table(experiment, found, notes)
    claims = claim_entries(experiment, found, changes)
    contents: dict[str, str | bytes] = {
        "table.md": markdown(table),
        "table.csv": csv_text(table),
        "table.tex": latex(table),
        "table.html": html_page(table),
        CLAIMS: claims_text(experiment, claims, changes),
        **targets_text(claims),
        **summary_text(experiment, found, claims),
        **selection_text(experiment, results),
        **numbers_text(experiment, results),
        **_figures(experiment, found, results, claims),
    }
    return [write(results / experiment.name / experiment.scale / name, content) for name, content in contents.items()]


def judged(experiment: Experiment, found: Measured) -> list[tuple[Claim, Verdict]]:
    """Check and judge the experiment's claims together."""
    axes = {key: values for key, values in experiment.grid.items() if key != "seed"}
    known = [*found.metrics, *found.probe_metrics]
    claims = [check_names(claim, list(experiment.arms), known, axes) for claim in experiment.claims]
    return list(zip(claims, judge(claims, found.curves), strict=True))


def claim_entries(experiment: Experiment, found: Measured, changes: Sequence[Change] = ()) -> list[dict[str, Any]]:
    """Return every claim with its verdict and evidence, as claims.json has it.

    Args:
        changes: what was declared otherwise when the runs began.
    """
    return [
        {
            **entry(claim, verdict, experiment.paper, experiment.scale),
            "changed": [str(change) for change in changes if change.what == "claim" and change.name == claim.text],
        }
        for claim, verdict in judged(experiment, found)
    ]


def claims_text(experiment: Experiment, claims: Sequence[Mapping[str, Any]], changes: Sequence[Change] = ()) -> str:
    """Return claims.json: the claims, the command that makes them again, and what else was changed after the runs."""
    own = {claim["text"] for claim in claims}
    others = [str(change) for change in changes if change.what != "claim" or change.name not in own]
    head = {"experiment": experiment.name, "scale": experiment.scale, "command": command(experiment), "changed": others}
    return json.dumps({**head, "claims": claims}, indent=1, ensure_ascii=False) + "\n"


def targets_text(claims: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {targets.csv: the speed-up of every claim about steps, over a range of targets}; else nothing."""
    rows = [(claim["text"], at) for claim in claims for at in claim.get("targets", [])]
    if not rows:
        return {}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = [key for key in rows[0][1] if key != "never"]
    writer.writerow(["claim", *keys, "baseline never", "arm never"])
    writer.writerows([text, *(at[key] for key in keys), *at["never"]] for text, at in rows)
    return {"targets.csv": out.getvalue()}


def selection_text(experiment: Experiment, results: Path) -> dict[str, str]:
    """Return {selection.csv: every combination tried, with its score per seed}; nothing where none was chosen."""
    if experiment.select is None:
        return {}
    record = read_selection(experiment, results)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = list(experiment.select.search)
    writer.writerow(["arm", *keys, *(f"{record['metric']} seed={seed}" for seed in record["seeds"]), "chosen"])
    for arm, trials in record["tried"].items():
        for trial in trials:
            scores = ["diverged or not finite" if score is None else repr(score) for score in trial["scores"]]
            chosen = "yes" if trial["values"] == record["chosen"][arm] else ""
            writer.writerow([arm, *(trial["values"][key] for key in keys), *scores, chosen])
    return {"selection.csv": out.getvalue()}


def _short_notes(experiment: Experiment, found: Measured) -> tuple[str, ...]:
    missing = (f"{found.missing} runs are not finished.",) if found.missing else ()
    data = (f"Data: {note}." for note in found.notes)
    precisions = (f"Computed in {name} where that is safe." for name in found.precisions)
    return (f"Scale: {experiment.scale}.", *missing, *found.left_out, *data, *precisions)


def _notes(experiment: Experiment, found: Measured, results: Path, changes: Sequence[Change]) -> dict[str, list[str]]:
    """Return what stands below the table: the runs and their hyperparameters, findings, deviations, the command."""
    chosen = [
        f"{arm}: {', '.join(f'{key}={value}' for key, value in values.items())}"
        for arm, values in _chosen(experiment, results).items()
    ]
    if len(chosen) > MOST_CHOICES:
        chosen = ["see selection.csv"]
    for_all = ", for all arms" if experiment.select and experiment.select.arm else ""
    several = len({_look(entry) for entry in experiment.published}) > 1
    places = dict.fromkeys(
        [(f"{_look(entry)}: " if several else "") + entry["place"] for entry in experiment.published]
        + [entry["place"] for entry in experiment.published_only]
    )
    runs = [
        *_short_notes(experiment, found)[1:],  # the scale stands in the title
        *((f"Chosen on the validation split, with other seeds: {'; '.join(chosen)}{for_all}.",) if chosen else ()),
        *((f"Published numbers from {'; '.join(places)}.",) if places else ()),
        *(f"{arm} was refused: {words}." for arm, words in experiment.refusals().items()),
        f"Made by `{command(experiment)}`, commit {', '.join(found.commits)}.",
    ]
    changed = [f"{str(change)[0].upper()}{str(change)[1:]}." for change in changes if change.what != "claim"]
    return {
        "Runs": runs,
        "Changed after the runs": changed,
        "Findings": experiment.findings,
        "Deviations": experiment.deviations,
    }


def _look(entry: dict[str, Any]) -> str:
    """Return what a published number is about."""
    if "at" in entry:
        return str(entry["at"])
    return f"speed-up over {entry['than']}" if "than" in entry else f"steps to {entry['target']}"


def _chosen(experiment: Experiment, results: Path) -> dict[str, dict[str, Any]]:
    """Return {arm: hyperparameters} of the arms for which they were chosen."""
    chosen = read_choice(experiment, results)
    return {arm: chosen[arm] for arm in experiment.selection_arms(list(chosen))}


def draw_figures(
    experiment: Experiment, results: Path, style: Look, formats: Sequence[str]
) -> Mapping[str, str | bytes]:
    """Return {name: content} of the figures and the page with their captions."""
    found = measured(experiment, results)
    claims = claim_entries(experiment, found, changes_since_frozen(experiment, results))
    return _figures(experiment, found, results, claims, style, formats)


def _figures(
    experiment: Experiment,
    found: Measured,
    results: Path,
    claims: Sequence[Mapping[str, Any]],
    style: Look | None = None,
    formats: Sequence[str] = USUAL,
) -> Mapping[str, str | bytes]:
    notes = _short_notes(experiment, found)
    drawn = draw_all(experiment, found, results, notes, style, formats)
    if (chart := over_targets(claims, experiment.title, notes, experiment.scale == "smoke")) is not None:
        drawn.append(figure(TARGETS, chart, style or look(), formats))
    files = {name: content for each in drawn for name, content in each.files.items()}
    return {**page(experiment, drawn), **files}


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return path


__all__ = ["judged", "render"]
