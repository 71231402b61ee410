"""What a finished run scored: the last value of a metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

from normexp.errors import UserError
from normexp.records.names import METRICS
from normexp.records.run import RunDirectory


def final_score(run: RunDirectory, metric: str) -> float | None:
    """Return a finished run's last value of a metric; None if it diverged, or the value is missing or not finite.

    Raises: UserError for a metric that the run does not have.
    """
    if run.status["status"] == "diverged":
        return None
    rows = run.rows(METRICS)
    if not rows or metric not in rows[0]:
        raise UserError(f"{run.path}: has no {metric}; it has {', '.join(rows[0] if rows else [])}")
    score = float(rows[-1][metric] or "nan")
    return score if math.isfinite(score) else None


def mean_score(scores: Sequence[float | None]) -> float | None:
    """Return the mean over the runs of a trial; None where one of them has no score."""
    there = [score for score in scores if score is not None]
    return sum(there) / len(there) if len(there) == len(scores) else None
