"""How every number of a report is written: a mean to the second significant digit of its standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence

CONSTANT = 1e-6  # a deviation, or an interval, that is less than this share of the value is none
MOST_DIGITS = 8  # two of a deviation that is just no constant's; one far below says nothing about the digits between
SMALL, LARGE = 1e-3, 1e6  # outside, a power of ten is taken out


def number(value: float, percent: bool = False) -> str:
    """Write a number without a deviation: percentages with two decimals, others with four significant digits.

    What is `1` has no zeros, what is not quite, `1.000`.
    """
    if not math.isfinite(value):
        return "?" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if percent:
        return f"{value:z.2f}"
    if 9999.5 <= abs(value) < LARGE - 0.5:
        return f"{value:.0f}"
    text = f"{value:z.4g}"
    return text if is_constant(value, float(text) - value) else f"{value:z#.4g}".rstrip(".")


def mean_and_deviation(mean: float, deviation: float, percent: bool = False) -> str:
    """Write `33.1 ± 2.4`: two significant digits of the deviation, the mean to the same digit.

    Values that are equal, but for a millionth of them, are written as one without a deviation.
    """
    if is_constant(mean, deviation):
        return number(mean, percent)
    if not math.isfinite(deviation):
        return f"{number(mean, percent)} ± {number(deviation, percent)}"
    mean_text, spread, power = _to_the_same_digit([mean, deviation], deviation)
    return times_power(f"{mean_text} ± {spread}", power)


def with_interval(value: float, low: float, high: float, sign: bool = True) -> str:
    """Write `+1.2 [-0.4, +2.8]`: all three to the second significant digit of half the interval's width.

    Args:
        sign: whether what is above 0 has a sign.
    """
    half = (high - low) / 2
    finite = [abs(each) for each in (value, low, high) if math.isfinite(each)]
    digit = half if math.isfinite(half) and half > 0 else max(finite, default=1.0) / 10 or 1.0
    value_text, low_text, high_text, power = _to_the_same_digit([value, low, high], digit, sign)
    return times_power(f"{value_text} [{low_text}, {high_text}]", power)


def is_constant(value: float, spread: float) -> bool:
    """Tell whether a value is known so well that its deviation or interval is none: to a millionth, or exactly."""
    return math.isfinite(spread) and abs(spread) <= CONSTANT * abs(value)


def like_interval(*values: float, like: Sequence[float] = (), limits: Sequence[float] = ()) -> tuple[list[str], str]:
    """Write numbers, of which the last two are the ends of an interval, to the second digit of half its width.

    Args:
        like: numbers whose digits are taken instead; again the last two are ends.
        limits: no end is rounded onto one, or past it.

    Returns: the texts, and the power of ten that is to stand behind each of them or behind all; empty where it is 1.
    """
    given = like or values
    largest, uncertainty = _largest(given), _uncertainty(given)
    for more in range(MOST_DIGITS):
        *texts, power = _to_the_same_digit(values, uncertainty / 10**more, largest=largest)
        if all(_keeps_side(value, text + power, limits) for value, text in zip(values[-2:], texts[-2:], strict=True)):
            break
    return texts, power


def like_ratios(*values: float, like: Sequence[float] = (), limits: Sequence[float] = ()) -> list[str]:
    """Write an interval of ratios: two significant digits of each number at least, and three from 100 on.

    Its ends are apart by a factor: half the width of [2, 118] says nothing about the digits of 2. More digits, and
    the arguments, are as `like_interval` has them.
    """
    digit = _second_digit(_uncertainty(like or values))
    ends = len(values) - 2
    return [_ratio_to(digit, value, limits if index >= ends else ()) for index, value in enumerate(values)]


def _ratio_to(digit: int, value: float, limits: Sequence[float]) -> str:
    if not math.isfinite(value):
        return number(value)
    exponent = _second_digit(value) + 1
    digit = min(digit, exponent - (2 if exponent >= 2 else 1)) if value else digit
    texts = (_to_digit(value, digit - more, exponent) for more in range(MOST_DIGITS))
    return next((text for text in texts if _keeps_side(value, text, limits)), f"{value:.{MOST_DIGITS}g}")


def _to_digit(value: float, digit: int, exponent: int) -> str:
    if value == 0 or SMALL <= abs(value) < LARGE:
        return _rounded(value, 0, -digit, sign=False)
    return f"{value:.{max(0, exponent - digit)}e}"


def _largest(values: Sequence[float]) -> float:
    return max(map(abs, filter(math.isfinite, values)), default=0.0)  # of no number: all diverged


def _uncertainty(values: Sequence[float]) -> float:
    """Return half the width of the interval that the last two values are, or a tenth of the largest without one."""
    half = abs(values[-1] - values[-2]) / 2 if len(values) > 1 else 0.0
    return half if 0 < half < math.inf else _largest(values) / 10 or 1.0


def _keeps_side(value: float, text: str, limits: Sequence[float]) -> bool:
    """Tell whether a number as it is written lies on the same side of every limit as it does."""
    if not math.isfinite(value):
        return True
    shown = float(text)
    return all((shown > limit) - (shown < limit) == (value > limit) - (value < limit) for limit in limits)


def times_power(text: str, power: str) -> str:
    """Return a text of several numbers with the power of ten behind all of them, where there is one."""
    return f"({text}){power}" if power else text


def ratio(value: float) -> str:
    """Write a ratio with three significant digits."""
    if not math.isfinite(value):
        return number(value)
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:z#.3g}".rstrip(".")


def _to_the_same_digit(
    values: Sequence[float], uncertainty: float, sign: bool = False, largest: float | None = None
) -> list[str]:
    """Return the values as text, rounded to the second significant digit of the uncertainty, and a power of ten.

    Args:
        largest: the size that tells the power; by default that of the values.
    """
    largest = _largest(values) if largest is None else largest
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
