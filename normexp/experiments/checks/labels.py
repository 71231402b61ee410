"""Words that a figure has for names (`labels`): a name that it does not show would leave them out unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from normexp.config.schema import refusal
from normexp.config.text import shown
from normexp.errors import did_you_mean, nearest
from normexp.experiments.figure import Figure


def check_labels(figure: Figure, index: int, arms: Sequence[str], grids: Sequence[Mapping[str, Sequence[Any]]]) -> None:
    """Raise PydanticCustomError for a label of what the figure does not show.

    Args:
        grids: of the experiment and of each scale.
    """
    if figure.measured:
        return
    names = {*"xyz", *arms, *_of_figure(figure), *(name for grid in grids for name in _of_grid(grid))}
    for key in figure.labels:
        if key not in names and not key[:1].isdigit():  # a number may be shown shortened
            hint = did_you_mean(nearest(key, sorted(names)))
            raise refusal(f"nothing in the figure has this name{hint}", "figures", index, "labels", key)


def _of_figure(figure: Figure) -> Iterator[str]:
    for key in ("metric", "formula"):
        if name := getattr(figure, key, None):
            yield name
    yield from getattr(figure, "metrics", [])


def _of_grid(grid: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Yield what axes and their values may be called: placement, layers and model.layers, pre, placement=pre."""
    for axis, values in grid.items():
        yield from (axis, axis.rpartition(".")[2])
        for value in values:
            yield from (str(value), shown(value), f"{axis}={value}", f"{axis}={shown(value)}")
