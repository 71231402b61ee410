"""Did a run learn anything? Finite is not learned: a network that answers one class for everything is finite, too.

So chance is the share of the most frequent class among the test examples, not one in so many classes.
"""

from __future__ import annotations

import math

from normexp.evidence.curves import Curve

ERRORS = 3.0  # standard errors above chance; a network at chance gets there in one run of seven hundred


def chance_bound(chance: float, examples: int) -> float:
    """Return the accuracy above which a run has learned: chance and three standard errors of such a share."""
    return chance + ERRORS * math.sqrt(chance * (1 - chance) / examples)


def learned(curve: Curve) -> bool | None:
    """Tell whether the accuracy at a run's last evaluation is above chance by more than three standard errors.

    It is that of the test split; of the training split where labels of it were drawn anew: those are what it was given.

    A run that diverged has not learned. None where chance or the number of examples is not known.
    """
    split = curve.made.learns
    values, examples = curve.columns.get(f"{split}/accuracy"), curve.made.examples.get(split, 0)
    if not curve.made.chance or not examples or values is None or not len(values):
        return None
    return not curve.diverged and bool(values[-1] > chance_bound(curve.made.chance, examples))
