"""Printed matrices as single numbers, how many of them are right, and what a wrong one should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

import numpy as np
import numpy.typing as npt

from normexp.evidence.audit import CORRECT, ROUNDED, WRONG, digits, judged, places
from normexp.evidence.stats import Printed
from normexp.studies.base import Number

Array = npt.NDArray[np.float64]


def entries(
    document: str, place: str, quantity: str, printed: Sequence[Sequence[str]], computed: Array, reading: str = ""
) -> Iterator[Number]:
    """Yield one Number per entry of a printed matrix, named by row and column, counted from 1."""
    for i, row in enumerate(printed, start=1):
        for j, text in enumerate(row, start=1):
            name = f"{quantity}, row {i}" + (f", column {j}" if len(row) > 1 else "")
            yield Number(document, place, name, text, float(computed[i - 1, j - 1]), reading=reading)


def counts(numbers: Sequence[Number]) -> dict[str, object]:
    """Return how many printed numbers there are, and how many of each verdict: the metrics of an audit."""
    found = Counter(
        judged(number.printed, str(number.computed), "" if number.agrees is None else str(number.agrees))
        for number in numbers
    )
    return {
        "numbers": len(numbers),
        "correct": found[CORRECT],
        "rounded_wrongly": found[ROUNDED],
        "wrong": found[WRONG],
    }


def values(printed: Sequence[Sequence[str]]) -> Array:
    """Return a printed matrix as float64."""
    return np.array([[float(text) for text in row] for row in printed])


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
    return digits(float(number.computed)).quantize(Decimal(1).scaleb(-places(number.printed) - more), way)


def _rounding(number: Number) -> str:
    cut = _rounded(number, way=ROUND_DOWN) == Decimal(repr(Printed.of(number.printed).value))
    return f"rounds to {_rounded(number)}" + ("; it was cut off" if cut else "")
