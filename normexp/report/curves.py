"""One arm's curve: mean and standard deviation over its seeds at every step, and where runs diverged."""

from __future__ import annotations

import math
from dataclasses import dataclass

from normexp.evidence.stats import mean, standard_deviation
from normexp.report.measurements import is_share
from normexp.report.select import Arm, Run


@dataclass(frozen=True)
class Point:
    """The seeds of one arm at one step; `spread` is NaN where fewer than two seeds are left.

    Args:
        reach: the lowest and the highest seed.
    """

    step: int
    mean: float
    spread: float
    reach: tuple[float, float]

    @property
    def deviation(self) -> tuple[float, float]:
        """Mean - sd and mean + sd."""
        return self.mean - self.spread, self.mean + self.spread


@dataclass(frozen=True)
class Mark:
    """Where a diverged run was last finite; the value is None where it never was (`step` is then its end)."""

    step: int
    value: float | None


@dataclass(frozen=True)
class Curve:
    """One line of a panel, in the unit of the axis (accuracy in percent).

    Args:
        text: what the line is called: the arm, and how many of its runs converged where not all did.
        top: the largest value of a converged run, or of any run where none converged.
    """

    arm: Arm
    text: str
    points: tuple[Point, ...]
    marks: tuple[Mark, ...]
    top: float


def curve(arm: Arm, metric: str, text: str) -> Curve | None:
    """Return the arm's curve, or None where its runs do not have the metric."""
    if not any(metric in run.metrics for run in arm.runs):
        return None
    values = {run: _values(run, metric) for run in arm.runs}
    marks = tuple(_mark(run, values[run]) for run in arm.runs if not run.converged)
    reference = [values[run] for run in arm.converged] or list(values.values())
    finite = [value for of_run in reference for value in of_run.values() if math.isfinite(value)]
    return Curve(arm, text, _points(list(values.values())), marks, max(finite, default=math.nan))


def _values(run: Run, metric: str) -> dict[int, float]:
    """Return step -> value; a step without a value (no training before step 0) is left out."""
    scale = 100.0 if is_share(metric) else 1.0
    rows = zip(run.metrics["step"], run.metrics.get(metric, []), strict=False)
    return {int(step): scale * value for step, value in rows if not math.isnan(value)}


def _points(runs: list[dict[int, float]]) -> tuple[Point, ...]:
    """Return the mean at each step over the runs that got that far.

    A diverged run counts up to its end and is not continued. A step counts only where every run that got that
    far was evaluated: seeds evaluated at other steps would make the mean jump between subsets of them.
    """
    ends = [(run, max(run)) for run in runs if run]
    points = []
    for step in sorted({step for run, _ in ends for step in run}):
        alive = [run for run, end in ends if end >= step]
        if all(step in run for run in alive):
            values = [run[step] for run in alive]
            points.append(Point(step, mean(values), standard_deviation(values), (min(values), max(values))))
    return tuple(points)


def _mark(run: Run, values: dict[int, float]) -> Mark:
    finite = [step for step, value in values.items() if math.isfinite(value)]
    if finite:
        return Mark(max(finite), values[max(finite)])
    return Mark(int(run.status.get("step", 0)), None)
