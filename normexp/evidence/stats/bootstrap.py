"""Bootstrap intervals, for a statistic that has no formula. With fewer than about ten seeds they are too narrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from normexp.errors import UserError
from normexp.evidence.stats.interval import EVERYTHING, Interval

Floats = npt.NDArray[np.float64]
METHODS = ("bca", "percentile")


def bootstrap_interval(
    values: Sequence[float],
    statistic: Callable[[Floats], float] = lambda sample: float(np.mean(sample)),
    confidence: float = 0.95,
    method: str = "bca",
    resamples: int = 9999,
    seed: int = 0,
) -> Interval | None:
    """Return the interval of a statistic; None for fewer than two values. The seed alone decides what is drawn.

    Everything where the statistic is not finite on the sample or on a resample.
    Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", sections 13.3 (percentile) and 14.3 (BCa).
    """
    if method not in METHODS:
        raise UserError(f"bootstrap method {method!r} does not exist; allowed: {', '.join(METHODS)}")
    if len(values) < 2:
        return None
    sample = np.asarray(values, dtype=np.float64)
    draws = _draws(sample, statistic, resamples, seed)
    if not np.isfinite(draws).all():
        return EVERYTHING
    levels = ((1 - confidence) / 2, (1 + confidence) / 2)
    levels = _corrected(levels, draws, sample, statistic) if method == "bca" else levels
    low, high = np.quantile(draws, levels)
    return Interval(float(low), float(high))


def _draws(sample: Floats, statistic: Callable[[Floats], float], resamples: int, seed: int) -> Floats:
    """Return the statistic of every resample, after that of the sample itself."""
    if not np.isfinite(sample).all():
        return np.array([math.nan])
    picked = np.random.default_rng(seed).integers(len(sample), size=(resamples, len(sample)))
    return np.array([statistic(sample), *(statistic(sample[row]) for row in picked)])


def _corrected(
    levels: tuple[float, float], draws: Floats, sample: Floats, statistic: Callable[[Floats], float]
) -> tuple[float, float]:
    """Return the levels corrected for median bias and for a spread that depends on the value (equation 14.10)."""
    from scipy.special import ndtr, ndtri

    below = np.mean(draws[1:] < draws[0]) + np.mean(draws[1:] == draws[0]) / 2
    if not 0 < below < 1:  # the statistic never varies to one side: there is nothing to correct by
        return levels
    bias, acceleration = float(ndtri(below)), _acceleration(sample, statistic)
    shifted = [bias + float(ndtri(level)) for level in levels]
    low, high = (float(ndtr(bias + each / (1 - acceleration * each))) for each in shifted)
    return low, high


def _acceleration(sample: Floats, statistic: Callable[[Floats], float]) -> float:
    """Return the acceleration by the jackknife (equation 14.15)."""
    left_out = np.array([statistic(np.delete(sample, i)) for i in range(len(sample))])
    deviation = left_out.mean() - left_out
    scale = 6 * float((deviation**2).sum()) ** 1.5
    return float((deviation**3).sum()) / scale if scale > 0 else 0.0
