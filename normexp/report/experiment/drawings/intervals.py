"""The centre of one sample over seeds, with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from normexp.evidence.stats import mean, t_interval

LINEAR = "Mean over the converged seeds and its 95 % t interval."
ONE = "One seed each, so no interval."
LOG = "Geometric mean over the converged seeds and its 95 % interval (t interval of the logarithms)."
WITHOUT = "No value of 0 or below enters a mean, unless an arm has no other."


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
    def mixed(self) -> bool:
        """Whether some values are positive and others are not."""
        return len({value > 0 for value in self.values}) > 1

    @property
    def counted(self) -> str:
        return f"{len(self.values)}/{self.runs} converged" if self.runs else "no value"


def centre(by_seed: Mapping[int, float], log: bool) -> Centre:
    """Return the centre of the finite values; on a logarithmic axis that of the logarithms of the positive ones.

    There the interval is as wide upwards as downwards, and never reaches 0. Without a positive value it is the mean.
    """
    finite = tuple(value for value in by_seed.values() if math.isfinite(value))
    sample = [math.log(value) for value in finite if value > 0] if log else list(finite)
    if not sample:
        return Centre(mean(finite), math.nan, math.nan, finite, len(by_seed))
    interval = t_interval(sample)
    ends = (interval.low, interval.high) if interval else (math.nan, math.nan)
    numbers = [math.exp(min(each, 700.0)) if log else each for each in (mean(sample), *ends)]
    return Centre(numbers[0], numbers[1], numbers[2], finite, len(by_seed))


def meaning(log: bool, centres: Sequence[Centre]) -> str:
    """Return what is drawn, for a caption."""
    if max((each.runs for each in centres), default=0) < 2:
        return ONE
    if not log:
        return LINEAR
    return f"{LOG} {WITHOUT}" if any(each.mixed for each in centres) else LOG
