"""Choices that do not carry over: trials, which may be shorter, did better with the chosen values than the runs do."""

from __future__ import annotations

from pathlib import Path

from normexp.evidence.claims.reading import value_at
from normexp.evidence.curves import better_direction, named_point
from normexp.experiments.experiment import Experiment
from normexp.experiments.halving import last_rung
from normexp.experiments.selection import choice_path, read_selection
from normexp.report.experiment.measured import Measured


def fell_behind(experiment: Experiment, found: Measured, results: Path) -> list[str]:
    """Return the choices with which every run that counts ends worse than every trial of the chosen values.

    Compared is the metric by which was chosen, where the runs have it; a run that diverged is worse than any.
    """
    if experiment.select is None or not choice_path(experiment, results).exists():
        return []
    record, metric = read_selection(experiment, results), experiment.select.metric
    direction, sign = better_direction(metric), 1.0 if experiment.select.highest else -1.0
    behind = []
    for name, (arm, at) in experiment.choices(list(experiment.arms)).items():
        tried = [each for each in last_rung(record["tried"].get(name, [])) if each["values"] == record["chosen"][name]]
        scores = [sign * score for each in tried for score in each["scores"] if score is not None]
        cells = [cell for cell in found.curves if cell.arm == arm and set(named_point(at)) <= set(cell.point)]
        runs = [run for cell in cells for run in found.curves[cell].values() if metric in run.columns]
        ends = [sign * value_at(run, metric, "last", direction) for run in runs]
        if scores and ends and max(ends) < min(scores):
            behind.append(name)
    return behind
