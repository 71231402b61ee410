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
from normexp.records.waiting import Waiting

logger = logging.getLogger("normexp")

ARRIVED = 1e-4  # standard deviations
ROUNDS = 30


def set_exactly(
    model: nn.Module, called: Mapping[str, Any], inputs: list[Tensor], waiting: Waiting, share: float = 1.0
) -> None:
    """Set the running statistics of one layer after the other, in the order of their calls.

    Args:
        share: of the way from the present values to those of the data; of the variance in its logarithm.
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


def settle(
    model: nn.Module, called: Mapping[str, Any], again: list[str], inputs: list[Tensor], waiting: Waiting
) -> None:
    """Repeat until the statistics of layers that are called several times are those of what enters them.

    A later call gets what an earlier one has normalized, so that new values change it. Steps get smaller where they
    do not come nearer. Warns where they never arrive.

    Args:
        again: the layers that are called several times.
    """
    found, share, last = list(called), 1.0, inf
    behind = {path: called[path] for path in found[min(map(found.index, again)) :]}
    for _ in range(ROUNDS):
        seen = moments(model, behind, inputs, waiting=waiting)
        off = {path: deviation(module, seen[path]) for path, module in behind.items()}
        worst = max(off, key=lambda path: off[path])
        if off[worst] <= max(ARRIVED, 4 * torch.finfo(called[worst].running_var.dtype).eps):
            return
        if off[worst] > (last / 2 if share == 1 else last):
            share /= 2
        last = off[worst]
        set_exactly(model, behind, inputs, waiting, share)
    logger.warning(
        f"{again[0]}: is called several times a pass, and what it normalizes enters it again: running statistics did "
        f"not settle in {ROUNDS} rounds (those of {worst}: {last:.2g} standard deviations off); give each call its own"
    )
