"""One axis of a panel: from where to where it goes, linear or logarithmic, and where a logarithmic one shows 0."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

Numbers = npt.NDArray[np.float64]

MARGIN = 0.05  # of the axis, beyond the smallest and the largest value
ALIKE = 1e-9  # relative difference of values below which they are one: the rest is rounding
PLAIN_DECADES = 2.0  # of a logarithmic axis; from there on the powers of ten suffice as ticks
SMALLEST, LARGEST = 1e-3, 1e5  # of numbers written in full
STRIP, INTO = 0.1, 0.55  # of a logarithmic axis: what values of 0 get beyond its foot, and how far into that they lie
BREAK: dict[str, Any] = {"color": "#888888", "linewidth": 0.7, "linestyle": (0, (1, 2)), "zorder": 0.8}


@dataclass(frozen=True)
class Axis:
    """From where to where, whether logarithmic, and whether all its values are whole numbers.

    Args:
        beyond: what is written where a logarithmic axis shows values that it has no place for, `0` or `≤ 0`; empty
            where there are none.
    """

    low: float
    high: float
    log: bool
    whole: bool = False
    beyond: str = ""

    @classmethod
    def over(
        cls,
        values: Iterable[Numbers],
        log: bool,
        limits: Sequence[float] = (),
        margin: float = MARGIN,
        share: bool = False,
    ) -> Axis:
        """Return the axis that shows all finite values, or has the limits.

        A logarithmic axis goes from the smallest to the largest positive value, and has a strip for the others, unless
        limits are given: they cut what is below them.

        Args:
            share: whether the values are percentages: an interval may go beyond 0 and 100, the axis does not.
        """
        known = np.concatenate([np.zeros(0), *(np.ravel(each) for each in values)])
        known = known[np.isfinite(known)]
        others = known[(known <= 0) & log]
        beyond = "" if not len(others) else "0" if others.min() == 0 else "≤ 0"
        known = known[(known > 0) | (not log)]
        whole = bool(len(known)) and not log and bool((known == np.round(known)).all())
        if limits:
            return cls(float(limits[0]), float(limits[1]), log, whole)
        if not len(known):
            return cls(0.1 if log else 0.0, 1.0, log, beyond=beyond)
        known = np.clip(known, 0, 100) if share and not log else known
        low, high = float(known.min()), float(known.max())
        alike = math.isclose(low, high, rel_tol=ALIKE)
        if log:
            air = math.log(1.2) if alike else margin * math.log(high / low)
            return cls(low / math.exp(air), high * math.exp(air), log, beyond=beyond)
        air = (0.05 * abs(high) or 1.0) if alike else margin * (high - low)
        return cls(low - air, high + air, log, whole)

    @property
    def bottom(self) -> float:
        """Where the axis begins: at `low`, or at the strip's end."""
        return self._outside(1.0) if self.beyond else self.low

    @property
    def zero(self) -> float:
        """Where values of 0 and below are drawn, if there are any."""
        return self._outside(INTO) if self.beyond else math.nan

    def _outside(self, share: float) -> float:
        """Return the place in the strip, as a share of its width."""
        return self.low * (self.high / self.low) ** (-share * STRIP / (1 - STRIP))

    def place(self, values: Numbers) -> Numbers:
        """Return where values are drawn: at themselves, but in the strip what a logarithmic axis has no place for."""
        return np.where(values <= 0, self.zero, values) if self.beyond else values

    def at(self, value: float) -> float:
        """Return where one value is drawn."""
        return float(self.place(np.array(value)))

    def fraction(self, value: float) -> float:
        """Return where a value lies: 0 at the axis' foot, 1 at its top."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.bottom) / self.bottom) / math.log(self.high / self.bottom)

    def inside(self, value: float) -> float:
        """Return the value, or the end of the axis that is nearest to it; the upper one for what is no number."""
        if value <= 0 and self.beyond:
            return self.at(value)
        return self.high if math.isnan(value) else min(max(value, self.low), self.high)


def set_axes(axes: Axes, x: Axis, y: Axis) -> None:
    set_x(axes, x)
    axes.set_yscale("log" if y.log else "linear")
    axes.set_ylim(y.bottom, y.high)
    set_ticks(axes.yaxis, y)
    if y.beyond:
        axes.axhline(y.low, **BREAK)


def set_x(axes: Axes, x: Axis) -> None:
    axes.set_xscale("log" if x.log else "linear")
    axes.set_xlim(x.bottom, x.high)
    set_ticks(axes.xaxis, x)
    if x.beyond:
        axes.axvline(x.low, **BREAK)


def set_ticks(side: XAxis | YAxis, axis: Axis) -> None:
    """Set ticks and what stands there; on the strip the one that says 0."""
    _set_numbers(side, axis)
    if not axis.beyond:
        return
    usual = side.get_major_formatter()
    for locator, others, place in (
        (side.get_major_locator(), [axis.zero], side.set_major_locator),
        (side.get_minor_locator(), [], side.set_minor_locator),
    ):
        ticks = np.asarray(locator.tick_values(axis.low, axis.high))
        place(FixedLocator([*others, *ticks[(ticks >= axis.low) & (ticks <= axis.high)]]))
    side.set_major_formatter(FuncFormatter(lambda value, at: axis.beyond if value < axis.low else usual(value, at)))
    side.set_minor_formatter(NullFormatter())


def _set_numbers(side: XAxis | YAxis, axis: Axis) -> None:
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


def beyond_note(axes: Iterable[Axis]) -> str:
    """Return the caption's sentence about what lies in a strip."""
    found = sorted({axis.beyond for axis in axes} - {""})
    return f"Beyond the dotted line, at {found[-1]}: what a logarithmic axis has no place for." if found else ""
