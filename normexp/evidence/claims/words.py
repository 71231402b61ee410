"""An estimate with its interval in words: `-0.13 points [-0.79, 0.52]`, `2.4 times [1.7, 5.2]`."""

from __future__ import annotations

import math
from collections.abc import Callable

from normexp.evidence.claims.units import POINTS, TIMES
from normexp.evidence.rounding import is_constant, like_interval, like_ratios, number
from normexp.evidence.stats import Interval

NEVER, UNKNOWN = "some runs never arrive", "some runs have no finite value"


def in_words(estimate: float, interval: Interval, unit: str, compare: str = "", confidence: str = "") -> str:
    """Write an estimate in its unit, with as many digits as its interval bears.

    Args:
        estimate: NaN where there is none.
        unit: as `unit_of` has it; of shares the numbers are fractions, and are shown in percent.
        compare: the estimand, which tells why an estimate is missing.
        confidence: said in front of the interval, `95%`; empty where it is known.
    """
    factor = 100.0 if unit == POINTS or unit.startswith("%") else 1.0
    value, low, high = (factor * each for each in (estimate, interval.low, interval.high))
    ends = [each for each in (low, high) if math.isfinite(each)]
    why = NEVER if compare == "steps" else UNKNOWN
    if math.isinf(value):
        return f"{'more' if value > 0 else 'less'} than any number ({why})"
    if math.isnan(value):
        return _without_estimate(low, high, unit, why)
    if len(ends) < 2:
        return _with_open_ends(value, low, high, unit)
    if is_constant(value, high - low):
        return _united(number(value), unit)
    value_text, *end_texts = _writer(unit)(value, low, high)
    return f"{_united(value_text, unit)}{f', {confidence} ' if confidence else ' '}{bracketed(*end_texts)}"


def interval_in_words(interval: Interval, unit: str) -> str:
    """Write an interval alone, in the unit that was said: `[-0.79, 0.52]`."""
    factor = 100.0 if unit == POINTS or unit.startswith("%") else 1.0
    low, high = factor * interval.low, factor * interval.high
    return bracketed(*_writer(unit)(low, high))


def _writer(unit: str) -> Callable[..., list[str]]:
    return like_ratios if unit == TIMES else like_interval


def bracketed(low: str, high: str) -> str:
    return f"[{low}, {high}]"


def _united(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text


def _without_estimate(low: float, high: float, unit: str, why: str) -> str:
    """Say what an interval tells by itself; a ratio of 0 or more is known of any."""
    least = 0.0 if unit == TIMES else -math.inf
    bounds = [low] * (low > least) + [high] * (high < math.inf)
    if len(bounds) == 2:
        texts = _writer(unit)(*bounds)
        return f"between {texts[0]} and {_united(texts[1], unit)} (no estimate: {why})"
    if bounds:
        side = "least" if low > least else "most"
        return f"at {side} {_united(f'{bounds[0]:.3g}', unit)} (no estimate: {why})"
    return f"nothing is known ({why})"


def _with_open_ends(value: float, low: float, high: float, unit: str) -> str:
    """Write an estimate whose interval has one end, or none."""
    end, side = (low, "least") if math.isfinite(low) else (high, "most")
    if not math.isfinite(end):
        return f"{_united(number(value), unit)} (an interval without ends)"
    value_text, end_text = like_interval(value, end)
    other = "above" if side == "least" else "below"
    return f"{_united(value_text, unit)}, at {side} {end_text} (an interval without an end {other})"
