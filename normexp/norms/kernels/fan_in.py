"""The weights that enter an output unit: standardized, there must be several."""

from __future__ import annotations

from torch import Tensor, nn

from normexp.norms.base import num_outputs


def check_several(layer: nn.Module) -> None:
    """Raise ValueError for a layer with a single weight per output unit, which has no deviation."""
    assert isinstance(layer.weight, Tensor)
    if layer.weight.numel() == num_outputs(layer):
        raise ValueError(f"weight standardization needs more than one weight per output unit, not {layer}")
