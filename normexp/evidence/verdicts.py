"""Verdicts on published numbers: does our interval lie within the declared margin of what was printed?

    reproduced       the 95 % interval of our mean lies inside the margin, rounding of the printed number included
    not reproduced   it lies outside, on either side: too good is not reproduced either; or no run stayed finite
    undecided        neither; with the number of seeds that would probably decide
    scaled           our runs are not at the paper's scale, so they neither confirm nor refute it

A paper's number is often one run of its own, whose spread nobody knows; the margin has to allow for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from normexp.errors import UserError
from normexp.evidence.stats import Interval, PointEstimate, Printed, TTest, one_sample, required_sample_size

REPRODUCED, NOT_REPRODUCED, UNDECIDED, SCALED = "reproduced", "not reproduced", "undecided", "scaled"
PAPER = "paper"  # the scale at which a number can be judged


@dataclass(frozen=True)
class PublishedVerdict:
    """The verdict on one cell.

    Args:
        evidence: one line: what was printed, our estimate and interval, n.
        estimate, interval: of our mean (of our median where runs diverged or coincide), in the unit of the values.
        n: number of finished runs, diverged ones included.
        more_seeds: how many more would probably decide; None where that cannot be told or nothing is open.
    """

    verdict: str
    evidence: str
    estimate: float | None
    interval: Interval | None
    n: int
    more_seeds: int | None = None

    def __str__(self) -> str:
        """Return the verdict as a table shows it."""
        if self.more_seeds is None:
            return self.verdict
        return f"{self.verdict} (about {self.more_seeds} more seed{'s' if self.more_seeds > 1 else ''})"


def published_verdict(
    values: Mapping[int, float], printed: str, margin: float, scale: str, confidence: float = 0.95
) -> PublishedVerdict:
    """Judge a published number by our values.

    Args:
        values: seed -> final value of every finished run; that of a diverged run is not finite.
        printed: the number as the paper prints it, in the same unit ("72.2%" is the fraction 0.722).
        margin: declared before the runs, in that unit, at least 0.
        scale: smoke, cpu or paper.
    Raises: UserError where the printed number or the margin is none.
    """
    number, margin = Printed.of(printed), _checked(margin)
    sample = [value for _, value in sorted(values.items())]
    estimate, region = one_sample(sample), number.region(margin)
    evidence = _evidence(number, margin, sample, estimate, confidence)
    verdict = _verdict(sample, estimate, region, confidence) if scale == PAPER else SCALED
    more = _more_seeds(estimate, region, confidence) if verdict == UNDECIDED else None
    interval = estimate.confidence_interval(confidence) if estimate else None
    centre = estimate.value if estimate else sample[0] if sample else None
    return PublishedVerdict(verdict, evidence, centre, interval, len(sample), more)


def _checked(margin: float) -> float:
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < math.inf:
        raise UserError(f"margin {margin!r} is not a number of at least 0; declare how near is near enough")
    return float(margin)


def _verdict(sample: list[float], estimate: PointEstimate | None, region: Interval, confidence: float) -> str:
    if estimate is None:
        return UNDECIDED
    if not any(map(math.isfinite, sample)):  # `never` is reproduced by never, a number by no diverged run
        return REPRODUCED if region.low == math.inf and set(sample) == {math.inf} else NOT_REPRODUCED
    interval = estimate.confidence_interval(confidence)
    if interval.inside(region):
        return REPRODUCED
    return NOT_REPRODUCED if interval.outside(region) else UNDECIDED


def _more_seeds(estimate: PointEstimate | None, region: Interval, confidence: float) -> int | None:
    """Return how many seeds are missing; one run does not tell, and neither do ranks."""
    if not isinstance(estimate, TTest):
        return None
    distance = min(abs(estimate.value - region.low), abs(estimate.value - region.high))
    wanted = required_sample_size(estimate.sd, distance, confidence)
    return None if wanted is None else max(1, wanted - estimate.n)


def _evidence(
    number: Printed, margin: float, sample: list[float], estimate: PointEstimate | None, confidence: float
) -> str:
    finite = sum(map(math.isfinite, sample))
    counts = f"n={len(sample)}" + ("" if finite == len(sample) else f", {finite}/{len(sample)} finite")
    wanted = f"printed {number.text}, margin {margin:.4g}"
    if estimate is None:
        ours = f"{sample[0]:.4g}" if sample else "no run"
        return f"{wanted}; ours {ours}, {counts}: fewer than two runs decide nothing"
    kind = "mean" if isinstance(estimate, TTest) else "median"
    interval = estimate.confidence_interval(confidence)
    return f"{wanted}; ours {kind} {estimate.value:.4g}, {confidence:.0%} {interval}, {counts}"
