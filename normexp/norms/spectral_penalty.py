"""Spectral norm regularization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, output_dim, weight_layers
from normexp.norms.kernels.power_iteration import as_matrix, first_vector, power_step, singular_value
from normexp.norms.options import positive

BUFFER = "singular_vector"  # on the layer itself: saved, moved and resumed with it


@dataclass(frozen=True, kw_only=True)
class SpectralPenalty(Norm):
    """A penalty on the largest singular value of every weight matrix; the network itself stays as it is.

    loss + (strength / 2) sum_l sigma(W_l)^2 with sigma = u W v by power iteration, whose gradient is strength
    sigma u v^T; a convolution's kernel is the matrix (output channels, all that enters one). Every call in
    training makes one step of the iteration and keeps u; a call in evaluation mode keeps the old u.

    Args:
        strength: the paper's lambda.
        eps: least length by which u and v are divided.
        placement: no effect, nothing is done to activations.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: for a transposed convolution in several groups.

    Source: Yoshida & Miyato 2017, arXiv:1705.10941, the objective and its algorithm. lambda,
    the single step and the shape of convolutions were not compared with theirs.
    Differs: the output layer is penalized with model.normalize_output=true only, as under every scheme. In a network
    that is converted, weights of no Linear or Conv layer (attention's in_proj, recurrent, Bilinear) are not penalized.
    """

    strength: float = positive(0.01)
    eps: float = positive(1e-12)

    def parametrize(self, layer: nn.Module) -> nn.Module:
        assert isinstance(layer.weight, Tensor)
        layer.register_buffer(BUFFER, first_vector(as_matrix(layer.weight.detach(), output_dim(layer))))
        return layer

    def penalty(self, model: nn.Module) -> Tensor | None:
        layers = [layer for layer in weight_layers(model) if BUFFER in layer._buffers]
        squares = [self._sigma(layer).square() for layer in layers]
        return self.strength / 2 * torch.stack(squares).sum() if squares else None

    def _sigma(self, layer: nn.Module) -> Tensor:
        weight, old = layer.weight, layer.get_buffer(BUFFER)
        assert isinstance(weight, Tensor)
        matrix = as_matrix(weight, output_dim(layer))
        u, v = power_step(matrix, old, self.eps)
        if layer.training:
            old.copy_(u)
        return singular_value(matrix, u, v)
