"""`normexp reproduce`: choose the hyperparameters, train what is missing, render; the same command continues it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, Point, run_place
from normexp.experiments.shape import check_arms
from normexp.records import METRICS, RunDirectory, read_rows, write_atomically
from normexp.sweeps.sweep import Cell, Plan, Say, carry_out, check_cells, provide

CHOSEN = "chosen.json"


def reproduce(
    experiment: Experiment,
    results: Path,
    say: Say,
    jobs: int | None = None,
    arm: str | None = None,
    dry_run: bool = False,
    force: bool = False,
) -> int:
    """Run one experiment at its scale; return the exit status, 0 or 1 where a run failed.

    Args:
        arm: run this arm only (a row of the table).

    Raises: UserError for an unknown arm, or runs that were made under other settings; Unavailable without the data;
        Interrupted after Ctrl-C.
    """
    if arm is not None:
        check_arms(f"experiment {experiment.name}", [arm], experiment.arms)
    arms = [arm] if arm else list(experiment.arms)

    def train(plan: Plan, heading: str) -> int:
        provide(plan, dry_run, force)
        say(f"{experiment.name}, scale {experiment.scale}: {heading}")
        return carry_out(plan, jobs, say, dry_run, force)

    if experiment.select is not None:
        plan = selection_plan(experiment, results, arms, force)
        if status := train(plan, f"choosing {', '.join(experiment.select.over)}"):
            return status
        if not dry_run:
            write_choice(experiment, results, arms)
    plan = (expected_plan if dry_run else run_plan)(experiment, results, arms, force)
    return train(plan, experiment.title)


def selection_plan(experiment: Experiment, results: Path, arms: Sequence[str], force: bool) -> Plan:
    """Return the runs that the choice of hyperparameters for these arms needs."""
    assert experiment.select is not None
    cells = [
        Cell(
            experiment.config(arm, place + point, experiment.select.common),
            run_place(results, experiment, arm, place + point, "select"),
        )
        for arm, place in experiment.choices(arms).values()
        for point in experiment.selection_points
    ]
    check_cells(cells, force)
    return Plan(cells)


def run_plan(experiment: Experiment, results: Path, arms: Sequence[str], force: bool) -> Plan:
    """Return the runs of the experiment proper, with the chosen hyperparameters."""
    chosen = read_choice(experiment, results)
    cells = [cell for arm in arms for cell in arm_cells(experiment, results, arm, chosen, {})]
    check_cells(cells, force)
    return Plan(cells)


def expected_plan(experiment: Experiment, results: Path, arms: Sequence[str], force: bool) -> Plan:
    """Return the same before the choice: a run without one counts with the first combination, which takes as long."""
    if experiment.select is None:
        return run_plan(experiment, results, arms, force)
    chosen = read_choice(experiment, results) if choice_path(experiment, results).exists() else {}
    decided = [arm for arm in arms if all(name in chosen for name in experiment.choices([arm]))]
    plan = run_plan(experiment, results, decided, force) if decided else Plan([])
    first = {key: values[0] for key, values in experiment.select.over.items()}
    open_arms = [arm for arm in arms if arm not in decided]
    return Plan(plan.cells + [cell for arm in open_arms for cell in arm_cells(experiment, results, arm, chosen, first)])


def arm_cells(
    experiment: Experiment,
    results: Path,
    arm: str,
    chosen: Mapping[str, Mapping[str, Any]],
    usual: Mapping[str, Any],
) -> list[Cell]:
    """Return one arm's runs with the chosen hyperparameters, the usual ones where there is no choice."""
    return [
        Cell(
            experiment.config(arm, point, chosen.get(experiment.choice_of(arm, point), usual)),
            run_place(results, experiment, arm, point),
        )
        for point in experiment.points()
    ]


def choice_path(experiment: Experiment, results: Path) -> Path:
    return results / experiment.name / experiment.scale / CHOSEN


def read_choice(experiment: Experiment, results: Path) -> dict[str, dict[str, Any]]:
    """Return {name of the choice: hyperparameters}; empty where the experiment chooses none."""
    if experiment.select is None:
        return {}
    chosen: dict[str, dict[str, Any]] = read_selection(experiment, results)["chosen"]
    one = experiment.select.arm
    return dict.fromkeys(experiment.arms, chosen[one]) if one else chosen


def read_selection(experiment: Experiment, results: Path) -> dict[str, Any]:
    """Return the record of the selection: metric, seeds, chosen and tried combinations per arm."""
    path = choice_path(experiment, results)
    if not path.exists():
        raise UserError(f"{path}: not there; run `normexp reproduce {experiment.name} scale={experiment.scale}`")
    return _read_record(path)


def _read_record(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
        return {key: content[key] for key in ("metric", "seeds", "chosen", "tried")}
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{path}: damaged; delete it, `normexp reproduce` writes it from the runs") from None


def write_choice(experiment: Experiment, results: Path, arms: Sequence[str]) -> None:
    """Choose the combination that is best in the mean over the selection's seeds, and record all of them."""
    select = experiment.select
    assert select is not None
    path = choice_path(experiment, results)
    before = _read_record(path) if path.exists() else {"chosen": {}, "tried": {}}
    for name, (arm, at) in experiment.choices(arms).items():
        tried = trials(experiment, results, arm, at)
        worst = -math.inf if select.highest else math.inf
        means = [worst if trial["mean"] is None else trial["mean"] for trial in tried]
        best = tried[means.index(max(means) if select.highest else min(means))]
        before["chosen"][name] = best["values"]
        before["tried"][name] = tried
    content = {**before, "metric": select.metric, "seeds": select.seed}
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def trials(experiment: Experiment, results: Path, arm: str, at: Point = ()) -> list[dict[str, Any]]:
    """Return every combination with its scores per seed and their mean: None where one has no finite score.

    Args:
        at: the point of the axes of select.per.
    """
    select = experiment.select
    assert select is not None
    scores: dict[str, dict[str, Any]] = {}
    for point in experiment.selection_points:
        values = {key: value for key, value in point if key != "seed"}
        entry = scores.setdefault(str(values), {"values": values, "scores": []})
        entry["scores"].append(final_score(run_place(results, experiment, arm, at + point, "select"), select.metric))
    for entry in scores.values():
        scored = entry["scores"]
        entry["mean"] = None if None in scored else sum(scored) / len(scored)
    return list(scores.values())


def final_score(place: Path, metric: str) -> float | None:
    """Return a finished run's last value of a metric; None if it diverged, or the value is not finite."""
    run = RunDirectory(place)
    if run.status["status"] == "diverged":
        return None
    rows = read_rows(place / METRICS)
    if not rows or metric not in rows[0]:
        raise UserError(f"{place}: has no {metric}; it has {', '.join(rows[0] if rows else [])}")
    score = float(rows[-1][metric])
    return score if math.isfinite(score) else None


def command(experiment: Experiment, arm: str | None = None) -> str:
    """Return the command that makes an experiment, or one row of it, again."""
    text = f"normexp reproduce {experiment.name} scale={experiment.scale}"
    return text if arm is None else f'{text} --cell "{arm}"'
