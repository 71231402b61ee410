"""What probes look at in any network, by the names that readers find: module paths and parameter names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import free_weight, weight_layers

NONLINEARITIES = (nn.Sigmoid, nn.Tanh, nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.ReLU6, nn.Hardswish)


def nonlinearities(model: nn.Module) -> dict[str, nn.Module]:
    """Return {`nonlinearity N`: module}, from 1 in the order of the network: the same name under every scheme."""
    found = [module for module in model.modules() if isinstance(module, NONLINEARITIES)]
    return {f"nonlinearity {index}": module for index, module in enumerate(found, start=1)}


def layers(model: nn.Module) -> dict[str, nn.Module]:
    """Return {module path: layer} for every Linear and Conv layer."""
    kept = set(weight_layers(model))
    return {path: module for path, module in model.named_modules() if module in kept}


def channel_dim(module: nn.Module) -> int:
    """Return the dimension of a module's channels: the last one where its first layer is Linear, else 1."""
    return -1 if isinstance(next(iter(weight_layers(module)), None), nn.Linear) else 1


def blocks(model: nn.Module) -> dict[str, nn.Module]:
    """Return {module path: block} where a block is one layer and what the network puts behind it.

    That is, an nn.Sequential of which the first part is its only Linear or Conv layer (normalization and
    nonlinearity follow), or else the layer alone.
    """
    found: dict[str, nn.Module] = {}
    inside: set[nn.Module] = set()
    for path, module in model.named_modules():
        own = weight_layers(module)
        begins = isinstance(module, nn.Sequential) and len(own) == 1 and module[0] is own[0]
        if path and not inside & set(own) and (begins or own == [module]):
            found[path] = module
            inside |= set(own)
    return found


@dataclass(frozen=True)
class Weight:
    """One weight and the dimension that runs over its layer's output units.

    Args:
        groups: of a transposed convolution, whose output units are spread over them.
    """

    value: Tensor
    dim: int
    groups: int = 1

    @property
    def units(self) -> Tensor:
        """The weight as one float64 row per output unit, on the CPU (Apple's devices have no float64)."""
        return self.rows(self.value)

    def rows(self, value: Tensor) -> Tensor:
        """Return the weight, or its gradient, as a matrix (units, all that enters one) in float64 on the CPU."""
        value = value.detach()
        parts = (torch.view_as_real(value) if value.is_complex() else value).chunk(self.groups)
        return torch.cat([part.movedim(self.dim, 0).flatten(1) for part in parts]).cpu().double()


def weight_of(layer: nn.Module, value: Any) -> Weight:
    """Return a layer's weight, or the parameter behind it, with where its output units are."""
    if isinstance(layer, nn.modules.conv._ConvTransposeNd):
        return Weight(value, 1, layer.groups)
    return Weight(value, 0)


def weights(model: nn.Module) -> dict[str, Weight]:
    """Return {`PATH.weight`: weight} as every Linear and Conv layer uses it."""
    found: dict[str, Any] = layers(model)
    return {f"{path}.weight": weight_of(layer, layer.weight) for path, layer in found.items()}


def free_weights(model: nn.Module) -> dict[str, Weight]:
    """Return {parameter name: weight} as the optimizer moves it: W, or v of a weight-normalized layer."""
    return {
        ".".join((path, name)): weight_of(layer, parameter)
        for path, layer in layers(model).items()
        for name, parameter in [free_weight(layer)]
    }
