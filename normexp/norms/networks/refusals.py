"""What keeps a module from being converted, as the one line that says why."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from normexp.errors import first_line
from normexp.norms.base import Norm, Rows, Step, is_of_scheme
from normexp.norms.networks.dataflow import copied
from normexp.norms.networks.modules import LAYERS, NORMS, ignores_scale, is_linear_in_weight, is_shared, standardizes
from normexp.norms.networks.replacement import are_batch_norms
from normexp.norms.networks.torch_weights import freed, is_normalized_by_torch, schemes_of_torch
from normexp.seeding import random_kept

UNREACHED = (nn.MultiheadAttention, nn.RNNBase, nn.RNNCellBase, nn.Bilinear)  # weights in no Linear or Conv layer
TABLES = (nn.Embedding, nn.EmbeddingBag, nn.LayerNorm)  # whose weight multiplies no vector
SCHEMES, PLACES = "normexp.norms.", (Rows, Step)  # of this library; what schemes are put into
OF_TORCH = (nn.LayerNorm, nn.RMSNorm, nn.LocalResponseNorm, nn.CrossMapLRN2d)  # other normalizations

OWN_STATISTICS = "normalizes by statistics of its own, which would stay; torch.nn's batch normalization would not"


class CannotConvert(Exception):
    """A place where the scheme cannot be put; the message says why."""


def cannot(why: str) -> Callable[[Any], None]:
    """Return a step that cannot be done."""

    def refuse(module: nn.Module) -> None:
        raise CannotConvert(why)

    return refuse


def refuse_unknown_norm(module: nn.Module) -> None:
    """Refuse other normalizations, which would stay beside the scheme's, and compiled ones, which cannot be told."""
    if isinstance(module, torch.jit.ScriptModule):
        raise CannotConvert("compiled by torch.jit, so it cannot be changed")
    unknown = CannotConvert("a normalization that is neither batch, instance nor group normalization")
    if isinstance(module, NORMS):
        return
    if type(module).__module__.startswith(SCHEMES) and not isinstance(module, PLACES):
        raise CannotConvert("a scheme of this library already, which would stay; convert the network as it was before")
    if is_of_scheme(module) and not type(module).__module__.startswith("torch.nn."):
        raise CannotConvert("of a scheme of your own, which would stay; convert the network as it was before")
    if getattr(module, "running_var", None) is not None:
        raise unknown
    with random_kept():
        if standardizes(module):
            raise CannotConvert(OWN_STATISTICS) if any(True for _ in module.buffers()) else unknown
    if "norm" not in type(module).__name__.lower() or any(module.children()):
        return
    if isinstance(module, nn.LayerNorm) and type(module) is nn.LayerNorm:
        raise CannotConvert("a LayerNorm with the channels last has no place for the scheme")
    if any(True for _ in module.parameters()) or isinstance(module, OF_TORCH) or ignores_scale(module):
        raise unknown


def refuse_weight(layer: Any, model: nn.Module, norm: Norm) -> None:
    """Refuse a layer of the model whose weight the scheme's parametrization would not reach, or would break."""
    layer = freed(layer)
    if parametrize.is_parametrized(layer) or not isinstance(layer.weight, nn.Parameter):
        raise CannotConvert("its weight is computed already")
    if layer.weight.is_complex():
        raise CannotConvert("has complex numbers, of which no scheme is defined")
    if is_shared(layer.weight, model):
        raise CannotConvert("shares its weight with another layer")
    if not is_linear_in_weight(layer):
        raise CannotConvert("computes its weight itself, from the one that the scheme would set")
    with random_kept():
        made: Any = norm.parametrize(copy.deepcopy(layer))
        if not layer.weight.is_meta and layer.weight.isfinite().all() and not made.weight.isfinite().all():
            raise CannotConvert("has weights of zeros, of which the scheme makes nan")


def refuse_computed(module: nn.Module, model: nn.Module) -> None:
    """Refuse torch's weight_norm and spectral_norm where they cannot be taken away, so that they would stay."""
    for name, scheme in schemes_of_torch(module):
        stays = f"its {name} goes through torch's {scheme}, which would stay"
        if not isinstance(module, LAYERS) or not is_normalized_by_torch(module):
            raise CannotConvert(f"{stays}: it is taken from a Linear or Conv layer whose weight nothing else computes")
        if any(is_shared(value, model) for value in module.parameters()):
            raise CannotConvert(f"{stays}: it shares its weight with another layer")


def refuse_unreached(module: nn.Module) -> None:
    """Refuse weights that would stay as they are where the scheme sets those of all other layers.

    Of a module that is not torch's it is a parameter (a, b, ...), as that of a linear layer written anew; what is
    broadcast over examples (1, a, b) or positions (a, 1, 1) is none.
    """
    if isinstance(module, UNREACHED):
        which = "in_proj weights" if isinstance(module, nn.MultiheadAttention) else "weights"
        raise CannotConvert(f"its {which} are those of no Linear or Conv layer, so the scheme does not reach them")
    if isinstance(module, (*LAYERS, *NORMS, *TABLES)) or type(module).__module__.startswith(("torch.", SCHEMES)):
        return
    for name, value in module.named_parameters(recurse=False) if not any(module.children()) else ():
        if value.dim() > 1 and value.shape[0] > 1 and value[0].numel() > 1:
            raise CannotConvert(f"its {name} is that of no Linear or Conv layer, so the scheme does not reach it")


def refuse_other_statistics(old: nn.Module, new: nn.Module) -> None:
    """Refuse batch normalization in place of one whose statistics are of something else."""
    if not are_batch_norms(old, new):
        return
    if isinstance(old, nn.SyncBatchNorm):
        raise CannotConvert("has the statistics of all processes, where the scheme has those of each alone")
    if old.running_mean is None:
        why = "has no running estimates (track_running_stats=False) but the batch's own statistics in evaluation, too"
        raise CannotConvert(why)


def refuse_layer(layer: nn.Module, norm: Norm) -> None:
    """Refuse a layer that the scheme itself refuses, before any other is changed."""
    with random_kept():
        norm.parametrize(copied(layer))


@torch.no_grad()
def refuse_vectors(norm: Norm, channels: int, linear: bool) -> None:
    """Refuse a place behind a Linear layer of so many outputs where the scheme takes no vectors of them.

    Args:
        linear: no activation function follows.
    """
    with random_kept():
        trial = norm.linear_normalization(channels) if linear else norm.normalization(channels)
        try:
            trial(torch.randn(2 * channels + 2, channels))
        except ValueError as why:
            raise CannotConvert(f"the output of a Linear layer has no positions: {first_line(why)}") from why
