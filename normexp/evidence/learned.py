"""Did a run learn anything? Finite is not learned: a network that answers one class for everything is finite, too."""

from __future__ import annotations

import math

from normexp.evidence.curves import Curve

ERRORS = 3.0  # standard errors above chance; a network at chance gets there in one run of seven hundred


def chance_bound(classes: int, examples: int) -> float:
    """Return the accuracy above which a run has learned: 1 of the classes and three standard errors of that share."""
    chance = 1 / classes
    return chance + ERRORS * math.sqrt(chance * (1 - chance) / examples)


def learned(curve: Curve) -> bool | None:
    """Tell whether the test accuracy at a run's last evaluation is above chance by more than three standard errors.

    A run that diverged has not learned. None where the number of classes or of examples is not known.
    """
    values = curve.columns.get("test/accuracy")
    examples = curve.made.examples.get("test", 0)
    if not curve.made.classes or not examples or values is None or not len(values):
        return None
    return not curve.diverged and bool(values[-1] > chance_bound(curve.made.classes, examples))
