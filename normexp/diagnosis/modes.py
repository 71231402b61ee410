"""Where train() and eval() give different outputs, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd
from torch.utils._pytree import tree_map
from torch.utils.hooks import RemovableHandle

from normexp.diagnosis.normalizations import normalizations
from normexp.norms.networks.trial import hooked, left_as_found, state_kept


@dataclass(frozen=True)
class Disagreement:
    """How far a module's output in train() is from that in eval(), and the buffers that train() moves."""

    change: float
    moved: tuple[str, ...] = ()


def suspects(model: nn.Module) -> dict[str, nn.Module]:
    """Return the modules that may depend on the mode: normalizations, dropout, and leaves that are not torch's."""
    found = normalizations(model)
    for path, module in model.named_modules():
        leaf = next(module.children(), None) is None
        ours = isinstance(module, _DropoutNd) or not type(module).__module__.startswith("torch.")
        if path and leaf and ours:
            found.setdefault(path, module)
    return found


def change(one: Tensor, other: Tensor) -> float:
    """Return ||one - other|| / ||other||; inf where one of them is not finite, or has another shape."""
    if one.shape != other.shape:
        return float("inf")
    distance = float((one.double() - other.double()).norm() / other.double().norm().clamp(min=1e-30))
    return distance if distance == distance else float("inf")


@torch.no_grad()
def disagreements(model: nn.Module, x: Tensor) -> dict[str, Disagreement]:
    """Return, for every suspect, what train() does to it that eval() does not, on one input.

    The input is that of eval(), so that a layer is told apart from those before it.
    """
    found: dict[str, Disagreement] = {}
    hooks = (hook for path, module in suspects(model).items() for hook in _compare(path, module, found))
    with left_as_found(model, x.device), hooked(hooks):
        model.eval()
        model(x)
    return found


def _compare(path: str, module: nn.Module, found: dict[str, Disagreement]) -> Iterator[RemovableHandle]:
    """Set two hooks: one computes the output in train() before the module may overwrite its input, one compares."""
    trained: list[tuple[Tensor, tuple[str, ...]] | None] = []

    def before(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        trained.append(_trained(module, arguments, named))

    def after(module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        other = trained.pop()
        if other is not None and isinstance(output, Tensor) and other[0].shape == output.shape:
            earlier = found[path].change if path in found else 0.0
            found[path] = Disagreement(max(earlier, change(other[0], output)), other[1])

    yield module.register_forward_pre_hook(before, with_kwargs=True)
    yield module.register_forward_hook(after)


def _trained(
    module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Tensor, tuple[str, ...]] | None:
    """Return a module's output in train(), and the names of the buffers that this moves.

    None where it cannot be called that way, as on one value per channel.
    """
    given, given_named = tree_map(lambda each: each.clone() if isinstance(each, Tensor) else each, (arguments, named))
    with state_kept(module):
        module.train()
        buffers = _numbers(module)
        try:
            output = module.forward(*given, **given_named)
        except Exception:  # somebody's own code may raise any
            return None
        moved = tuple(name for name, value in _numbers(module).items() if not _same(value, buffers.get(name)))
    return (output, moved) if isinstance(output, Tensor) else None


def _numbers(module: nn.Module) -> Mapping[str, Tensor]:
    """Return copies of a module's buffers that may be statistics: neither counts nor single numbers."""
    kept = {name: value for name, value in module._buffers.items() if value is not None}
    return {name: value.clone() for name, value in kept.items() if value.is_floating_point() and value.dim()}


def _same(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and torch.equal(one.nan_to_num(), other.nan_to_num())
