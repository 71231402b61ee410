"""How many times as fast, round by round."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """Paired ratios; as text their median, with the least and the greatest."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
        return cls(tuple(a / b for a, b in zip(ours, theirs, strict=True)))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        ends = f" ({min(self.values):.2f} to {max(self.values):.2f})" if len(self.values) > 1 else ""
        return f"{self.median:.2f}{ends}"


def decimals(value: float | None, digits: int) -> str:
    """Return a number with so many decimals; nothing where nothing was measured."""
    return "" if value is None else f"{value:.{digits}f}"
