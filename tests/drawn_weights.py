"""The weights of a network as they were drawn, whatever a scheme makes of them."""

from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import weight_layers


def drawn_weight(layer: nn.Module) -> Tensor:
    """Return the tensor that a scheme computes the weight from, or the weight where the scheme only splits it."""
    if not parametrize.is_parametrized(layer, "weight"):
        return layer.weight.detach()
    return getattr(layer.parametrizations.weight, "original", layer.weight).detach()


def drawn_weights(net: nn.Module) -> list[Tensor]:
    return [drawn_weight(layer) for layer in weight_layers(net)]
