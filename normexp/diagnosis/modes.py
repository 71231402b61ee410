"""Where train() and eval() give different outputs, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd
from torch.utils._pytree import tree_map
from torch.utils.hooks import RemovableHandle

from normexp.diagnosis.normalizations import normalizations
from normexp.norms.networks.trial import hooked, left_as_found, state_kept


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
def disagreements(model: nn.Module, x: Tensor) -> dict[str, float]:
    """Return, for every suspect, how far its output in train() is from that in eval(), on one input.

    The input is that of eval(), so that a layer is told apart from those before it.
    """
    found: dict[str, float] = {}
    hooks = (hook for path, module in suspects(model).items() for hook in _compare(path, module, found))
    with left_as_found(model, x.device), hooked(hooks):
        model.eval()
        model(x)
    return found


def _compare(path: str, module: nn.Module, found: dict[str, float]) -> Iterator[RemovableHandle]:
    """Set two hooks: one computes the output in train() before the module may overwrite its input, one compares."""
    trained: list[Tensor | None] = []

    def before(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        trained.append(_trained(module, arguments, named))

    def after(module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        other = trained.pop()
        if other is not None and isinstance(output, Tensor) and other.shape == output.shape:
            found[path] = max(found.get(path, 0.0), change(other, output))

    yield module.register_forward_pre_hook(before, with_kwargs=True)
    yield module.register_forward_hook(after)


def _trained(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> Tensor | None:
    """Return a module's output in train(); None where it cannot be called that way, as on one value per channel."""
    given, given_named = tree_map(lambda each: each.clone() if isinstance(each, Tensor) else each, (arguments, named))
    with state_kept(module):
        module.train()
        try:
            output = module.forward(*given, **given_named)
        except Exception:  # somebody's own code may raise any
            return None
    return output if isinstance(output, Tensor) else None
