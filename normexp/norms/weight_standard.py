"""Weight standardization."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm, output_dim
from normexp.norms.kernels.fan_in import UnitWeights, check_several, entering
from normexp.norms.kernels.spread import std_mean
from normexp.norms.options import one_of, positive


class StandardWeight(UnitWeights):
    """Parametrization W -> (W - mean) / (std + eps) over all that enters one output unit."""

    def __init__(self, dim: int, correction: int, eps: float) -> None:
        super().__init__(dim)
        self.correction, self.eps = correction, eps

    def forward(self, weight: Tensor) -> Tensor:
        std, mean = std_mean(weight, entering(weight, self.dim), self.correction)
        return (weight - mean) / (std + self.eps)


@dataclass(frozen=True, kw_only=True)
class WeightStandardization(Norm):
    """Each output unit's weights with mean 0 and standard deviation 1; meant to be stacked with group norm.

    w = (W - mean) / (std + eps), over all that enters one output unit or channel, with gradients through mean
    and std. Nothing depends on the batch: training equals evaluation. `parametrizations.weight.original` is W.

    Args:
        std: `unbiased` divides by n - 1 as the authors' PyTorch code, `biased` by n as their TensorFlow code.
        eps: added to the standard deviation, outside the root.
        placement: no effect, nothing is done to activations.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: for a layer with a single weight per output unit; for a transposed convolution in several
            groups.

    Source: Qiao, Wang, Liu, Shen & Yuille 2019, arXiv:1903.10520; std and eps as in the authors' code.
    Differs: Linear layers are standardized too, there convolutions alone. The outputs have a variance of the
    order of the fan-in, so a deep network needs a normalization of its activations (`stack`).
    """

    std: str = one_of("unbiased", "biased")
    eps: float = positive(1e-5)

    def parametrize(self, layer: nn.Module) -> nn.Module:
        dim = output_dim(layer)
        check_several(layer)
        step = StandardWeight(dim, int(self.std == "unbiased"), self.eps)
        return parametrize.register_parametrization(layer, "weight", step)
