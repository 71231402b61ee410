"""Steps to a target, with `never` as a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

NEVER = math.inf


@dataclass(frozen=True)
class Steps:
    """After how many steps a run first met its target.

    Args:
        step: of the first evaluation that met it; NEVER where none did; NaN where the target itself is unknown.
        watched: the last step at which it was looked for. A run that merely ended may meet it later; one that
            diverged never does (inf).
        before: of the last evaluation that did not meet it; None where none is known of.
        evaluations: at which it was looked for, the one that met it included; empty where they are not known.
    """

    step: float
    watched: float = math.inf
    before: float | None = None
    evaluations: tuple[float, ...] = field(default=(), repr=False, compare=False)

    @property
    def reached(self) -> bool:
        return math.isfinite(self.step)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most steps to the evaluation that meets it."""
        if math.isnan(self.step):
            return 0.0, math.inf
        return (self.step, self.step) if self.reached else (self.watched + 1, math.inf)

    @property
    def update_bounds(self) -> tuple[float, float]:
        """The least and the most updates after which it is met: nobody looked between two evaluations."""
        low, high = self.bounds
        return (self.before + 1 if self.reached and self.before is not None else low), high


def steps_to_target(
    steps: Sequence[float], values: Sequence[float], target: float, larger_is_better: bool, diverged: bool = False
) -> Steps:
    """Return when the values first are at least (or at most) the target.

    A value that is NaN never meets it. A run without evaluations never did, and was watched for 0 steps.
    """
    if math.isnan(target):
        return Steps(math.nan)
    before = 0.0 if len(steps) and steps[0] > 0 else None
    for number, (step, value) in enumerate(zip(steps, values, strict=True)):
        if _meets(value, target, larger_is_better):
            return Steps(float(step), math.inf if diverged else float(max(steps)), before, tuple(steps[: number + 1]))
        before = float(step)
    return Steps(NEVER, math.inf if diverged else float(max(steps, default=0)), before, tuple(steps))


def longest_watched(runs: Iterable[Steps]) -> float | None:
    """Return for how long the runs that merely ended were watched, the longest of them; None where there are none."""
    return max((run.watched for run in runs if math.isfinite(run.watched)), default=None)


def same_evaluations(runs: Iterable[Steps]) -> bool:
    """Tell whether all runs were evaluated at the same steps, as far as each was."""
    known = [run.evaluations for run in runs]
    longest = max(known, key=len, default=())
    return all(each == longest[: len(each)] for each in known)


def _meets(value: float, target: float, larger_is_better: bool) -> bool:
    return bool(value >= target if larger_is_better else value <= target)
