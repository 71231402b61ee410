"""One axis of a panel: from where to where it goes, linear or logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

Numbers = npt.NDArray[np.float64]

MARGIN = 0.05  # of the axis, beyond the smallest and the largest value
PLAIN_DECADES = 2.0  # of a logarithmic axis; from there on the powers of ten suffice as ticks
SMALLEST, LARGEST = 1e-3, 1e5  # of numbers written in full


@dataclass(frozen=True)
class Axis:
    """From where to where, whether logarithmic, and whether all its values are whole numbers."""

    low: float
    high: float
    log: bool
    whole: bool = False

    @classmethod
    def over(
        cls,
        values: Iterable[Numbers],
        log: bool,
        limits: Sequence[float] = (),
        margin: float = MARGIN,
        share: bool = False,
    ) -> Axis:
        """Return the axis that shows all finite values (the positive ones on a logarithmic axis), or has the limits.

        Args:
            share: whether the values are percentages: an interval may go beyond 0 and 100, the axis does not.
        """
        known = np.concatenate([np.zeros(0), *(np.ravel(each) for each in values)])
        known = known[np.isfinite(known) & ((known > 0) | (not log))]
        whole = bool(len(known)) and not log and bool((known == np.round(known)).all())
        if limits:
            return cls(float(limits[0]), float(limits[1]), log, whole)
        if not len(known):
            return cls(0.1 if log else 0.0, 1.0, log)
        known = np.clip(known, 0, 100) if share and not log else known
        low, high = float(known.min()), float(known.max())
        if log:
            air = margin * math.log(high / low) or (math.log(1.2) if margin or low == high else 0.0)
            return cls(low / math.exp(air), high * math.exp(air), log)
        air = margin * (high - low) or (0.05 * abs(high) or 1.0 if margin or low == high else 0.0)
        return cls(low - air, high + air, log, whole)

    def fraction(self, value: float) -> float:
        """Return where a value lies: 0 at the axis' foot, 1 at its top."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)

    def inside(self, value: float) -> float:
        """Return the value, or the end of the axis that is nearest to it; the upper one for what is no number."""
        return self.high if math.isnan(value) else min(max(value, self.low), self.high)

    def hidden(self, values: Iterable[Numbers]) -> int:
        """Return how many finite values a logarithmic axis cannot show."""
        return sum(int((np.isfinite(each) & (each <= 0)).sum()) for each in values) if self.log else 0


def set_axes(axes: Axes, x: Axis, y: Axis) -> None:
    axes.set_xscale("log" if x.log else "linear")
    axes.set_yscale("log" if y.log else "linear")
    axes.set_xlim(x.low, x.high)
    axes.set_ylim(y.low, y.high)
    set_ticks(axes.xaxis, x)
    set_ticks(axes.yaxis, y)


def set_ticks(side: XAxis | YAxis, axis: Axis) -> None:
    """Write numbers that stay short: 0.002 and 20000 in full, 2e6 beyond; a decade or less gets more than its ends."""
    if axis.whole:
        side.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    decades = math.log10(axis.high / axis.low) if axis.log else 0.0
    if axis.log and decades >= PLAIN_DECADES:
        return
    if axis.log:
        side.set_major_locator(LogLocator(subs=(1, 2, 5)) if decades > 0.7 else MaxNLocator(5))
        side.set_minor_formatter(NullFormatter())
    largest = max(abs(axis.low), abs(axis.high))
    if axis.log or not SMALLEST <= largest < LARGEST:
        side.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value: float) -> str:
    """Write a number with up to five digits: 0.002, 20000, 2e6."""
    text = f"{value:.5g}" if SMALLEST <= abs(value) < LARGEST or value == 0 else f"{value:.4e}"
    mantissa, exponent, power = text.partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if exponent else mantissa
    return f"{mantissa}e{int(power)}" if exponent else text


def hidden_note(count: int) -> str:
    """Return the caption's sentence about values that a logarithmic axis cannot show."""
    return f"Not on the logarithmic axis: {count} values of 0 or below." if count else ""
