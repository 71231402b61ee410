"""A metric against an axis of the grid: a line per arm with 95 % intervals; who diverged is counted above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from normexp.evidence.curves import AxisValue, Cell
from normexp.report.colors import Look
from normexp.report.experiment.drawings.frame import Room
from normexp.report.experiment.drawings.intervals import Centre, centre, meaning
from normexp.report.experiment.drawings.panels import Line, Panel, Scales, line_figure
from normexp.report.experiment.drawings.subject import Subject, along
from normexp.report.layout import SMALL, TOP
from normexp.report.measurements import title

STRIP = 0.13  # inches of one line of counts above the panel
SHIFT = 1.6  # points between the error bars of two arms
MOST_TICKS = 10


@dataclass(frozen=True)
class Along:
    """One arm along the axis."""

    name: str
    look: Look
    places: Sequence[float]
    centres: Sequence[Centre]


def against(subject: Subject) -> Figure:
    axis, metric, log = subject.spec["axis"], subject.spec["metric"], subject.log("y")
    values = list(dict.fromkeys(dict(cell.point)[axis] for cell in subject.cells))
    places = _places(subject, values)
    arms = _arms(subject, axis, metric, places)
    lines = [_line(arm, (i - (len(arms) - 1) / 2) * SHIFT) for i, arm in enumerate(arms)]
    lost = [arm for arm in arms if any(each.lost for each in arm.centres)]
    counts = "Above: how many runs converged, where not all did." if lost else ""
    room = Room(top=TOP + STRIP * len(lost))
    at = subject.spec.get("at", "last")
    centres = [each for arm in arms for each in arm.centres]
    y_label = subject.label("y", title(metric) + ("" if at == "last" else f", {at}"))
    ticks = (list(places.values()), [str(value) for value in values])
    scales = Scales(
        subject.label("x", axis), y_label, metric, ticks=ticks if len(values) <= MOST_TICKS else None, x_margin=0.05
    )
    panel = Panel(lines, behind=lambda axes: _counts(axes, lost, room))
    captions = subject.captions(meaning(log, centres), counts)
    return line_figure(subject, [panel], scales, captions, room)


def _places(subject: Subject, values: Sequence[AxisValue]) -> dict[AxisValue, float]:
    """Return where each value lies: at itself; values that are no numbers side by side."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return {value: float(value) for value in values}  # type: ignore[arg-type]
    if subject.log("x"):
        raise subject.error(f"log: x: axis {subject.spec['axis']} has values that are no numbers")
    return {value: float(i) for i, value in enumerate(values)}


def _arms(subject: Subject, axis: str, metric: str, places: Mapping[AxisValue, float]) -> list[Along]:
    """Return a line per arm, and per value of any other axis of the grid that is left open."""
    found: dict[Cell, dict[float, Centre]] = {}
    for cell in subject.runs:
        place = places[dict(cell.point)[axis]]
        found.setdefault(along(cell, axis), {})[place] = centre(subject.values(cell, metric), subject.log("y"))
    looks = subject.looks_of(list(found))
    return [Along(subject.name(cell), looks[cell], list(each), list(each.values())) for cell, each in found.items()]


def _line(arm: Along, shift: float) -> Line:
    mean, low, high = (np.array([getattr(each, name) for each in arm.centres]) for name in ("mean", "low", "high"))
    look = Look(arm.look.color, arm.look.dashes, arm.look.marker or "o")
    return Line(arm.name, look, np.array(arm.places), mean, low, high, bars=True, shift=shift)


def _counts(axes: Axes, lost: Sequence[Along], room: Room) -> None:
    """Write `3/5` above the panel where runs diverged: a line per arm, so that no number hides another."""
    for i, arm in enumerate(reversed(lost)):
        height = 1 + (0.08 + STRIP * (i + 0.5)) / room.height
        style: dict[str, Any] = {"size": SMALL, "color": arm.look.color, "va": "center", "clip_on": False}
        for place, each in zip(arm.places, arm.centres, strict=True):
            if each.lost:
                text = f"{len(each.values)}/{each.runs}"
                axes.text(place, height, text, ha="center", transform=axes.get_xaxis_transform(), **style)
        axes.text(-0.02, height, arm.name, ha="right", transform=axes.transAxes, **style)
