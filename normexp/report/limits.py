"""The vertical range of a panel, so that one exploding run does not flatten all the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.report.curves import Curve, Point
from normexp.report.measurements import is_share

LOG_DECADES = 1.5  # a positive metric whose means span more than this gets a logarithmic axis
OFF_SCALE = 10.0  # a diverging run may reach 1e30; the axis ends at this multiple of the converged runs
BAND_REACH = 3.0  # on a logarithmic axis, how far below the lowest mean a band may pull the axis


@dataclass(frozen=True)
class Limits:
    low: float
    high: float
    log: bool


def limits(metric: str, curves: Sequence[Curve]) -> Limits:
    """Return the range of all means, bands and marks, in the unit of the axis."""
    points = [point for curve in curves for point in curve.points if math.isfinite(point.mean)]
    if not points:
        return Limits(0.0, 1.0, log=False)
    edges = [edge for point in points for edge in _edges(point)]
    high = max([*edges, *(mark.value for curve in curves for mark in curve.marks if mark.value is not None)])
    high = min(high, _ceiling(metric, curves))
    means = [point.mean for point in points]
    if _is_log(metric, min(means), min(max(means), high)):
        low = min(edge for edge in edges if edge > min(means) / BAND_REACH)
        return Limits(low / 1.2, high * 1.3, log=True)
    low = max(min(edges), 0.0) if is_share(metric) else min(edges)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return Limits(low - margin, high + margin, log=False)


def _ceiling(metric: str, curves: Sequence[Curve]) -> float:
    """Return the largest value worth showing: what the converged runs reach, with room."""
    tops = [curve.top for curve in curves if curve.arm.converged and math.isfinite(curve.top)]
    if is_share(metric):
        return 100.0
    return OFF_SCALE * max(tops) if tops and max(tops) > 0 else math.inf


def _is_log(metric: str, low: float, high: float) -> bool:
    return not is_share(metric) and 0 < low < high and math.log10(high / low) > LOG_DECADES


def _edges(point: Point) -> list[float]:
    """Return mean - sd, mean, mean + sd; the mean alone where one seed is left."""
    half = point.spread
    edges = [point.mean, point.mean - half, point.mean + half]
    return [edge for edge in edges if math.isfinite(edge)]
