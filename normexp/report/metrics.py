"""What a metric is called, and how it is shown: its unit, its ends, whether a plot shows it unasked."""

from __future__ import annotations

import math
from collections.abc import Collection

from normexp.errors import unknown
from normexp.evidence.metrics import MEASURES, cost_sign, extremes, is_share

OF_TEST = tuple(name.replace("validation/", "test/") for name in MEASURES)  # by which nobody should choose


def title(metric: str) -> str:
    """Name a metric for people: test/accuracy -> test accuracy (%)."""
    return metric.replace("/", " ").replace("_", " ") + (" (%)" if is_share(metric) else "")


def drawn_unasked(known: Collection[str]) -> list[str]:
    """Return the metrics of which a plot shows the curves where none is named; none of a study, which has others."""
    result = [name for name in (*MEASURES, *OF_TEST) if name in known][:1]
    return [name for name in ("train/loss", *result) if name in known]


def factor(metric: str) -> float:
    """Return by what a metric is multiplied to be shown: shares are in percent."""
    return 100.0 if is_share(metric) else 1.0


def bad_end(metric: str) -> float:
    """Return minus or plus infinity, whichever end of an axis is the bad one; plus where the name does not tell."""
    return cost_sign(metric) * math.inf


def possible(metric: str) -> tuple[float, float]:
    """Return the smallest and the largest value that a metric can have, as it is shown: shares in percent."""
    low, high = extremes(metric)
    return factor(metric) * low, factor(metric) * high


def check_metric(metric: str, known: Collection[str]) -> None:
    """Raise UserError for a metric that no run has; of `accuracy` alone that of the validation split is meant."""
    measure = f"validation/{metric}"
    if metric not in known or measure in known:
        raise unknown("metric", metric, known, measure if measure in known else None)
