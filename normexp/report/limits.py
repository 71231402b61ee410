"""The vertical range of a panel, so that one exploding run does not flatten all the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.evidence.stats import median
from normexp.report.curves import Curve
from normexp.report.measurements import is_share

LOG_DECADES = 1.5  # a positive metric whose means span more than this gets a logarithmic axis
OFF_SCALE = 10.0  # a diverging run may reach 1e30; the axis ends at this multiple of the converged runs
FAR = 1e3  # nor does it go beyond this multiple of the arms' median: one that explodes and comes back is cut
BAND_REACH = 3.0  # on a logarithmic axis, how far below the lowest mean a single seed may pull the axis


@dataclass(frozen=True)
class Limits:
    low: float
    high: float
    log: bool

    def fraction(self, value: float) -> float:
        """Return where a value lies on the axis: 0 at its foot, 1 at its top; beyond it below 0 or above 1."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)


def limits(metric: str, curves: Sequence[Curve]) -> Limits:
    """Return the range of all means, bands and marks, in the unit of the axis."""
    points = [point for curve in curves for point in curve.points if math.isfinite(point.mean)]
    if not points:
        return Limits(0.0, 1.0, log=False)
    edges = [edge for point in points for edge in (point.mean, *point.deviation) if math.isfinite(edge)]
    marks = [mark.value for curve in curves for mark in curve.marks if mark.value is not None]
    ceiling = _ceiling(metric, curves)
    high, means = min(max([*edges, *marks]), ceiling), [point.mean for point in points]
    if _is_log(metric, min(means), min(max(means), high)):
        reached = [edge for point in points for edge in (point.mean, *point.reach) if math.isfinite(edge)]
        low = min(edge for edge in reached if edge > min(means) / BAND_REACH)
        return Limits(low / 1.2, min(max([*reached, *marks]), ceiling) * 1.3, log=True)
    low = max(min(edges), 0.0) if is_share(metric) else min(edges)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return Limits(low - margin, high + margin, log=False)


def _ceiling(metric: str, curves: Sequence[Curve]) -> float:
    """Return the largest value worth showing: what the converged runs reach, with room."""
    tops = [curve.top for curve in curves if curve.arm.converged and math.isfinite(curve.top)]
    if is_share(metric):
        return 100.0
    return min(OFF_SCALE * max(tops), FAR * median(tops)) if tops and median(tops) > 0 else math.inf


def _is_log(metric: str, low: float, high: float) -> bool:
    return not is_share(metric) and 0 < low < high and math.log10(high / low) > LOG_DECADES
