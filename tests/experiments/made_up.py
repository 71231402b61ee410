"""An experiment made up for tests: two arms, a grid of batch sizes and seeds, a search."""

import json
from pathlib import Path
from typing import Any

from one_line import one_line_error
from parsed import parse
from sound_experiment import HEAD

from normexp.experiments.experiment import Experiment, Point
from normexp.experiments.grids import Selection
from normexp.experiments.plans import Plans
from normexp.experiments.trials import combinations, points

MADE_UP: dict[str, Any] = {
    **HEAD,
    "arms": {"none": {"norm": "none"}, "batch": {"norm": "batch"}},
    "grid": {"batch_size": [128, 8], "seed": [0, 1]},
    "select": {"search": {"optim.lr": [0.1, 0.5]}, "seeds": [100], "metric": "validation/accuracy"},
    "scales": {"cpu": None, "paper": None},
}


def every_point(select: Selection) -> list[Point]:
    """Return the points of all runs of the full grid of a choice."""
    return [point for values in combinations(select) for point in points(select, values)]


def planned(experiment: Experiment, results: Path, rung: int, *arms: str) -> list[Any]:
    """Return the cells of the selection of some arms, by default of none, that a rung plans."""
    return Plans(experiment, results, arms or ["none"]).selection_plan(rung).cells


def finish(experiment: Experiment, results: Path, rung: int, scores: dict[Any, str], arm: str = "none") -> None:
    """Make the finished runs of a rung, of those that it plans and no others; scores by rate, or by rate and seed."""
    for cell in planned(experiment, results, rung, arm):
        cell.path.mkdir(parents=True)
        rate, seed = cell.config["optim"]["lr"], cell.config["seed"]
        score = scores[rate, seed] if (rate, seed) in scores else scores[rate]
        (cell.path / "status.json").write_text(json.dumps({"status": "diverged" if score == "diverged" else "done"}))
        last = "nan" if score == "diverged" else score
        (cell.path / "metrics.csv").write_text(f"step,validation/accuracy\n{cell.config['steps']},{last}\n")


def selecting(data: dict[str, Any], **select: Any) -> dict[str, Any]:
    """Return an experiment that chooses hyperparameters in another way."""
    return {**data, "select": {**data["select"], **select}}


def assert_unsound(data: dict[str, Any], message: str) -> None:
    """Hold an experiment that cannot be meant to one line that says why."""
    with one_line_error() as error:
        parse("x", "cpu", data)
    assert message in str(error.value)
