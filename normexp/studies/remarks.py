"""What a printed number that is not right should be."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from normexp.evidence.audit import CORRECT, WRONG, judged
from normexp.studies.base import Number


def explained(number: Number, wrong: str = "") -> Number:
    """Return the number; where it is not right, with a remark: what it should be and, where it is known, why.

    Args:
        wrong: why an entry that is more than wrongly rounded is what it is.
    """
    verdict = judged(number.printed, str(number.computed))
    if verdict == CORRECT:
        return number
    exact = _rounded(number, more=2).normalize() + 0
    given = f"{number.reading} gives" if number.reading else "It is"
    if verdict == WRONG:
        return replace(number, remark=" ".join(filter(None, [f"{given} {exact:f}.", wrong])))
    return replace(number, remark=f"{given} {exact:f}, which {_rounding(number)}.")


def _rounded(number: Number, more: int = 0, way: str = ROUND_HALF_UP) -> Decimal:
    """Return the computed value to the printed digits, or to `more` than these."""
    places = len(number.printed.strip().partition(".")[2]) + more
    exact = Decimal(f"{float(number.computed):.12g}")  # without the last bits of a float
    return exact.quantize(Decimal(1).scaleb(-places), way)


def _rounding(number: Number) -> str:
    cut = _rounded(number, way=ROUND_DOWN) == Decimal(number.printed)
    return f"rounds to {_rounded(number)}" + ("; it was cut off" if cut else "")
