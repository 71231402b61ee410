"""How every number of a report is written: a mean to the second significant digit of its standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence

CONSTANT = 1e-6  # a deviation, or an interval, that is less than this share of the value is none
MOST_DIGITS = 8  # two of a deviation that is just no constant's; one far below says nothing about the digits between
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

    Values that are equal, but for a millionth of them, are written as one without a deviation; of percentages, whose
    deviation might be a real one, `± 0.00` is said.
    """
    if is_constant(mean, deviation):
        return f"{mean:z.2f} ± 0.00" if percent else number(mean)
    if not math.isfinite(deviation):
        return f"{number(mean, percent)} ± {number(deviation, percent)}"
    mean_text, spread, power = _to_the_same_digit([mean, deviation], deviation)
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


def is_constant(value: float, spread: float) -> bool:
    """Tell whether a value is known so well that its deviation or interval is none: to a millionth, or exactly."""
    return math.isfinite(spread) and abs(spread) <= CONSTANT * abs(value)


def like_interval(*values: float) -> list[str]:
    """Write numbers, of which the last two are the ends of an interval, to the second digit of half its width."""
    half = abs(values[-1] - values[-2]) / 2
    largest = max(map(abs, filter(math.isfinite, values)), default=0.0)
    *texts, power = _to_the_same_digit(values, half if 0 < half < math.inf else largest / 10 or 1.0)
    return [text + power * any(map(str.isdigit, text.strip("-0."))) for text in texts]


def like_ratios(*values: float) -> list[str]:
    """Write an interval of ratios, each number with two significant digits at least.

    Its ends are apart by a factor: half the width of [2, 118] says nothing about the digits of 2.
    """
    return list(map(_nearer, values, like_interval(*values)))


def _nearer(value: float, text: str) -> str:
    """Return the text, or two significant digits of the value where these are more."""
    own = f"{value:#.2g}".rstrip(".")
    if not math.isfinite(value) or abs(float(own) - value) > abs(float(text) - value):
        return text
    return text if "e" in own and float(own) == float(text) else max(text, own, key=len)


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
