"""Two repairs: exact running statistics, and group normalization whose groups cannot erase what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.diagnosis.batches import batches, batches_spared, on_device_of
from normexp.diagnosis.diagnose import NEVER_CALLED, check_callable, check_watchable
from normexp.diagnosis.normalizations import keeps_statistics, normalizations, other_statistics
from normexp.diagnosis.settling import not_settled, orders_of_calls, set_exactly, settle
from normexp.diagnosis.strangers import NOT_REGISTERED
from normexp.errors import UserError
from normexp.norms.convert import WAY_OUT, convert
from normexp.norms.group import GroupNorm
from normexp.norms.kernels.grouped import GroupedNorm, largest_divisor
from normexp.norms.networks.trial import left_as_found
from normexp.records.waiting import Waiting
from normexp.torch_modes import gradients_and_full_precision

CHANNELS = 16  # of a group, at least, where a layer has so many


def recalibrate(model: nn.Module, data: Tensor | Iterable[Any]) -> nn.Module:
    """Set all running statistics to the exact statistics of the data, in place, and return the network.

    Layer by layer in the order of the calls: each gets mean and unbiased variance over all examples of what enters
    it in eval() behind layers that are repaired already, not an average over batches. Instance normalization gets the
    average over examples of the mean and unbiased variance of each, as its estimates are. That takes one pass over the
    data for every layer with estimates. Everything else stays as it is.

    A layer that is called several times gets the statistics of all its calls together, each with the number of its
    values. They may change what enters later calls: this is repeated until they are those of the data, or it warns that
    they do not settle. So it is where batches go through different layers, whose order is not known.

    Args:
        data: as of `diagnose`; all of it is used.

    Raises: UserError for a network without running statistics, or with some of another kind or in layers that are no
        modules of it, and for data that it does not take or of which a channel has one value, or none that is finite;
        the network is then as it was.
    """
    check_watchable(model)
    with gradients_and_full_precision(), torch.no_grad(), batches_spared(model):
        _recalibrate(model, data)
    return model


def _recalibrate(model: nn.Module, data: Tensor | Iterable[Any]) -> None:
    """Do it, in passes that change nothing else."""
    waiting = Waiting()
    inputs = on_device_of(model, batches(data, most=10**9, waiting=waiting))
    kept = {path: each for path, each in normalizations(model).items() if keeps_statistics(each)}
    if others := [f"{path} ({type(each).__name__})" for path, each in other_statistics(model).items()]:
        raise UserError(f"{others[0]} has running statistics of another kind than batch norm's")
    if not kept:
        raise UserError("the network has no running statistics of batch normalization (running_mean, running_var)")
    for each, place in check_callable(model, kept, inputs[0]).items():
        if keeps_statistics(each):
            raise UserError(f"{place}: {type(each).__name__} {NOT_REGISTERED}")
    with left_as_found(model, inputs[0].device):
        model.eval()
        orders = orders_of_calls(model, kept, inputs, waiting)
        called: dict[str, Any] = {path: kept[path] for order in orders for path in order}
        if not called:
            raise UserError(f"{next(iter(kept))}: {NEVER_CALLED}")
        set_exactly(model, called, inputs, waiting)
        if behind := not_settled(list(called), orders):
            settle(model, {path: called[path] for path in behind}, inputs, waiting)
        exact = {(each, name): value.clone() for each in kept.values() for name, value in each.named_buffers()}
    for (each, name), value in exact.items():
        each.get_buffer(name).copy_(value)


@dataclass(frozen=True, kw_only=True)
class WideGroups(GroupNorm):
    """Group normalization with at least 16 channels a group, all channels where a layer has fewer.

    Wu & He 2018 find 16 channels a group as good as 32 groups; at 1 x 1 positions a group of one channel has one value,
    its own mean, so that nothing of the input is left.

    Raises: ValueError for a layer of one channel, where one position would be erased.
    """

    def normalization(self, num_features: int) -> nn.Module:
        if num_features < 2:
            raise ValueError("one channel would be erased at one position")
        groups = largest_divisor(num_features, max(1, num_features // CHANNELS))
        return GroupedNorm(groups, num_features, self.eps, self.affine)


def to_groups(model: nn.Module) -> nn.Module:
    """Put group normalization in the place of batch and instance normalization, in place, and return the network.

    Scales and shifts are kept; the statistics are others, so that the network has to be trained further.

    Raises: UserError where it cannot be done (`normexp.convert` says why), with nothing changed.
    """
    try:
        return convert(model, WideGroups())
    except ValueError as error:
        told = str(error).removesuffix(f"; {WAY_OUT}")  # which is convert's, and so is the scheme's name
        raise UserError(told.replace(f"to {WideGroups.__name__}", "to group normalization")) from None


FIXES: dict[str, Callable[[nn.Module, Any], nn.Module]] = {
    "recalibrate": recalibrate,
    "convert=group": lambda model, data: to_groups(model),
}
