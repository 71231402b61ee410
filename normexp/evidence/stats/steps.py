"""Steps to a target, with `never` as a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NEVER = math.inf


@dataclass(frozen=True)
class Steps:
    """After how many steps a run first met its target.

    Args:
        step: of the first evaluation that met it; NEVER where none did; NaN where the target itself is unknown.
        watched: the last step at which it was looked for. A run that merely ended may meet it later; one that
            diverged never does (inf).
        before: of the last evaluation that did not meet it; None where none is known of.
    """

    step: float
    watched: float = math.inf
    before: float | None = None

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
    for step, value in zip(steps, values, strict=True):
        if _meets(value, target, larger_is_better):
            return Steps(float(step), math.inf if diverged else float(max(steps)), before)
        before = float(step)
    return Steps(NEVER, math.inf if diverged else float(max(steps, default=0)), before)


def _meets(value: float, target: float, larger_is_better: bool) -> bool:
    return bool(value >= target if larger_is_better else value <= target)
