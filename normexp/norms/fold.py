"""Fold normalization into the layer before or behind it: in evaluation, batch normalization need not cost anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn
from torch.nn.utils import parametrize

from normexp.errors import first_line
from normexp.norms.base import Rows, num_outputs, output_dim
from normexp.norms.kernels import dataflow
from normexp.norms.kernels.channel_maps import affine_map, is_map_of_tokens
from normexp.norms.kernels.dataflow import copied
from normexp.norms.kernels.modules import check_network, touched, why_unread
from normexp.norms.kernels.readers import described
from normexp.norms.kernels.replacement import swap
from normexp.norms.kernels.torch_weights import own_class
from normexp.norms.kernels.trial import watched

LAYERS = (
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
)  # fmt: skip
TRAINS, KEPT = "trains", "kept"  # what is noted of a call


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
    read = readings(model)
    ranks = {} if example_inputs is None else ranks_of(model, example_inputs)
    neighbours = pairs(model, read)
    ahead = [(layer, norm) for layer, norm in neighbours if can_be_folded(model, layer, norm)]
    behind = [(layer, norm) for norm, layer in neighbours if can_be_folded(model, layer, norm)]
    free = only_called(model, [*ahead, *behind], read)
    model.eval()
    for layer_name, norm_name in ahead:
        layer, norm = model.get_submodule(layer_name), model.get_submodule(norm_name)
        if norm_name not in free:
            continue
        assert isinstance(layer.weight, Tensor)
        positions = [2] * (layer.weight.dim() - 2)  # none behind a Linear layer
        if found := map_at(norm, (num_outputs(layer), *positions), ranks.get(norm_name, set())):
            absorb(layer, found.scale, found.shift)
            swap(model, {norm: found.instead.train(norm.training)})  # a network may go by that (`if self.bn.training`)
    for layer_name, norm_name in behind:
        norm, following = model.get_submodule(norm_name), model.get_submodule(layer_name)
        if not isinstance(following, nn.Linear) or norm_name not in free or isinstance(norm, Folded):
            continue
        if found := map_at(norm, (following.in_features,), ranks.get(norm_name, set())):
            absorb_behind(following, found.scale, found.shift)
            swap(model, {norm: found.instead.train(norm.training)})
    return model


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
        shapes = ", ".join(str(tuple(each.shape)) if isinstance(each, Tensor) else repr(each) for each in given)
        raise ValueError(f"example_inputs: the network cannot be called with {shapes}: {first_line(error)}") from error
    return found


def readings(model: nn.Module) -> list[fx.Graph]:
    """Return the calls of a network as it is. Raises ValueError for one whose forward cannot be read."""
    try:
        return graphs(model)
    except Exception as error:  # a forward may do anything with what stands for its input
        raise ValueError(f"{type(model).__name__} cannot be traced: {why_unread(error, model)}") from error


def pairs(model: nn.Module, read: list[fx.Graph]) -> list[tuple[str, str]]:
    """Return two modules by name where the second alone takes the first's output, and both are used once.

    Nothing reads a parameter of one of them past its module, and nothing shares one.

    Args:
        read: the network's `readings`.
    """
    first, *more = (list(_neighbours(model, graph)) for graph in read)
    return [pair for pair in first if all(pair in each for each in more)]


def _neighbours(model: nn.Module, graph: fx.Graph) -> Iterator[tuple[str, str]]:
    calls = [node for node in graph.nodes if node.op == "call_module"]
    read = {str(node.target) for node in graph.nodes if node.op == "get_attr"}
    owners = Counter(id(value) for module in model.modules() for value in module._parameters.values())
    uses = Counter(str(node.target) for node in calls)

    def alone(node: fx.Node) -> bool:
        name, module = str(node.target), model.get_submodule(str(node.target))
        shared = any(owners[id(value)] > 1 for value in module.parameters())
        more = len(node.all_input_nodes) > 1 or len(node.args) != 1 or node.kwargs  # than what is normalized
        kept = isinstance(module, LAYERS) or not more
        if node.meta.get(TRAINS):
            return False
        return uses[name] == 1 and kept and not shared and not any(target.startswith(f"{name}.") for target in read)

    for node in calls:
        before: Any = node.args[0] if node.args else None
        called = isinstance(before, fx.Node) and before.op == "call_module"
        if not called or len(before.users) > 1 or KEPT in before.meta or not (alone(before) and alone(node)):
            continue
        if not is_watched(model, str(before.target), str(node.target)):
            yield str(before.target), str(node.target)


def is_watched(model: nn.Module, before: str, after: str) -> bool:
    """Tell whether hooks are on a module that ends between two calls, and so see the output of the first."""
    parts = before.split(".")
    owners = [".".join(parts[:depth]) for depth in range(1, len(parts))]
    return any(touched(model.get_submodule(owner)) for owner in owners if not after.startswith(f"{owner}."))


def graphs(model: nn.Module, folded: Iterable[tuple[str, str]] = ()) -> list[fx.Graph]:
    """Read the forward in evaluation, on copies: called with and without its optional inputs.

    Args:
        folded: layers that have another weight and bias there, with the modules in whose place an identity stands.
    """
    pairs = list(folded)

    def trial() -> nn.Module:
        made = copied(model, *(model.get_submodule(layer) for layer, _ in pairs))
        for layer in (made.get_submodule(layer) for layer, _ in pairs):
            ones = next(layer.parameters()).new_ones(num_outputs(layer), dtype=torch.double)
            absorb(layer, 2 * ones, ones)
        swap(made, {made.get_submodule(norm): nn.Identity() for _, norm in pairs})
        return made

    return dataflow.graphs(model, lambda _: ChildlessAreLeaves(), trial, [False])


def only_called(model: nn.Module, pairs: list[tuple[str, str]], read: list[fx.Graph]) -> set[str]:
    """Return the norms that the network calls by their place, and does nothing else with, nor with their layers.

    A number that it computes of their weights, or of how many there are, would become another.

    Args:
        pairs: layer and norm.
        read: the network's `readings`.
    """

    def same(folded: list[tuple[str, str]]) -> bool:
        try:
            found = graphs(model, folded)
        except Exception:  # reads what an identity does not have; keeps the module elsewhere too, in a list
            return False
        both = [[node for graph in each for node in graph.nodes] for each in (read, found)]
        return len(both[0]) == len(both[1]) and all(map(alike, *both))

    return {norm for _, norm in (pairs if same(pairs) else [pair for pair in pairs if same([pair])])}


def alike(one: fx.Node, other: fx.Node) -> bool:
    """Tell whether two calls are the same, of the same numbers where these are known."""
    was, becomes = one.meta.get("value"), other.meta.get("value")
    same = not isinstance(was, Tensor) or (isinstance(becomes, Tensor) and torch.equal(was, becomes))
    return same and described(one) == described(other)


def can_be_folded(model: nn.Module, layer_name: str, norm_name: str) -> bool:
    """Tell whether the two are a layer exactly as torch has it, and a module with numbers of its own."""
    layer, module = model.get_submodule(layer_name), model.get_submodule(norm_name)
    in_groups = isinstance(layer, nn.modules.conv._ConvTransposeNd) and layer.groups > 1
    foldable = is_plain(layer) and not in_groups
    return foldable and not isinstance(module, LAYERS) and _has_state(module) and not touched(module)


class ChildlessAreLeaves(dataflow.Leaves):
    """Traces a network down to modules without children, tokens taken as rows, and those of torch.nn.

    Notes of every call whether the module, or one in it, is in training then: a network may keep it so. And whether a
    module of the network keeps its output as an attribute, for others to read.
    """

    whole = (Rows,)

    def trace(self, root: Any, concrete_args: Any = None) -> fx.Graph:
        graph = super().trace(root, concrete_args)
        for proxy in (each for module in root.modules() for each in proxies_in(list(vars(module).values()))):
            proxy.node.meta[KEPT] = True
        return graph

    def call_module(self, m: nn.Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = super().call_module(m, forward, args, kwargs)
        if isinstance(made, fx.Proxy):
            made.node.meta.setdefault(TRAINS, any(part.training for part in m.modules()))
        return made


def proxies_in(value: object) -> Iterator[fx.Proxy]:
    """Yield what stands for tensors in a value, or in the lists, tuples and dicts that it holds."""
    if type(value) in (list, tuple, dict):
        for each in value.values() if isinstance(value, dict) else value:  # type: ignore[attr-defined]
            yield from proxies_in(each)
    elif issubclass(type(value), fx.Proxy):  # isinstance would ask the proxy itself
        yield value  # type: ignore[misc]


def is_plain(layer: nn.Module) -> bool:
    """Tell whether the layer is exactly torch's, parametrized or not, and nothing else watches or changes it."""
    computed = list(layer.parametrizations) if parametrize.is_parametrized(layer) else []  # type: ignore[arg-type]
    kind = type(layer).__bases__[0] if computed else type(layer)
    return kind in LAYERS and not touched(layer) and computed in ([], ["weight"])


def _has_state(module: nn.Module) -> bool:
    return any(True for _ in module.parameters()) or any(True for _ in module.buffers())


def absorb(layer: Any, scale: Tensor, shift: Tensor) -> None:
    """Make `scale * layer(x) + shift` of the layer, in place."""
    dim = output_dim(layer)
    if parametrize.is_parametrized(layer, "weight"):
        layer.__class__ = own_class(type(layer))
        parametrize.remove_parametrizations(layer, "weight")
    weight = layer.weight
    shape = [-1 if each == dim else 1 for each in range(weight.dim())]
    bias = shift if layer.bias is None else layer.bias.double() * scale + shift
    layer.weight = nn.Parameter((weight.double() * scale.view(shape)).to(weight.dtype))
    layer.bias = nn.Parameter(bias.to(weight.dtype))


def absorb_behind(layer: Any, scale: Tensor, shift: Tensor) -> None:
    """Make `layer(scale * x + shift)` of the Linear layer, in place."""
    dtype = layer.weight.dtype
    absorb(layer, torch.ones_like(layer.weight[:, 0]).double(), layer.weight.double() @ shift)
    layer.weight = nn.Parameter((layer.weight.double() * scale).to(dtype))
