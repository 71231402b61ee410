"""An experiment made up for tests: two arms, a grid of batch sizes and seeds, a search."""

from typing import Any

from one_line import one_line_error
from parsed import parse

from normexp.experiments.experiment import Point
from normexp.experiments.grids import Selection
from normexp.experiments.trials import combinations, points

MADE_UP: dict[str, Any] = {
    "paper": "A paper",
    "item": "Table 1",
    "title": "A title",
    "about": "A set-up.",
    "common": {"dataset": "digits", "model": "mlp", "steps": 5},
    "arms": {"none": {"norm": "none"}, "batch": {"norm": "batch"}},
    "grid": {"batch_size": [128, 8], "seed": [0, 1]},
    "select": {"search": {"optim.lr": [0.1, 0.5]}, "seeds": [100], "metric": "validation/accuracy"},
    "scales": {"cpu": None, "paper": None},
}


def every_point(select: Selection) -> list[Point]:
    """Return the points of all runs of the full grid of a choice."""
    return [point for values in combinations(select) for point in points(select, values)]


def assert_unsound(data: dict[str, Any], message: str) -> None:
    """Hold an experiment that cannot be meant to one line that says why."""
    with one_line_error() as error:
        parse("x", "cpu", data)
    assert message in str(error.value)
