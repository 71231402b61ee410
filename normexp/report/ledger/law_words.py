"""A law in words, at the place where measurement and formula differ most: what was measured, predicted, allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from normexp.evidence.claims.words import bracketed
from normexp.evidence.rounding import like_interval, number

BEYOND = (
    "differs from the formula by more than chance, its mean by more than the law allows, which the interval reaches"
)


@dataclass(frozen=True)
class LawWords:
    """Numbers as people read them.

    Args:
        formula: `≤ 4.605` where the law is a bound: where it predicts 0 but for a remainder.
        difference: measured minus formula, with its interval; of an identity that of the run furthest off.
        allowed: by how much the law may be off; empty where that is nothing.
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
            return f"{self.measured}{where} {self.difference[self.difference.find('[') :]}, formula {self.formula}"
        allowed = f", {self.allowed} allowed" if self.allowed else ""
        return f"{self.measured}{where}, formula {self.formula}: {self.difference} apart{allowed}"


def law_words(law: Mapping[str, Any]) -> LawWords:
    """Return the words of a law's furthest place, as claims.json has it."""
    measured, predicted, low, high, remainder = (
        float(law[key]) for key in ("measured", "predicted", "low", "high", "remainder")
    )
    where = str(law.get("where", ""))
    bound = is_bound(law)
    formula, allowed = f"≤ {remainder:.4g}" if bound else "", f"{remainder:.2g}" if remainder and not bound else ""
    if law.get("identity") or not math.isfinite(high - low):
        difference = f"{low:.2g}" if math.isfinite(low) else number(low)
        return LawWords(number(measured), formula or number(predicted), difference, allowed, where, bound)
    texts = like_interval(measured, predicted, (low + high) / 2, low, high)
    own = texts[1] if float(texts[1]) or not predicted else number(predicted)
    return LawWords(texts[0], formula or own, f"{texts[2]} {bracketed(*texts[3:])}", allowed, where, bound)


def is_bound(law: Mapping[str, Any]) -> bool:
    """Tell whether a law predicts 0 but for a remainder: it says how large something is at most."""
    return not law.get("identity") and float(law["predicted"]) == 0 < float(law["remainder"])


def is_beyond(law: Mapping[str, Any] | None) -> bool:
    """Tell whether measured minus predicted has a mean that the law does not allow and an interval without 0."""
    if law is None:
        return False
    low, high = float(law["low"]), float(law["high"])
    return not law.get("identity") and not low <= 0 <= high and abs(low + high) / 2 > float(law["remainder"])
