"""Signs of stochastic gradient descent's updates of a layer's weights: delta x^T for one example."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.training.task import Task


def updates(model: nn.Module, task: Task, x: Tensor, y: Tensor, size: int) -> Iterator[Tensor]:
    """Yield, for every batch of `size` examples, minus the loss's gradient for the first layer's weights.

    Shapes: x (N, ...), y (N, ...) -> (units, inputs). The network is left in evaluation mode, otherwise as it was.

    Raises: UserError where the first layer with weights is not fully connected.
    """
    layer = next((module for module in model.modules() if isinstance(module, nn.Linear)), None)
    if layer is None or any(isinstance(module, nn.modules.conv._ConvNd) for module in model.modules()):
        raise UserError("signs of updates: the first layer must be fully connected; use model=mlp or model=linear")
    seen: list[tuple[Tensor, Tensor]] = []
    model.eval()
    with layer.register_forward_hook(lambda _, inputs, output: seen.append((inputs[0], output))):
        for few, targets in zip(x.split(size), y.split(size), strict=True):
            seen.clear()
            loss = task.loss(model(few), targets)
            (delta,) = torch.autograd.grad(loss, seen[0][1])
            yield -delta.T @ seen[0][0].detach()


def one_sign(update: Tensor) -> Tensor:
    """Tell for every unit, (units,), whether no two of its weights move in opposite directions."""
    return (update >= 0).all(1) | (update <= 0).all(1)


def share_of_units(changes: Iterator[Tensor]) -> float:
    """Return the share of units, over all batches, whose weights all move in one direction; dead ones left out."""
    told = torch.cat([one_sign(update[update.ne(0).any(1)]) for update in changes])
    return float(told.double().mean())


def share_of_layers(changes: Iterator[Tensor]) -> float:
    """Return the share of batches in which all weights of all units move in one direction."""
    told = torch.stack([one_sign(update.reshape(1, -1)) for update in changes])
    return float(told.double().mean())
