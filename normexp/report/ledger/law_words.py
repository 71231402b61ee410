"""A law in words, at the place where measurement and formula differ most: what was measured, predicted, allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from normexp.evidence.claims.units import PERCENT, POINTS
from normexp.evidence.claims.words import bracketed
from normexp.evidence.rounding import is_constant, like_interval, number, times_power

BEYOND = (
    "differs from the formula by more than chance, its mean by more than the law allows, which the interval reaches"
)
NO_DIFFERENCE = "-"


@dataclass(frozen=True)
class LawWords:
    """Numbers as people read them.

    Args:
        measured: of a bound with its interval.
        formula: `a bound` where the law predicts 0 but for a remainder.
        difference: measured minus formula, with its interval; of an identity that of the run furthest off.
        allowed: by how much the law may be off, empty where that is nothing; of a bound `≤ 4.605`.
        where: the place; empty where there is but one.
    """

    measured: str
    formula: str
    difference: str
    allowed: str
    where: str
    bound: bool = False

    def in_a_line(self) -> str:
        """Return all of it in a line."""
        where = f" {self.where}" if self.where else ""
        if self.bound:
            return f"{self.measured}{where}, formula {self.allowed}"
        allowed = f", {self.allowed} allowed" if self.allowed else ""
        return f"{self.measured}{where}, formula {self.formula}: {self.difference} apart{allowed}"


def law_words(law: Mapping[str, Any], unit: str = "") -> LawWords:
    """Return the words of a law's furthest place, as claims.json has it.

    Args:
        unit: `%` of shares, which are fractions there.
    """
    factor = 100.0 if unit == PERCENT else 1.0
    measured, predicted, low, high, remainder = (
        factor * float(law[key]) for key in ("measured", "predicted", "low", "high", "remainder")
    )
    of_value, of_difference = (f" {PERCENT}", f" {POINTS}") if unit == PERCENT else ("", "")
    where, allowed = str(law.get("where", "")), f"{remainder:.2g}{of_difference}" if remainder else ""
    if is_bound(law):
        texts, power = like_interval(measured, low, high)
        found = times_power(f"{texts[0]} {bracketed(*texts[1:])}", power)
        return LawWords(f"{found}{of_value}", "a bound", NO_DIFFERENCE, f"≤ {remainder:.4g}{of_value}", where, True)
    if law.get("identity") or not math.isfinite(high - low):
        shown = _of_one_run(measured, predicted, low)
    else:
        shown = _with_interval(measured, predicted, low, high)
    return LawWords(shown[0] + of_value, shown[1] + of_value, shown[2] + of_difference, allowed, where)


def _of_one_run(measured: float, predicted: float, difference: float) -> tuple[str, str, str]:
    """Write a run beside its formula: to the third digit of their difference, where that is more than rounding."""
    if not math.isfinite(difference) or is_constant(measured, difference) or is_constant(predicted, difference):
        said = f"{difference:.2g}" if math.isfinite(difference) else number(difference)
        return number(measured), number(predicted), said
    texts, power = like_interval(measured, predicted, difference, like=(measured, predicted, difference / 5, 0.0))
    return texts[0] + power, _shown(predicted, texts[1], power), texts[2] + power


def _with_interval(measured: float, predicted: float, low: float, high: float) -> tuple[str, str, str]:
    """Write means over the runs, to the second digit of the interval of their difference."""
    texts, power = like_interval(measured, predicted, (low + high) / 2, low, high)
    difference = f"{texts[2]} {bracketed(*texts[3:])}"
    formula = _shown(predicted, texts[1], power)
    return texts[0] + power, formula, times_power(difference, power)


def _shown(predicted: float, text: str, power: str) -> str:
    """Return a prediction's text, unless nothing is left of its digits."""
    return text + power if float(text) else number(predicted)


def is_bound(law: Mapping[str, Any]) -> bool:
    """Tell whether a law predicts 0 but for a remainder: it says how large something is at most."""
    return not law.get("identity") and float(law["predicted"]) == 0 < float(law["remainder"])


def is_beyond(law: Mapping[str, Any] | None) -> bool:
    """Tell whether measured minus predicted has a mean that the law does not allow and an interval without 0."""
    if law is None:
        return False
    low, high = float(law["low"]), float(law["high"])
    return not law.get("identity") and not low <= 0 <= high and abs(low + high) / 2 > float(law["remainder"])
