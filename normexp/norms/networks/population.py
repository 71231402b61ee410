"""Statistics of the training set, in place of running averages over the training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from normexp.norms.networks.own_state import own_state

EXAMPLES, BATCH = 5000, 500  # how many are looked at, and how many at a time where a network is wide
ESTIMATES = ("running", "population")  # how batch normalization comes by the statistics of evaluation


@torch.no_grad()
def estimate(
    model: nn.Module, kinds: type | tuple[type, ...], inputs: Callable[[int], Tensor], batch: int = BATCH
) -> None:
    """Set the running estimates of the modules of these kinds to averages over batches of training inputs.

    The network is as in training, with its dropout and noise, for which the estimates are to stand. Nothing but the
    estimates changes.

    Args:
        model: in training mode.
        kinds: modules whose `momentum` of None means to estimate from the batches at hand alone.
        inputs: count -> the first `count` training inputs (all, if there are fewer).
        batch: examples of one batch.

    Source: Ioffe & Szegedy 2015, arXiv:1502.03167, algorithm 2, lines 8 to 12.
    """
    modules: list[Any] = [module for module in model.modules() if isinstance(module, kinds)]
    moving = {part for module in modules for part in module.modules()}
    kept = [own_state(module) for module in model.modules() if module not in moving]
    momenta = [module.momentum for module in modules]
    for module in modules:
        module.momentum = None
        if isinstance(module, _BatchNorm):  # a plain average since then
            module.reset_running_stats()
    x = inputs(EXAMPLES)
    for start in range(0, max(len(x) - batch, 0) + 1, batch):  # a smaller last batch would count as much as the others
        model(x[start : start + batch])
    for module, momentum in zip(modules, momenta, strict=True):
        module.momentum = momentum
    for put_back in kept:
        put_back()
