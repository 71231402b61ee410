"""Which modules of a network follow each other, with nothing else done to what passes between them: by torch.fx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, fx, nn

from normexp.norms.base import Rows, num_outputs
from normexp.norms.networks import dataflow
from normexp.norms.networks.absorption import absorb
from normexp.norms.networks.dataflow import copied, held_in
from normexp.norms.networks.modules import NORMS, touched
from normexp.norms.networks.readers import described
from normexp.norms.networks.replacement import swap
from normexp.norms.networks.unread import why_unread

PLAIN_LAYERS = (  # exactly torch's
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
)  # fmt: skip
TRAINS, KEPT = "trains", "kept"  # what is noted of a call


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
        kept = isinstance(module, PLAIN_LAYERS) or not more
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


class ChildlessAreLeaves(dataflow.Leaves):
    """Traces a network down to modules without children, tokens taken as rows, normalizations and those of torch.nn.

    What a normalization with parts is, as one with an activation, is found by calling it, as of those without.
    Notes of every call whether the module, or one in it, is in training then: a network may keep it so. And whether a
    module of the network keeps its output as an attribute, for others to read.
    """

    whole = (Rows, *NORMS)

    def trace(self, root: Any, concrete_args: Any = None) -> fx.Graph:
        graph = super().trace(root, concrete_args)
        for value in (each for module in root.modules() for each in held_in(vars(module))):
            if issubclass(type(value), fx.Proxy):  # isinstance would ask the proxy itself
                value.node.meta[KEPT] = True  # type: ignore[attr-defined]
        return graph

    def call_module(self, m: nn.Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = super().call_module(m, forward, args, kwargs)
        if isinstance(made, fx.Proxy):
            made.node.meta.setdefault(TRAINS, any(part.training for part in m.modules()))
        return made
