"""Verdicts on published numbers: does our interval lie within the declared margin of what was printed?

    reproduced       the 95 % interval of our mean lies inside the margin, rounding of the printed number included
    not reproduced   it lies outside, on either side: too good is not reproduced either; or no run stayed finite
    undecided        neither; with the number of seeds that would probably decide
    scaled           our runs are not at the paper's scale, so they neither confirm nor refute it
    not judged       no margin was declared; the number is shown, and that is all

A paper's number is often one run of its own, whose spread nobody knows; the margin has to allow for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from normexp.config.text import amount
from normexp.evidence.scales import PAPER
from normexp.evidence.stats import CONFIDENCE, Interval, PointEstimate, Printed, TTest, one_sample, required_sample_size

REPRODUCED, NOT_REPRODUCED, UNDECIDED, SCALED = "reproduced", "not reproduced", "undecided", "scaled"
NO_MARGIN = "not judged (no margin)"


@dataclass(frozen=True)
class PublishedVerdict:
    """The verdict on one cell.

    Args:
        more_seeds: how many more would probably decide; None where that cannot be told or nothing is open.
    """

    verdict: str
    more_seeds: int | None = None

    @property
    def is_judged(self) -> bool:
        return self.verdict in (REPRODUCED, NOT_REPRODUCED, UNDECIDED)

    def __str__(self) -> str:
        """Return the verdict as a table shows it."""
        if self.more_seeds is None:
            return self.verdict
        return f"{self.verdict} (about {amount(self.more_seeds, 'more seed')})"


def published_verdict(values: Mapping[int, float], printed: str, margin: float | None, scale: str) -> PublishedVerdict:
    """Judge a published number by our values.

    Args:
        values: seed -> final value of every finished run; that of a diverged run is not finite.
        printed: the number as the paper prints it, in the same unit ("72.2%" is the fraction 0.722).
        margin: declared before the runs, in that unit, above 0; None where none was.
        scale: smoke, cpu, desk or paper.
    Raises: UserError where the printed number is none.
    """
    if scale != PAPER or margin is None:
        return PublishedVerdict(NO_MARGIN if scale == PAPER else SCALED)
    region = Printed.of(printed).region(margin)
    sample = [value for _, value in sorted(values.items())]
    estimate = one_sample(sample)
    verdict = _verdict(sample, estimate, region)
    return PublishedVerdict(verdict, _more_seeds(estimate, region) if verdict == UNDECIDED else None)


def _verdict(sample: list[float], estimate: PointEstimate | None, region: Interval) -> str:
    if estimate is None:
        return UNDECIDED
    if not any(map(math.isfinite, sample)):  # `never` is reproduced by never, a number by no diverged run
        return REPRODUCED if region.low == math.inf and set(sample) == {math.inf} else NOT_REPRODUCED
    interval = estimate.confidence_interval(CONFIDENCE)
    if interval.inside(region):
        return REPRODUCED
    return NOT_REPRODUCED if interval.outside(region) else UNDECIDED


def _more_seeds(estimate: PointEstimate | None, region: Interval) -> int | None:
    """Return how many seeds are missing; one run does not tell, and neither do ranks."""
    if not isinstance(estimate, TTest):
        return None
    near, far = region.distances(estimate.value)
    wanted = required_sample_size(estimate.sd, near, CONFIDENCE, other=far)
    return None if wanted is None else max(1, wanted - estimate.n)
