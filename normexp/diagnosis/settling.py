"""Running statistics set to those of the data, layer by layer, until they are those where layers are called again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from normexp.diagnosis.normalizations import Moments, moments
from normexp.diagnosis.running import deviation
from normexp.errors import UserError
from normexp.norms.networks.trial import watched
from normexp.records.waiting import Waiting

logger = logging.getLogger("normexp")

ARRIVED = 1e-4  # standard deviations
ROUNDS = 30


def orders_of_calls(
    model: nn.Module, modules: Mapping[str, nn.Module], inputs: list[Tensor], waiting: Waiting
) -> list[list[str]]:
    """Return the names of modules in the order in which each batch comes to them."""
    orders: list[list[str]] = []
    with watched(modules, lambda name, _: orders[-1].append(name)):
        for number, x in enumerate(inputs, 1):
            waiting.at(f"batch {number} of {len(inputs)} passes the network")
            orders.append([])
            model(x)
    return orders


def set_exactly(
    model: nn.Module, called: Mapping[str, Any], inputs: list[Tensor], waiting: Waiting, share: float = 1.0
) -> None:
    """Set the running statistics of one layer after the other, in the order of their calls.

    Args:
        share: of the way from the present values to those of the data; of the variance in its logarithm.

    Raises: UserError for a layer of which these data tell no variance.
    """
    for number, (path, module) in enumerate(called.items(), 1):
        waiting.at(f"layer {number} of {len(called)} is recalibrated; batches: {len(inputs)}")
        seen = moments(model, {path: module}, inputs, waiting=waiting)[path]
        if seen.count < 2 or not seen.variance.to(module.running_var).isfinite().all():
            what = "one value per channel" if seen.count < 2 else "values too large for a variance"
            raise UserError(f"{path}: gets {what} of these data")
        move(module, seen, share)
        if getattr(module, "num_batches_tracked", None) is not None:
            module.num_batches_tracked.fill_(len(inputs))


def move(module: Any, seen: Moments, share: float) -> None:
    """Move running statistics by a share of the way to those of the data, of the variance in its logarithm."""
    mean, variance = module.running_mean.double(), module.running_var.double()
    if share < 1 and (mean.isfinite() & (variance > 0) & (seen.variance > 0)).all():
        mean, variance = mean + share * (seen.mean - mean), variance * (seen.variance / variance) ** share
    else:
        mean, variance = seen.mean, seen.variance
    module.running_mean.copy_(mean)
    module.running_var.copy_(variance)


def not_settled(called: list[str], orders: list[list[str]]) -> list[str]:
    """Return the layers that are behind one which is called again, and so may have other inputs once all are set.

    All of them where batches call other layers, or in another order: what is behind what is not known then.

    Args:
        called: all layers.
        orders: those of each batch, in the order of their calls.
    """
    again = [called.index(path) for order in orders for path in order if order.count(path) > 1]
    same = all(list(dict.fromkeys(order)) == called for order in orders)
    return called[min(again, default=len(called)) if same else 0 :]


def settle(model: nn.Module, behind: Mapping[str, Any], inputs: list[Tensor], waiting: Waiting) -> None:
    """Repeat until the statistics of layers are those of what enters them.

    A later call gets what an earlier one has normalized, so that new values change it. Steps get smaller where they
    do not come nearer. Warns where they never arrive.
    """
    share, last = 1.0, inf
    for _ in range(ROUNDS):
        seen = moments(model, behind, inputs, waiting=waiting)
        off = {path: deviation(module, seen[path]) for path, module in behind.items()}
        worst = max(off, key=lambda path: off[path])
        if off[worst] <= max(ARRIVED, 4 * torch.finfo(behind[worst].running_var.dtype).eps):
            return
        if off[worst] > (last / 2 if share == 1 else last):
            share /= 2
        last = off[worst]
        set_exactly(model, behind, inputs, waiting, share)
    logger.warning(
        f"{worst}: running statistics did not settle in {ROUNDS} rounds, they are {last:.2g} standard deviations off: "
        "what a layer has normalized enters it again; give each call of a pass a layer of its own"
    )
