"""What a module is in evaluation, if it is an affine map per channel, found by calling it."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

FAR = 2.0**20  # far from 0, so that the slope of a map with a large shift is exact


def affine_map(module: nn.Module, shape: tuple[int, ...]) -> tuple[Tensor, Tensor] | None:
    """Return scale and shift per channel, in float64, if the module is that map in evaluation; else None.

    The same map for another number of examples and of positions.

    Args:
        shape: of one example, channels first.
    """
    exact = copy.deepcopy(module).double().eval()
    small, large = (4, *shape), (3, shape[0], *(size + 5 for size in shape[1:]))
    found, again = _map_of(exact, small), _map_of(exact, large)
    return found if found and again and all(map(_close, found, again)) else None


def _map_of(exact: nn.Module, shape: tuple[int, ...]) -> tuple[Tensor, Tensor] | None:
    """Return scale and shift per channel if the module in float64 is that map for inputs of this shape."""
    state = next(iter([*exact.parameters(), *exact.buffers()]))
    source = torch.Generator().manual_seed(0)
    probe = (torch.randn(shape, dtype=torch.double, generator=source) * 10).to(state.device)
    probe[2:] *= 1e4  # a bound far out is a bound
    try:
        shift, low, high, found = (exact(x) for x in (0 * probe, 0 * probe - FAR, 0 * probe + FAR, probe))
    except Exception:  # takes other inputs; somebody's own code may raise any
        return None
    if found.shape != probe.shape:
        return None
    first = (0, slice(None), *[0] * (probe.dim() - 2))
    scale, shift = ((high - low) / (2 * FAR))[first], shift[first]
    by_channel = (-1, *[1] * (probe.dim() - 2))
    return (scale, shift) if _close(found, probe * scale.view(by_channel) + shift.view(by_channel)) else None


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-9, atol=1e-9)


def is_map_of_tokens(norm: nn.Module, scale: Tensor, shift: Tensor) -> bool:
    """Tell whether a module has the same scale and shift for (N, L, C), and for more positions."""
    again = [affine_map(ChannelsLast(norm), (len(scale), *positions)) for positions in ((3,), (3, 2))]
    return all(each is not None and all(map(_close, each, (scale, shift))) for each in again)


class ChannelsLast(nn.Module):
    """A module of (N, *, C), for (N, C, *)."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.module(x.movedim(1, -1))
        return y.movedim(-1, 1)
