"""Where two tables of numbers differ, and by how much: a record and the same run trained again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Row = dict[str, str]
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")  # in a sentence
ROUNDING = 1e-9  # differences below are of sums in another order, whatever the column holds


@dataclass(frozen=True)
class Difference:
    """Where one number differs most from the recorded one.

    Args:
        step: in which it was recorded; empty in a table without steps.
        relative: the difference over the largest recorded value of the column; infinite where it is no number.
    """

    column: str
    step: str
    before: str
    now: str
    relative: float

    def __str__(self) -> str:
        size = f", {self.relative:.1e} of the column's largest" if math.isfinite(self.relative) else ""
        step = f" at step {self.step}" if self.step else ""
        return f"{self.column}{step} was {self.before}, is {self.now}{size}"


def differences(before: Sequence[Row], now: Sequence[Row]) -> Iterator[Difference]:
    """Yield every number that is another one now; other rows or columns count as infinitely far."""
    if len(before) != len(now):
        yield Difference("rows", "the last", str(len(before)), str(len(now)), math.inf)
    for column in dict.fromkeys(name for row in (*before[:1], *now[:1]) for name in row):
        largest = max((abs(value) for value in _numbers(row.get(column) for row in before)), default=0.0)
        for old, new in zip(before, now, strict=False):
            was, is_now = old.get(column) or "", new.get(column) or ""
            if was != is_now:
                yield Difference(column, old.get("step", ""), was, is_now, _relative(was, is_now, largest))


def _relative(before: str, now: str, largest: float) -> float:
    values = list(_numbers((before, now)))
    if len(values) < 2:
        return _relative_of_texts(before, now)
    distance = abs(values[0] - values[1])
    return 0.0 if distance <= ROUNDING else distance / largest if largest else math.inf


def _relative_of_texts(before: str, now: str) -> float:
    """Compare the numbers in two sentences, infinitely far apart where the words between them differ."""
    pairs = list(zip(NUMBER.findall(before), NUMBER.findall(now), strict=False))
    if not pairs or NUMBER.sub("0", before) != NUMBER.sub("0", now):
        return math.inf
    return max(_relative(was, is_now, abs(float(was))) for was, is_now in pairs)


def _numbers(texts: Iterable[str | None]) -> Iterator[float]:
    """Yield the finite numbers among the texts."""
    for text in texts:
        try:
            value = float(text or "")
        except ValueError:
            continue
        if math.isfinite(value):
            yield value
