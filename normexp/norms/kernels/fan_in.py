"""The weights that enter an output unit: parametrizations that treat them alike, and what they need."""

from __future__ import annotations

from torch import Tensor, nn

from normexp.norms.base import num_outputs, output_dim


class UnitWeights(nn.Module):
    """A parametrization per output unit, the dimension of which in the weight is `dim`."""

    gains_from_compile = "vectors"  # the weights of Linear layers; a convolution takes longer than its kernel's

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def right_inverse(self, weight: Tensor) -> Tensor:
        """Take a new weight as it is."""
        return weight


def entering(weight: Tensor, dim: int) -> list[int]:
    """Return the dimensions of what enters an output unit; `dim` is that of the units."""
    return [other for other in range(weight.dim()) if other != dim]


def one_per_unit(layer: nn.Module, start: float) -> nn.Parameter:
    """Return a learned number per output unit, which starts at `start`, in a weight's number of dimensions."""
    weight, units = layer.weight, output_dim(layer)
    assert isinstance(weight, Tensor)
    shape = [num_outputs(layer) if dim == units else 1 for dim in range(weight.dim())]
    return nn.Parameter(weight.new_full(shape, start))


def check_several(layer: nn.Module) -> None:
    """Raise ValueError for a layer with a single weight per output unit, which has no deviation."""
    assert isinstance(layer.weight, Tensor)
    if layer.weight.numel() == num_outputs(layer):
        raise ValueError(f"weight standardization needs more than one weight per output unit, not {layer}")
