"""A closed interval of plausible values."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, both included, either may be infinite. Raises ValueError if reversed or NaN."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"no interval: from {self.low} to {self.high}")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def inside(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high

    def outside(self, other: Interval) -> bool:
        return self.high < other.low or other.high < self.low

    def distances(self, value: float) -> tuple[float, float]:
        """Return how far a value is from the ends, the nearer first; from outside the other does not count: inf."""
        near, far = sorted((abs(value - self.low), abs(value - self.high)))
        return near, far if value in self else math.inf

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}]"


EVERYTHING = Interval(-math.inf, math.inf)  # nothing is known
