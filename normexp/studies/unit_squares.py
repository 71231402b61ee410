"""Whether a scheme gives every unit the mean square 1 over the batch, which laws of batch normalization rest on."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.probes.scale_free import TOLERANCE


@torch.no_grad()
def check_unit_squares(normalization: nn.Module, x: Tensor, who: str, control: bool) -> None:
    """Raise UserError, which names the layer, where the law of a study does not apply to what a scheme makes of x.

    Args:
        normalization: the scheme's part behind the first layer, in training.
        x: pre-activations (N, C).
        who: the study and the scheme: `study=orthogonal_depth norm=layer`.
        control: whether the study has the key `control`, by which it measures all the same.
    """
    squares = normalization(x).square().mean(0)
    if (squares - 1).abs().max() > TOLERANCE:
        told = f"over the batch its units have mean squares from {squares.min():.2g} to {squares.max():.2g}, not 1"
        way_out = "use norm=batch" + (", or measure a control with study.control=true" if control else "")
        raise UserError(f"{who}: the law does not apply: behind layer 1 {told}; {way_out}")
