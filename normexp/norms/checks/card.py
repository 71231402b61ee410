"""All that is measured of one scheme, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.norms.base import Norm
from normexp.norms.checks.batch_dependence import depends_on_batch, train_eval_gap
from normexp.norms.checks.capabilities import capabilities
from normexp.norms.checks.gradient_factor import gradient_factor
from normexp.norms.checks.invariance import invariances
from normexp.norms.checks.memory import kept_relative_to_batch_norm
from normexp.norms.checks.size import Count, added_parameters, buffers


@dataclass(frozen=True)
class Card:
    """Measured properties of a scheme; every field's function says how.

    Args:
        invariances: change -> does the layer's output stay the same (invariance.py).
        gradient_factor: c times the ratio of the gradients at c W and at W; 1 where norm(c W x) = norm(W x).
        depends_in_training, depends_in_evaluation: on the other examples of the batch.
        gap: relative difference between training and evaluation on one batch.
        works: case of use -> `yes` or `no: why`.
        parameters, buffers: numbers that a block learns or keeps beyond its layer's weight and bias.
        cancels_bias: the layer's own bias is dropped.
        kept: bytes for backward beyond a plain block's; batch norm's are 1.
    """

    invariances: dict[str, bool]
    gradient_factor: float | None
    depends_in_training: bool
    depends_in_evaluation: bool
    gap: float
    works: dict[str, str]
    parameters: Count
    buffers: Count
    cancels_bias: bool
    kept: float


def measure(norm: Norm, *, backend: str = "aot_eager") -> Card:
    """Measure everything but time. `backend` is torch.compile's."""
    return Card(
        invariances(norm),
        gradient_factor(norm),
        depends_on_batch(norm, training=True),
        depends_on_batch(norm, training=False),
        train_eval_gap(norm),
        capabilities(norm, backend=backend),
        added_parameters(norm),
        buffers(norm),
        norm.cancels_bias,
        kept_relative_to_batch_norm(norm),
    )
