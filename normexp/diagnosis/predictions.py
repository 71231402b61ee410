"""What a network does in eval() that no layer of its own shows: predictions that are random, or that need a batch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from normexp.diagnosis.batches import first_tensor
from normexp.diagnosis.finding import BATCH, Finding
from normexp.diagnosis.modes import change
from normexp.norms.networks.trial import left_as_found

ROUNDING = 0.01  # the least relative change that is none of rounding, as of TF32; of shorter formats more
FEW = 2  # examples that are predicted without the others


@torch.no_grad()
def of_predictions(model: nn.Module, x: Tensor, known: bool) -> Iterator[Finding]:
    """Yield a fault where eval() gives other outputs for the same examples; nothing of outputs that are not finite.

    Args:
        known: a layer was named already that mixes the examples of a batch.
    """
    with left_as_found(model, x.device):
        model.eval()
        usual, again = first_tensor(model(x)), first_tensor(model(x))
        alone = None if known else _alone(model, x)
    if not usual.isfinite().all():
        return
    limit = max(ROUNDING, torch.finfo(usual.dtype).eps ** 0.5) if usual.is_floating_point() else 0.0
    if (off := change(again, usual)) > limit:
        text = f"eval() gives other outputs each time, by {off:.2g} of them; F.dropout needs training=self.training"
        yield Finding("random", "", text)
    elif alone is not None and alone.shape[1:] == usual.shape[1:] and (off := change(alone, usual[:FEW])) > limit:
        told = f"outputs of {FEW} examples without the others of their batch are others, by {off:.2g} of them"
        yield Finding(BATCH, "", f"{told}; F.batch_norm needs training=self.training, and axis 0 has to be the batch")


def _alone(model: nn.Module, x: Tensor) -> Tensor | None:
    """Return the outputs of a few examples; None where they are all, or cannot be called so."""
    if len(x) <= FEW:
        return None
    try:
        output = first_tensor(model(x[:FEW]))
    except Exception:  # somebody's own code may raise any
        return None
    return output if output.dim() and len(output) == FEW else None
