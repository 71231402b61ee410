"""An estimate with its interval in words: `-0.13 points [-0.79, 0.52]`, `2.4 times [1.7, 5.2]`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.evidence.claims.units import POINTS, TIMES
from normexp.evidence.rounding import is_constant, like_interval, like_ratios, number, times_power
from normexp.evidence.stats import Interval

NEVER, UNKNOWN = "some runs never arrive", "some runs have no finite value"
ENDLESS = "without ends"


@dataclass(frozen=True)
class Estimated:
    """An estimate in its unit; its interval tells the digits of all that is said of it.

    Args:
        estimate: NaN where there is none.
        unit: as `unit_of` has it; of shares the numbers are fractions, and are shown in percent.
        compare: the estimand, which tells why an estimate is missing.
        limits: of the claim, which no end is rounded onto.
    """

    estimate: float
    interval: Interval
    unit: str = ""
    compare: str = ""
    limits: Sequence[float] = ()

    def in_words(self, confidence: str = "95%", brackets: str = "95%") -> str:
        """Write it with as many digits as its interval bears.

        Args:
            confidence: said in front of an interval in words; empty where it is known.
            brackets: the same, in front of `[LOW, HIGH]`.
        """
        value, low, high = self._numbers()
        if math.isnan(value):
            return self._without_estimate(confidence)
        if math.isinf(value):
            return self._infinite(confidence)
        if is_constant(value, high - low):
            return _united(self._alone(value), self.unit)
        (own, *ends), power = self._texts(value, low, high)
        if self._is_open(low, high):
            said = self._ends(low, high, ends[0] + power, ends[1] + power, f"{confidence}:" if confidence else "")
            return f"{_united(own + power, self.unit)}, {said}"
        if not power:
            own = _united(own, self.unit)
        text = f"{own}, {brackets} {bracketed(*ends)}" if brackets else f"{own} {bracketed(*ends)}"
        return _united(times_power(text, power), self.unit) if power else text

    def adjusted(self, interval: Interval, confidence: str = "") -> str:
        """Write another interval of the same with the same digits; nothing where it has no width."""
        factor = self._factor()
        value, *_ = self._numbers()
        low, high = factor * interval.low, factor * interval.high
        if low == high or is_constant(value, high - low):
            return ""
        ends, power = self._texts(low, high)
        open_ended = self._is_open(low, high)
        said = self._ends(low, high, ends[0] + power, ends[1] + power) if open_ended else bracketed(*ends) + power
        return f"adjusted{f' {confidence}' if confidence else ''}{':' if open_ended else ''} {said}"

    def _factor(self) -> float:
        return 100.0 if self.unit == POINTS or self.unit.startswith("%") else 1.0

    def _numbers(self) -> tuple[float, float, float]:
        factor = self._factor()
        return factor * self.estimate, factor * self.interval.low, factor * self.interval.high

    def _texts(self, *values: float) -> tuple[list[str], str]:
        """Return numbers as text, with the digits of the interval, and their power of ten."""
        value, low, high = self._numbers()
        limits = [self._factor() * limit for limit in self.limits if math.isfinite(limit)]
        known = [] if is_constant(value, high - low) else filter(math.isfinite, (value, low, high))
        like = list(known)
        if self.unit == TIMES:
            return like_ratios(*values, like=like, limits=limits), ""
        return like_interval(*values, like=like, limits=limits)

    def _alone(self, value: float) -> str:
        """Write a number whose interval has no width; a ratio has two digits at least."""
        text = number(value)
        return f"{text}.0" if self.unit == TIMES and len(text.lstrip("-")) == 1 else text

    def _ends(self, low: float, high: float, low_text: str, high_text: str, confidence: str = "") -> str:
        """Say where an open interval ends."""
        least = self._least()
        if low > least and high < math.inf:
            said = f"between {low_text} and {high_text}"
        elif low > least or high < math.inf:
            said = f"at least {low_text}" if low > least else f"at most {high_text}"
        else:
            said = ENDLESS
        return f"{confidence} {said}" if confidence else said

    def _is_open(self, low: float, high: float) -> bool:
        return low <= self._least() or high == math.inf

    def _least(self) -> float:
        """Return what is known of any: a ratio is 0 or more."""
        return 0.0 if self.unit == TIMES else -math.inf

    def _without_estimate(self, confidence: str) -> str:
        _, low, high = self._numbers()
        texts, power = self._texts(low, high)
        said = self._ends(low, high, texts[0] + power, texts[1] + power)
        if said == ENDLESS:
            return f"nothing is known ({self._why()})"
        return f"{f'{confidence}: ' if confidence else ''}{_united(said, self.unit)} (no estimate: {self._why()})"

    def _infinite(self, confidence: str) -> str:
        """Say of an infinite estimate what its interval tells: where that is infinite, too, all of it."""
        value, low, high = self._numbers()
        if low == high:
            same = f", {confidence}: the same" if confidence else ""
            return f"{'more' if value > 0 else 'less'} than any number{same} ({self._why()})"
        texts, power = self._texts(low, high)
        said = self._ends(low, high, texts[0] + power, texts[1] + power, f"{confidence}:" if confidence else "")
        return f"no finite estimate ({self._why()}), {said}"

    def _why(self) -> str:
        return NEVER if self.compare == "steps" else UNKNOWN


def bracketed(low: str, high: str) -> str:
    return f"[{low}, {high}]"


def _united(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text
