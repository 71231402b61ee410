"""Which of several settings is best: one order for choices, for `normexp best` and for sensitivities."""

from __future__ import annotations

from collections.abc import Sequence

from normexp.evidence.stats import without_last_bits

Rank = tuple[float, float, Sequence[float]]


def rank_of(cost: float, loss: float, values: Sequence[float]) -> Rank:
    """Return by what settings are ordered, the best first: the cost, of equals the lower loss, then smaller values.

    Args:
        cost: mean over the seeds of a metric times its `cost_sign`; infinite where a run diverged.
        loss: mean of `loss_beside` the metric; infinite where there is none.
        values: of the hyperparameters.
    """
    return without_last_bits(cost), without_last_bits(loss), values


def loss_beside(metric: str) -> str:
    """Return the loss on the split of a metric."""
    return f"{metric.rpartition('/')[0]}/loss"
