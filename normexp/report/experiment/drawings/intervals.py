"""The centre of one sample over seeds, with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from normexp.stats import mean, t_interval

LINEAR = "Mean over the converged seeds and its 95 % t interval."
ONE = "One seed each, so no interval."
LOG = "Geometric mean over the converged seeds and its 95 % interval (t interval of the logarithms)."


@dataclass(frozen=True)
class Centre:
    """Mean and interval (NaN where there is none: fewer than two seeds) over the finite values.

    Args:
        values: of the seeds that converged.
        runs: how many finished, diverged ones included.
    """

    mean: float
    low: float
    high: float
    values: tuple[float, ...]
    runs: int

    @property
    def lost(self) -> bool:
        return len(self.values) < self.runs

    @property
    def counted(self) -> str:
        return f"{len(self.values)}/{self.runs} converged" if self.runs else "no value"


def centre(by_seed: Mapping[int, float], log: bool) -> Centre:
    """Return the centre of the finite values; on a logarithmic axis that of the logarithms of the positive ones.

    There the interval is as wide upwards as downwards, and never reaches 0.
    """
    finite = tuple(value for value in by_seed.values() if math.isfinite(value))
    sample = [math.log(value) for value in finite if value > 0] if log else list(finite)
    interval = t_interval(sample)
    ends = (interval.low, interval.high) if interval else (math.nan, math.nan)
    numbers = [math.exp(min(each, 700.0)) if log else each for each in (mean(sample), *ends)]
    return Centre(numbers[0], numbers[1], numbers[2], finite, len(by_seed))


def meaning(log: bool, seeds: Sequence[int]) -> str:
    """Return what is drawn, for a caption."""
    return ONE if max(seeds, default=0) < 2 else LOG if log else LINEAR
