"""Whether two combinations of a choice lie within noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from normexp.evidence.stats import TTest, paired
from normexp.experiments.experiment import Experiment
from normexp.experiments.trials import Trial, goodness

if TYPE_CHECKING:
    from normexp.experiments.grids import Selection


def noise_is_unknown(select: Selection) -> bool:
    """Tell whether choices are made by the loss of one seed, which does not say how much a loss varies."""
    return len(select.seeds) == 1 and not select.highest


def images_of(experiment: Experiment, select: Selection) -> int | None:
    """Return of how many validation images an accuracy is the share; None of a loss, and where no number is set."""
    images = {**experiment.common, **select.common}.get("dataset.validation")
    return images if select.highest and isinstance(images, int) and images > 0 else None


def within_noise(first: Trial, second: Trial, experiment: Experiment, select: Selection) -> bool:
    """Tell whether two trials, of which the first is no worse, are no further apart than noise.

    Noise of an accuracy is the standard error of a difference of two shares of the validation images; with several
    seeds, that the 95 % interval of the paired difference holds 0. One without a score is apart from all others.
    """
    if first["mean"] is None or second["mean"] is None:
        return False
    difference = paired(dict(enumerate(first["scores"])), dict(enumerate(second["scores"])))
    if isinstance(difference, TTest):
        return 0.0 in difference.confidence_interval()
    if (images := images_of(experiment, select)) is None:
        return goodness(first, select) == goodness(second, select)
    share = min(1 - 1 / images, max(1 / images, first["mean"]))  # 1 of all images is known to one of them
    return bool(first["mean"] - second["mean"] < 2 * math.sqrt(2 * share * (1 - share) / images))


def best_two_within_noise(last: Sequence[Trial], experiment: Experiment, select: Selection) -> bool:
    """Tell whether the best two of a record's trials are no further apart than noise; of equals the first are taken."""
    order = sorted(last, key=lambda trial: -goodness(trial, select))
    return len(order) > 1 and within_noise(order[0], order[1], experiment, select)
