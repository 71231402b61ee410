"""Axes: linear, logarithmic or symlog; where they end; numbers at ticks that stay short."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, SymmetricalLogLocator

from normexp.config.text import is_number
from normexp.report.figures.chart import UNBOUNDED, Chart, Numbers, Range
from normexp.report.figures.styles import LineStyle

MARGIN = 0.04  # of an axis, beyond the smallest and the largest value
ALIKE = 1e-9  # relative difference of values below which they are one: the rest is rounding
PLAIN_DECADES = {"x": 2.0, "y": 2.5}  # of a logarithmic axis; from there on the powers of ten suffice as ticks
OFF_SCALE, FAR = 10.0, 1e3  # times the largest, the median of what the runs reach that did not diverge
STEPS = (1, 2, 2.5, 5, 10)  # between ticks, times a power of ten
LINEAR = 0.5  # decades that the linear part of a symlog axis takes on either side of 0, at least
LINEAR_SHARE = 0.08  # of all decades, where there are values below 0: its neighbours stand apart from 0
FROM_0 = {"x": (10.0, 0.05), "y": (17.5, 0.04)}  # where the axis begins at 0: from so many decades on, that share
GREY = LineStyle("#777777", (1.5, 1.5), width=0.8)
MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def joined(values: Iterable[Numbers]) -> Numbers:
    """Return all finite values."""
    known = np.concatenate([np.zeros(0), *(np.ravel(each).astype(float) for each in values)])
    return known[np.isfinite(known)]


def set_scale(side: XAxis | YAxis, values: Numbers, log: bool, limits: Range | None = None) -> None:
    """Make one side of axes logarithmic where asked, symlog where values of 0 or below need a place."""
    axes, name = side.axes, side.axis_name
    low = min(limits) if limits else (values.min() if len(values) else 1.0)
    if log and low > 0:
        _call(axes, name, "scale", "log")
    elif log:
        linear = threshold(values)
        _call(axes, name, "scale", "symlog", linthresh=linear, linscale=_linear_decades(values, linear, name))


def _call(axes: Axes, name: str, what: str, *given: object, **more: object) -> None:
    getattr(axes, f"set_{name}{what}")(*given, **more)


def threshold(values: Numbers) -> float:
    """Return the power of ten at or below the smallest size there is: nearer to 0 a symlog axis is linear."""
    sizes = np.abs(values[values != 0])
    return float(10.0 ** math.floor(math.log10(sizes.min()))) if len(sizes) else 1.0


def _linear_decades(values: Numbers, linear: float, name: str) -> float:
    """Return how many decades the linear part takes on either side, of an axis that is logarithmic beyond it."""
    decades = sum(math.log10(side.max(initial=linear) / linear) for side in (-values, values))
    many, share = (0.0, LINEAR_SHARE) if (values < 0).any() else FROM_0[name]
    return max(LINEAR, share * decades) if decades > many else LINEAR


def set_ends(
    side: XAxis | YAxis,
    values: Numbers,
    limits: Range | None,
    margin: float = MARGIN,
    most: int = 9,
    possible: Range = UNBOUNDED,
    narrow: bool = False,
) -> None:
    """Set where the axis ends: the limits, or the values with a margin in its own scale.

    Args:
        most: ticks.
        possible: values that there can be; around a single one the axis does not go on beyond them.
        narrow: whether limits hold only as far as there are values: those of an experiment that is not finished.
    """
    axes, name = side.axes, side.axis_name
    low, high = limits or _around(side, values, margin, possible)
    if limits and narrow:
        low, high = _narrowed(limits, _around(side, np.clip(values, *limits), margin, possible))
    _call(axes, name, "lim", low, high)
    set_ticks(side, low, high, len(values) > 0 and bool((values == np.round(values)).all()), most)


def _around(side: XAxis | YAxis, values: Numbers, margin: float, possible: Range) -> Range:
    if not len(values):
        return 0.1 if side.get_scale() == "log" else 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if math.isclose(low, high, rel_tol=ALIKE, abs_tol=1e-300):
        return (low / 1.2, high * 1.2) if side.get_scale() == "log" else _beside(low, high, possible)
    transform = side.get_transform()
    ends = transform.transform(np.array([low, high]))
    air = margin * (ends[1] - ends[0])
    back = transform.inverted().transform(np.array([ends[0] - air, ends[1] + air]))
    if side.get_scale() == "symlog" and low >= 0:
        back[0] = -0.3 * transform.linthresh  # type: ignore[attr-defined]
    return float(back[0]), float(back[1])


def _narrowed(limits: Range, around: Range) -> Range:
    """Return the limits as far as there are values; all of them where there are none within."""
    low, high = max(limits[0], around[0]), min(limits[1], around[1])
    return (low, high) if low < high else limits


def _beside(low: float, high: float, possible: Range) -> Range:
    """Return the ends around what is one value; where none can lie beyond it, a line at that end is still seen."""
    edge = MARGIN * _air(high)
    lowest, highest = min(low, possible[0]) - edge, max(high, possible[1]) + edge
    return max(low - _air(low), lowest), min(high + _air(high), highest)


def _air(value: float) -> float:
    return 0.05 * abs(value) or 1.0


def reach(
    chart: Chart, panel: str, mean: Sequence[Numbers], edges: Sequence[Numbers], tops: Sequence[float], ended: bool
) -> Range:
    """Return from where to where a panel's vertical values go: up to the largest one that is worth showing."""
    values = joined([*mean, *edges])
    if not len(values):
        return 0.0, 1.0
    shown = values[values <= ceiling(chart, panel, tops, ended)]
    return float(values.min()), float((shown if len(shown) else values).max())


def ceiling(chart: Chart, panel: str, tops: Sequence[float], ended: bool) -> float:
    """Return the largest value worth showing.

    Args:
        tops: the largest value of the runs of every line that did not diverge.
        ended: whether some run did; it may reach 1e30.
    """
    here = chart.panel_of(panel)
    if math.isfinite(here.possible[1]):
        return here.possible[1]
    finite = [top for top in tops if math.isfinite(top)]
    middle = float(np.median(finite)) if finite else 0.0
    if middle <= 0 or math.isfinite(here.top):
        return here.top
    far = math.inf if chart.log_in("y", panel) else FAR * middle  # one that explodes and comes back
    return min(OFF_SCALE * max(finite), far) if ended else far


def set_ticks(side: XAxis | YAxis, low: float, high: float, whole: bool = False, most: int = 9) -> None:
    """Write numbers that stay short: 0.002, 20,000, 10⁶."""
    scale = side.get_scale()
    if scale == "symlog":
        side.set_major_locator(SymmetricalLogLocator(side.get_transform(), subs=[1.0]))
        side.get_major_locator().set_params(numticks=7)  # type: ignore[call-arg]
    elif scale == "log":
        decades = math.log10(high / low)
        plain = decades < PLAIN_DECADES[side.axis_name]
        subs = (1.0, 2.0, 5.0) if plain else (1.0,)
        side.set_major_locator(MaxNLocator(5, steps=STEPS) if decades < 0.7 else LogLocator(subs=subs, numticks=most))
        side.set_minor_formatter(NullFormatter())
        if plain:
            side.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            return
    else:
        side.set_major_locator(MaxNLocator(min(6, most), steps=STEPS, integer=whole))
        side.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        return
    side.set_major_formatter(FuncFormatter(lambda value, _: power(value)))


def short(value: float, digits: int = 5) -> str:
    """Write a number with few digits: 0.002, 20,000, 2×10⁶."""
    if digits < 5 and value:
        value = float(f"{value:.{digits}g}")
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:z,.5g}".replace("-", MINUS) if abs(value) < 1e5 else f"{value:,.0f}".replace("-", MINUS)
    mantissa, _, exponent = f"{value:.4e}".partition("e")
    return times_ten(mantissa.rstrip("0").rstrip("."), int(exponent))


def value_text(value: object) -> str:
    """Return a value of the grid as an axis writes it; a number of which that would hide digits, with all of them."""
    if not is_number(value) or not math.isfinite(value):
        return str(value)
    return short(value) if float(f"{value:.5g}") == value else f"{value:,}".replace("-", MINUS)


def times_ten(mantissa: str, exponent: int) -> str:
    """Write a mantissa and a power of ten: 4.0×10⁻⁸."""
    return f"{mantissa.replace('-', MINUS)}{TIMES}10{str(exponent).translate(SUPERSCRIPT)}"


def power(value: float) -> str:
    """Write a power of ten: 0.01, 1, 100, 10⁵."""
    if value == 0:
        return "0"
    exponent = round(math.log10(abs(value)))
    if -2 <= exponent <= 2:
        return short(value)
    return f"{MINUS if value < 0 else ''}10{str(exponent).translate(SUPERSCRIPT)}"
