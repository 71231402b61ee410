"""Fold normalization into the layer before or behind it: in evaluation, batch normalization need not cost anything."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn
from torch.nn.utils import parametrize

from normexp.errors import first_line
from normexp.norms.base import Rows, num_outputs
from normexp.norms.networks.absorption import absorb, absorb_behind
from normexp.norms.networks.channel_maps import affine_map, is_map_of_tokens
from normexp.norms.networks.dataflow import copied
from normexp.norms.networks.modules import touched
from normexp.norms.networks.neighbours import PLAIN_LAYERS, only_called, pairs, readings
from normexp.norms.networks.replacement import swap
from normexp.norms.networks.trial import watched
from normexp.norms.networks.whole import check_network
from normexp.torch_modes import as_it_was_made, made_on_cpu


@fx.wrap
def of_rank(input: Tensor, rank: int) -> Tensor:
    """Return what a folded normalization gets. Raises ValueError for another rank, whose channels were others.

    To torch.fx it is one call: a network that was folded can be read again.
    """
    if input.dim() != rank:
        meant = "(N, C)" if rank == 2 else "(N, C, *)"
        told = f"folded for inputs of {rank} dimensions, {meant}, not of {input.dim()}"
        raise ValueError(f"{told}; fold the network as it was, with an example of these: fold(model, example_inputs)")
    return input


class Folded(nn.Identity):
    """What stands where a normalization was."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank

    def forward(self, input: Tensor) -> Tensor:
        return of_rank(input, self.rank)


@torch.no_grad()
def fold(model: nn.Module, example_inputs: Tensor | tuple[Any, ...] | None = None) -> nn.Module:
    """Fold every normalization that is an affine map per channel in evaluation into the Linear or Conv before it.

    Where there is none, as in front of a transformer's branches, into the Linear layer behind it. Whether a module is
    such a map is found by calling it: batch normalization and its relatives with running statistics are, layer or group
    normalization is not and stays. What is not certain to give the same numbers stays too: layers with a forward or
    hooks of their own, with a weight that is used elsewhere, or used several times; an output that the network keeps
    (`self.features = x`); a normalization that it does more with than call it, or that it calls in training mode.
    Works in place, returns the model in evaluation mode with `Folded` (an identity) where a normalization was;
    evaluation gives the same numbers. Training it further makes no sense.

    A batch normalization next to a Linear layer is taken for one of (N, C). That of (N, L, C) would normalize L: called
    so, the folded network raises ValueError, unless an example has told that it stays.

    Args:
        example_inputs: what the network is called with: a batch, or a tuple of its inputs.

    Raises:
        ValueError: for what is no network, or compiled, or without values; for one with hooks or a forward of its own
            put on it as a whole; if the network's structure cannot be traced (torch.fx), as with a Python branch on a
            tensor; if it cannot be called with the example. The network is then as it was.
    """
    check_network(model)
    ranks = {} if example_inputs is None else ranks_of(model, example_inputs)
    with made_on_cpu(), as_it_was_made(model):
        fold_pairs(model, ranks)
    return model


def fold_pairs(model: nn.Module, ranks: dict[str, set[int]]) -> None:
    """Fold what can be folded, in place.

    Args:
        ranks: of what enters modules, as far as that is known.
    """
    read = readings(model)
    neighbours = pairs(model, read)
    ahead = [(layer, norm) for layer, norm in neighbours if can_be_folded(model, layer, norm)]
    behind = [(layer, norm) for norm, layer in neighbours if can_be_folded(model, layer, norm)]
    free = only_called(model, [*ahead, *behind], read)
    model.eval()
    for neighbouring, into, shape_of in ((ahead, absorb, outputs_of), (behind, absorb_behind, inputs_of)):
        for layer_name, norm_name in neighbouring:
            layer, norm = model.get_submodule(layer_name), model.get_submodule(norm_name)
            if norm_name not in free or isinstance(norm, nn.Identity) or (shape := shape_of(layer)) is None:
                continue
            if found := map_at(norm, shape, ranks.get(norm_name, set())):
                into(layer, found.scale, found.shift)
                swap(model, {norm: found.instead.train(norm.training)})  # a network may ask `if self.bn.training`


def outputs_of(layer: Any) -> tuple[int, ...] | None:
    """Return the shape of one example behind a layer, channels first."""
    return num_outputs(layer), *[2] * (layer.weight.dim() - 2)  # no positions behind a Linear layer


def inputs_of(layer: object) -> tuple[int, ...] | None:
    """Return the shape of one example in front of a layer, None of what is no Linear layer, where padding matters."""
    return (layer.in_features,) if isinstance(layer, nn.Linear) else None


class Found(NamedTuple):
    """Scale and shift per channel of a module, and what stands in its place once they are folded."""

    scale: Tensor
    shift: Tensor
    instead: nn.Module


def map_at(norm: nn.Module, shape: tuple[int, ...], ranks: set[int]) -> Found | None:
    """Return what a module is next to a layer, for all inputs that it gets there; None where it is no such map.

    Next to a Linear layer tokens (*, C), too, have their channels last: a map of these is one of whatever rank.

    Args:
        shape: of one example, channels first.
        ranks: of the inputs that it is known to get.
    """
    found, rank = affine_map(norm, shape), 1 + len(shape)
    if found is None:
        return None
    if isinstance(norm, Rows) or (rank == 2 and is_map_of_tokens(norm, *found)):
        return Found(*found, nn.Identity())
    return Found(*found, Folded(rank)) if ranks <= {rank} else None


def ranks_of(model: nn.Module, example_inputs: Tensor | tuple[Any, ...]) -> dict[str, set[int]]:
    """Return the ranks of what enters each module in evaluation. Raises ValueError where that cannot be called."""
    found: dict[str, set[int]] = {}
    given = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    trial = copied(model).eval()
    try:
        named = dict(trial.named_modules(remove_duplicate=False))
        with watched(named, lambda name, x: found.setdefault(name, set()).add(x.dim())):
            trial(*given)
    except Exception as error:  # somebody's own code may raise any
        shown = ", ".join(str(tuple(each.shape)) if isinstance(each, Tensor) else type(each).__name__ for each in given)
        raise ValueError(f"example_inputs: the network cannot be called with {shown}: {first_line(error)}") from error
    return found


def can_be_folded(model: nn.Module, layer_name: str, norm_name: str) -> bool:
    """Tell whether the two are a layer exactly as torch has it, and a module with numbers of its own."""
    layer, module = model.get_submodule(layer_name), model.get_submodule(norm_name)
    in_groups = isinstance(layer, nn.modules.conv._ConvTransposeNd) and layer.groups > 1
    foldable = is_plain(layer) and not in_groups
    return (
        foldable
        and not isinstance(module, PLAIN_LAYERS)
        and _has_state(module)
        and not any(map(touched, module.modules()))
    )


def is_plain(layer: nn.Module) -> bool:
    """Tell whether the layer is exactly torch's, parametrized or not, and nothing else watches or changes it."""
    computed = list(layer.parametrizations) if parametrize.is_parametrized(layer) else []  # type: ignore[arg-type]
    kind = type(layer).__bases__[0] if computed else type(layer)
    return kind in PLAIN_LAYERS and not touched(layer) and computed in ([], ["weight"])


def _has_state(module: nn.Module) -> bool:
    return any(True for _ in module.parameters()) or any(True for _ in module.buffers())
