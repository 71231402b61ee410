"""How every number of a report is written: a mean to the second significant digit of its standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST_DIGITS = 7  # of a mean: a deviation far below it says nothing about the digits between
SMALL, LARGE = 1e-3, 1e6  # outside, a power of ten is taken out


def number(value: float, percent: bool = False) -> str:
    """Write a number without a deviation: percentages with two decimals, others with four significant digits."""
    if not math.isfinite(value):
        return "?" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if percent:
        return f"{value:z.2f}"
    return f"{value:.0f}" if 9999.5 <= abs(value) < LARGE - 0.5 else f"{value:z.4g}"


def mean_and_deviation(mean: float, deviation: float, percent: bool = False) -> str:
    """Write `33.1 ± 2.4`: two significant digits of the deviation, the mean to the same digit.

    Equal values have a deviation of 0, which has no digits: the mean is then written as one without a deviation.
    """
    if deviation == 0 or not math.isfinite(deviation):
        return f"{number(mean, percent)} ± {number(deviation, percent)}"
    mean_text, spread, power = _to_the_same_digit([mean, deviation], deviation)
    if abs(mean) >= float(f"1e{_second_digit(deviation) + MOST_DIGITS}"):  # inf beyond what can be written
        return f"{mean_text}{power} ± {deviation:.1e}"
    return f"({mean_text} ± {spread}){power}" if power else f"{mean_text} ± {spread}"


def with_interval(value: float, low: float, high: float, sign: bool = True) -> str:
    """Write `+1.2 [-0.4, +2.8]`: all three to the second significant digit of half the interval's width.

    Args:
        sign: whether what is above 0 has a sign.
    """
    half = (high - low) / 2
    finite = [abs(each) for each in (value, low, high) if math.isfinite(each)]
    digit = half if math.isfinite(half) and half > 0 else max(finite, default=1.0) / 10 or 1.0
    value_text, low_text, high_text, power = _to_the_same_digit([value, low, high], digit, sign)
    return f"{value_text} [{low_text}, {high_text}]{power}"


def ratio(value: float) -> str:
    """Write a ratio with three significant digits."""
    if not math.isfinite(value):
        return number(value)
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:z#.3g}".rstrip(".")


def _to_the_same_digit(values: Sequence[float], uncertainty: float, sign: bool = False) -> list[str]:
    """Return the values as text, rounded to the second significant digit of the uncertainty, and a power of ten."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)  # of no number: all diverged
    exponent = math.floor(math.log10(largest)) if largest else 0
    power = exponent if not SMALL <= largest < LARGE else 0
    digit = _second_digit(uncertainty)
    decimals = min(power - digit, MOST_DIGITS - 1 - exponent + power)
    return [*(_rounded(value, power, decimals, sign) for value in values), f"e{power:+03d}" if power else ""]


def _second_digit(value: float) -> int:
    """Return the exponent of the second significant digit after rounding to two: -1 for 2.4, 0 for 9.99."""
    return int(f"{value:.1e}".partition("e")[2]) - 1


def _rounded(value: float, power: int, decimals: int, sign: bool) -> str:
    if not math.isfinite(value):
        return ("+" if sign and value > 0 else "") + number(value)
    scaled = round(value / 10.0**power, decimals)
    return f"{scaled:{'+' if sign else ''}z.{max(0, decimals)}f}"
