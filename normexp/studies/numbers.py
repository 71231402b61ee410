"""Printed matrices as single numbers, and how many of them are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from normexp.evidence.audit import CORRECT, ROUNDED, WRONG, judged
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
