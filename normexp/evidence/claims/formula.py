"""Laws: what was measured beside what a formula predicts, place by place, with a tolerance that follows from n.

A place is a point of the grid, and with `at: every` a step of the curve. At each of them the mean over the seeds of
measured minus predicted has a t interval; all of them together have 99 % (Bonferroni), so a law that is true is
contradicted once in a hundred grids. A law that is asymptotic allows the remainder that it states beyond that; an
identity has no interval, and every run is held to the rounding of its arithmetic.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from normexp.evidence.claims.estimands import Follows
from normexp.evidence.claims.fields import at_point
from normexp.evidence.claims.reading import Runs, runs_by_point
from normexp.evidence.claims.result import CONTRADICTED, HOLDS, UNDECIDED, TestResult
from normexp.evidence.claims.units import PERCENT, POINTS, UNNAMED
from normexp.evidence.curves import Curve, Curves
from normexp.evidence.reading import MissingRuns, value_at
from normexp.evidence.rounding import like_interval, number
from normexp.evidence.stats import Interval, t_interval

STEP = UNNAMED.step
OF_A_LAW = 0.01  # the level of its test, over all places together
Sample = list[tuple[float, float, float]]  # measured, predicted and remainder of every seed


@dataclass(frozen=True)
class Comparison:
    """The law at one place.

    Args:
        where: the point of the grid, and the step.
        measured, predicted: means over the seeds; of an identity those of the run furthest off.
        low, high: ends of the interval of measured minus predicted, of that run both the difference.
        remainder: by how much the law itself may be off there.
        n: number of seeds.
    """

    where: str
    measured: float
    predicted: float
    low: float
    high: float
    remainder: float
    n: int

    @property
    def departs(self) -> bool:
        """Whether the interval lies outside the remainder, on either side, by more than float64 rounds."""
        allowed = self.remainder + self._rounding
        return self.low > allowed or self.high < -allowed

    @property
    def _rounding(self) -> float:
        """How far two float64 numbers of this size may be apart that are the same: runs that agree have no spread."""
        return 4 * sys.float_info.epsilon * max(abs(self.measured), abs(self.predicted))

    @property
    def tolerance(self) -> float:
        """How far the mean may be from the formula without contradicting it."""
        return (self.high - self.low) / 2 + self.remainder

    @property
    def excess(self) -> float:
        """The departure in units of the tolerance: above 1 the law does not hold there."""
        distance = abs(self.low + self.high) / 2
        return _ratio(distance if self.tolerance or self.departs else 0.0, self.tolerance)

    def blurred(self, resolution: float) -> bool:
        """Tell whether the interval is so wide that it would hide a departure of this share of the prediction.

        Where nothing is predicted, of the remainder.
        """
        return not (self.high - self.low) / 2 <= resolution * (abs(self.predicted) or self.remainder)


def _ratio(distance: float, allowed: float) -> float:
    """Return how much of what is allowed a distance takes: more than anything where nothing is allowed."""
    return distance / allowed if allowed else math.inf if distance else 0.0


def follows(claim: Follows, curves: Curves, step: str = STEP, unit: str = "") -> TestResult:
    """Does the measurement follow the formula at every place?

    Contradicted where one interval misses the remainder; holds where none does and each is narrow enough to say so
    (`resolution`); undecided otherwise, and with fewer than two seeds, unless the law is an identity.

    Args:
        step: what a step of the curves is called.
        unit: of the metric; `%` of shares, which are fractions.
    """
    places = comparisons(claim, curves, step)
    settled = UNDECIDED if any(map(_unknown, places)) else HOLDS
    if settled == HOLDS and claim.rounding is None:
        settled = UNDECIDED if any(place.blurred(claim.resolution) for place in places) else HOLDS
    if any(place.departs for place in places):
        settled = CONTRADICTED
    return _result(claim, places, settled, unit)


def leaves(claim: Follows, curves: Curves, step: str = STEP, unit: str = "") -> TestResult:
    """Does the control, which breaks an assumption of the law, leave the formula at some place?"""
    opposite = {HOLDS: CONTRADICTED, CONTRADICTED: HOLDS, UNDECIDED: UNDECIDED}
    result = follows(claim, curves, step, unit)
    return replace(result, settled=opposite[result.settled])


def comparisons(claim: Follows, curves: Curves, step: str = STEP) -> list[Comparison]:
    """Return the law at every place of the grid. Raises MissingRuns where there is none."""
    samples = {
        where: sample
        for point, runs in runs_by_point(curves, claim.of).items()
        for where, sample in _samples(claim, runs, at_point(point), step)
        if _is_place(sample)
    }
    if not samples:
        raise MissingRuns(f"{claim.of} has no finished run with a {claim.formula}")
    confidence = 1 - OF_A_LAW / len(samples)
    return [_compared(claim, where.strip(), sample, confidence) for where, sample in samples.items()]


def _is_place(sample: Sample) -> bool:
    """Tell whether the law is about a place: whether the formula has a value in some run that did not diverge.

    Where all diverged that is not known, and the law is not known to hold.
    """
    predictions = [prediction for measured, prediction, _ in sample if measured != math.inf]
    return not predictions or not all(map(math.isnan, predictions))


def _samples(claim: Follows, runs: Runs, point: str, called: str) -> Iterator[tuple[str, Sample]]:
    every = sorted({int(step) for run in runs.values() for step in run.step})
    for step in every if claim.at == "every" else [None]:
        at = claim.at if step is None else f"step {step}"
        where = point + ("" if step is None else f" at {called.format(step)}")
        yield where, [_read(claim, run, at) for run in runs.values()]


def _read(claim: Follows, run: Curve, at: str) -> tuple[float, float, float]:
    def column(metric: str) -> float:
        return value_at(run, metric, at, None)

    measured = math.inf if run.diverged else column(claim.metric)
    allowed = claim.rounding if isinstance(claim.rounding, str) else claim.remainder
    return measured, column(claim.formula), column(allowed) if allowed else 0.0


def _compared(claim: Follows, where: str, sample: Sample, confidence: float) -> Comparison:
    if claim.rounding is not None:
        return _identity(claim, where, sample)
    measured, predicted, remainder = (fmean(column) for column in zip(*sample, strict=True))
    differences = [ours - formula for ours, formula, _ in sample]
    return _at(where, measured, predicted, t_interval(differences, confidence), remainder, len(sample))


def _off(claim: Follows, measured: float, predicted: float, rounding: float) -> tuple[float, float]:
    """Return by how much a run departs from an identity, and by how much its arithmetic may."""
    own = isinstance(claim.rounding, str)
    return measured - predicted, rounding if own else float(claim.rounding or 0) * (abs(predicted) or 1.0)


def _identity(claim: Follows, where: str, sample: Sample) -> Comparison:
    """Return the run that departs the most for its rounding: an identity is about every run, not about their mean."""
    off = [_off(claim, *run) for run in sample]
    if any(math.isnan(value) for run in off for value in run):
        measured, predicted, _ = (fmean(column) for column in zip(*sample, strict=True))
        return _at(where, measured, predicted, None, math.nan, len(sample))
    furthest = max(range(len(off)), key=lambda run: _ratio(abs(off[run][0]), off[run][1]))
    departure, rounding = off[furthest]
    measured, predicted, _ = sample[furthest]
    return _at(where, measured, predicted, Interval(departure, departure), rounding, len(sample))


def _at(where: str, measured: float, predicted: float, ends: Interval | None, remainder: float, n: int) -> Comparison:
    low, high = (ends.low, ends.high) if ends else (math.nan, math.nan)
    return Comparison(where, measured, predicted, low, high, remainder, n)


def _unknown(place: Comparison) -> bool:
    return math.isnan(place.low) or math.isinf(place.high - place.low)


def _result(claim: Follows, places: list[Comparison], settled: str, unit: str) -> TestResult:
    worst = max(places, key=lambda place: -math.inf if math.isnan(place.excess) else place.excess)
    among = f"{len(places)} places, " if len(places) > 1 else ""
    where = f" ({among}furthest {worst.where})" if among and worst.where else f" {worst.where}".rstrip()
    what = f"{claim.metric} of {claim.of} against {claim.formula}{where}: {_said(claim, worst, unit)}"
    details: Mapping[str, Any] = {
        "law": {**asdict(worst), "identity": claim.rounding is not None},
        "places": [asdict(place) for place in places],
    }
    few = claim.rounding is None and worst.n < 2
    note = "fewer than two seeds decide nothing" if few else ""
    return TestResult(what, worst.n, worst.measured, settled=settled, note=note, details=details)


def _said(claim: Follows, place: Comparison, unit: str) -> str:
    """Say what was measured, what is predicted, how far that is apart and how far it may be."""
    factor, of_value, of_difference = (100.0, f" {PERCENT}", f" {POINTS}") if unit == PERCENT else (1.0, "", "")
    measured, predicted, low, high, remainder = (
        factor * each for each in (place.measured, place.predicted, place.low, place.high, place.remainder)
    )
    if claim.rounding is not None or not math.isfinite(high - low):
        return (
            f"{number(measured)}{of_value}, formula {number(predicted)}{of_value}, off by at most "
            f"{_three_digits(max(abs(low), abs(high)))}{of_difference}, rounding {remainder:.2g}{of_difference}"
        )
    texts, power = like_interval(measured, predicted, (low + high) / 2, low, high)
    ours, formula, difference, *ends = (text + power for text in texts)
    order = f" ({claim.order})" if claim.order else ""
    allowed = f", remainder {remainder:.2g}{of_difference}{order}" if claim.remainder else ""
    interval = f"{100 * (1 - OF_A_LAW):.4g}% [{', '.join(ends)}]"
    return f"{ours}{of_value}, formula {formula}{of_value}, difference {difference}{of_difference}, {interval}{allowed}"


def _three_digits(value: float) -> str:
    """Write a distance: 111 as it is, 1.3e-12 with two digits."""
    return f"{value:.3g}" if 1e-3 <= value < math.inf else f"{value:.2g}"
