"""A row per arm: what bars and steps_to_target have in common. Names stand left, so that many and long ones fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from normexp.report.experiment.drawings.frame import Room, frame
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.layout import BOTTOM, broken, text_width

PITCH = 0.24  # inches from row to row
WIDEST_NAME = 2.4  # inches; a longer name is broken


@dataclass(frozen=True)
class Row:
    """One row; a heading has a name only."""

    name: str
    color: str
    heading: bool = False


def row_figure(
    subject: Subject, rows: Sequence[Row], captions: Sequence[str], right: float = 0.35
) -> tuple[Figure, Axes, list[float]]:
    """Return a figure with the rows' names, its axes, and the height of every row in data units.

    Args:
        right: inches right of the panel.
    """
    names = ["\n".join(broken(row.name, WIDEST_NAME)) for row in rows]
    left = max(text_width(line) for name in names for line in name.split("\n")) + 0.2
    heights = [-float(sum(1 + name.count("\n") for name in names[: i + 1])) for i in range(len(names))]
    places = [height + name.count("\n") / 2 for height, name in zip(heights, names, strict=True)]
    room = Room(3.2, PITCH * (-heights[-1] + 0.3), left, right, 0.15, BOTTOM)
    figure, (axes,) = frame(subject, 1, captions, room)
    axes.set_ylim(heights[-1] - 0.65, -0.35)
    axes.set_yticks(places, names, fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_color(row.color)
        tick.set_fontweight("bold" if row.heading else "normal")
        tick.set_parse_math(False)
    return figure, axes, places
