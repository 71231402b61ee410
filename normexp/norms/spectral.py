"""Spectral normalization."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm, output_dim
from normexp.norms.kernels.fan_in import UnitWeights
from normexp.norms.kernels.power_iteration import WARM_UP, as_matrix, first_vector, power_step, singular_value
from normexp.norms.options import at_least, positive


class UnitSpectralNorm(UnitWeights):
    """Parametrization W -> W / sigma with a persistent estimate `u` of the leading left singular vector."""

    u: Tensor

    def __init__(self, weight: Tensor, dim: int, steps: int, eps: float) -> None:
        super().__init__(dim)
        self.steps, self.eps = steps, eps
        self.register_buffer("u", first_vector(as_matrix(weight.detach(), dim)))

    def forward(self, weight: Tensor) -> Tensor:
        matrix = as_matrix(weight, self.dim)
        u, v = power_step(matrix, self.u, self.eps, self.steps)
        if self.training:
            self.u.copy_(u)
        return weight / singular_value(matrix, u, v)

    def right_inverse(self, weight: Tensor) -> Tensor:
        """Take a new weight: the old estimate says nothing of its singular vectors."""
        self.u.copy_(power_step(as_matrix(weight, self.dim), self.u, self.eps, WARM_UP)[0])
        return weight


@dataclass(frozen=True, kw_only=True)
class SpectralNorm(Norm):
    """Each layer's weight matrix divided by its largest singular value.

    w = W / sigma, sigma = u W v, by power iteration: v = W^T u / ||W^T u||, u = W v / ||W v||; a convolution's
    kernel is the matrix (output channels, all that enters one). u and v are constants in the gradient.
    Training makes one such step whenever the weight is used and keeps u; evaluation makes it too, but keeps
    the old u. Nothing depends on the batch. `parametrizations.weight.original` is W, `weight.0.u` is u.

    Args:
        n_power_iterations: steps of the power iteration per forward pass.
        eps: least length by which u and v are divided.
        placement: no effect, nothing is done to activations.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: for a transposed convolution in several groups.

    Source: Miyato, Kataoka, Koyama & Yoshida 2018, arXiv:1802.05957, algorithm 1; eps and the
    shape of convolutions as in the authors' code.
    Differs: u starts as normal numbers, as there, the same ones in every network, and then makes 15 steps on the
    initial weight, so that the first forward pass has a norm near 1. torch's own spectral_norm evaluates with the last
    training step's u and v.
    """

    n_power_iterations: int = at_least(1, 1)
    eps: float = positive(1e-12)

    def parametrize(self, layer: nn.Module) -> nn.Module:
        assert isinstance(layer.weight, Tensor)
        step = UnitSpectralNorm(layer.weight, output_dim(layer), self.n_power_iterations, self.eps)
        return parametrize.register_parametrization(layer, "weight", step)
