"""The variance of a residual net's stream, block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.norms.networks.trial import hooked
from normexp.probes.base import Probe, Reading, Situation, training_mode
from normexp.probes.layers import channel_dim


@dataclass(frozen=True, kw_only=True)
class StreamVariance(Probe):
    """Variance (`variance`) and mean square (`mean_square`) of what leaves every block that keeps its input's shape.

    A block is an entry of an nn.Sequential or nn.ModuleList, none itself, that has layers of its own and returns a
    tensor of the shape that it was given: the residual blocks of a stage, and whatever else keeps its shape. The
    variance is over examples and positions, averaged over channels, which are the last dimension of a block whose
    first layer is Linear. In training mode.

    Args:
        count: number of test examples, the same at every evaluation.

    Raises: UserError for a network without such blocks.

    Source: De & Smith 2020, arXiv:2002.10444; the signal propagation plots of Brock, De & Smith 2021, arXiv:2101.08692.
    """

    count: int = 64

    def measure(self, situation: Situation) -> list[Reading]:
        model, (x, _) = situation.model, situation.test(self.count)
        parts = stream_blocks(model)
        seen = outputs_of(model, parts, x)
        if not seen:
            raise UserError("probe=residual_variance: no block of the network returns what has the shape of its input")
        readings: list[Reading] = []
        for name, out in seen.items():
            units = out.movedim(channel_dim(parts[name]), 0).flatten(1).double()
            readings.append((name, "variance", float(units.var(1, correction=0).mean())))
            readings.append((name, "mean_square", float(units.square().mean())))
        return readings


def stream_blocks(model: nn.Module) -> dict[str, nn.Module]:
    """Return {module path: entry of an nn.Sequential or nn.ModuleList that is made of several modules}."""
    lists = {path: each for path, each in model.named_modules() if isinstance(each, nn.Sequential | nn.ModuleList)}
    return {
        f"{path}.{name}".strip("."): part
        for path, each in lists.items()
        for name, part in each.named_children()
        if not isinstance(part, nn.Sequential | nn.ModuleList) and sum(1 for _ in part.children()) > 1
    }


@torch.no_grad()
def outputs_of(model: nn.Module, modules: dict[str, nn.Module], x: Tensor) -> dict[str, Tensor]:
    """Return what leaves each named module where it has the shape of what entered it."""
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, arguments: tuple[Any, ...], out: Any) -> None:
            if isinstance(out, Tensor) and arguments and out.shape == arguments[0].shape and out.dim() > 1:
                seen.setdefault(name, out.detach().clone())

        return hook

    hooks = (each.register_forward_hook(keep(name)) for name, each in modules.items())
    with hooked(hooks), training_mode(model, x.device):
        model(x)
    return seen
