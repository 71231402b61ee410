"""What a table says of the choices of hyperparameters: how they were found, ties, edges, what noise leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from normexp.evidence.curves import named_point
from normexp.evidence.metrics import better_direction, cost_sign
from normexp.evidence.reading import value_at
from normexp.experiments.experiment import Experiment
from normexp.experiments.grids import Selection
from normexp.experiments.halving import last_rung, share_of_grid
from normexp.experiments.noise import noise_is_unknown
from normexp.experiments.selection import recorded_selection, remarks, undecided_choices
from normexp.report.frames.measured import Measured


def choice_notes(experiment: Experiment, measured: Measured, results: Path) -> Iterator[str]:
    """Yield sentences for below the table; none of an experiment that chooses nothing."""
    select, record = experiment.select, recorded_selection(experiment, results)
    if select is None:
        return
    yield from _method(select)
    if record is None:
        return
    by_remark: dict[str, list[str]] = {}
    for name in record["chosen"]:
        for remark in remarks(record, name, select):
            by_remark.setdefault(remark, []).append(name)
    for remark, names in by_remark.items():
        yield f"Of the choices: {remark} ({'; '.join(names)})."
    if names := undecided_choices(experiment, record):
        yield f"Chosen with fewer than three seeds though the best two lie within noise: {'; '.join(names)}."
    if names := fell_behind(experiment, measured, record):
        yield f"Every run ends worse than the trials with the values that they chose: {'; '.join(names)}."
    if noise_is_unknown(select):
        yield "Each was chosen by the loss of one seed; how much of the best one's lead is noise is not known."


def _method(select: Selection) -> Iterator[str]:
    if sampler := select.sampler:
        space = ", ".join(f"{key} in {text}" for key, text in select.search.items())
        yield f"Chosen by Optuna's sampler {sampler.name} (seed {sampler.seed}) from {sampler.trials} trials: {space}."
    if select.halving:
        yield (
            f"Chosen by successive halving at {', '.join(map(str, select.halving.steps))} steps, with "
            f"{100 * share_of_grid(select):.0f} % of the steps that the full grid would take."
        )


def fell_behind(experiment: Experiment, measured: Measured, record: Mapping[str, Any]) -> list[str]:
    """Return the choices with which every run that counts ends worse than every trial of the chosen values.

    Compared is the metric by which was chosen, where the runs have it; a run that diverged is worse than any. Trials
    may be shorter than the runs, so that what is best in them need not carry over.
    """
    assert experiment.select is not None  # there is a record of it
    metric = experiment.select.metric
    direction, sign = better_direction(metric), -cost_sign(metric)
    behind = []
    for name, (arm, at) in experiment.choices(list(experiment.arms)).items():
        tried = [each for each in last_rung(record["tried"].get(name, [])) if each["values"] == record["chosen"][name]]
        scores = [sign * score for each in tried for score in each["scores"] if score is not None]
        cells = [cell for cell in measured.curves if cell.arm == arm and set(named_point(at)) <= set(cell.point)]
        runs = [run for cell in cells for run in measured.curves[cell].values() if metric in run.columns]
        ends = [sign * value_at(run, metric, "last", direction) for run in runs]
        if scores and ends and max(ends) < min(scores):
            behind.append(name)
    return behind
