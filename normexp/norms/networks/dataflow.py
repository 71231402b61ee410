"""Which module's output goes where in somebody else's network, read by torch.fx without running it."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn

from normexp.errors import first_line
from normexp.norms.networks.modules import NORMS, is_identity
from normexp.norms.networks.tracer import Reader
from normexp.norms.networks.unread import why_unread
from normexp.seeding import random_kept, seed_all

NONLINEAR = {
    "relu", "relu_", "relu6", "leaky_relu", "leaky_relu_", "elu", "elu_", "selu", "selu_", "celu", "celu_", "gelu",
    "silu", "swish", "mish", "hardswish", "hardtanh", "hardtanh_", "tanh", "tanh_", "softplus", "prelu", "rrelu",
    "rrelu_", "clamp_min", "maximum", "clamp", "clamp_", "clip", "threshold", "threshold_", "softsign", "softshrink",
    "hardshrink", "tanhshrink", "logsigmoid",
}  # fmt: skip
POOLING = {"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"}

ALONE = RLock()  # of two readings at once the last to end would put back what the other had put into nn.Module


class Untraceable(Exception):
    """The network's forward depends on values, so that it cannot be read."""


class Leaves(Reader):
    """Traces a network down to modules without children, those of torch.nn, and normalizations with an activation."""

    whole: tuple[type[nn.Module], ...] = NORMS  # what is not looked into, though it has children

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return not any(m.children()) or isinstance(m, self.whole) or super().is_leaf_module(m, module_qualified_name)


def copied(model: nn.Module, *changing: nn.Module) -> nn.Module:
    """Return a copy that shares the parameters and nothing else: reading a forward runs what it keeps or counts.

    Tensors that were computed (by torch's older weight_norm, by pruning) cannot be copied, and are shared too.

    Args:
        changing: modules of it whose parameters the copy has to itself.

    Raises: ValueError where it keeps what cannot be copied.
    """
    held = [value for module in model.modules() for value in vars(module).values()]
    computed = [value for value in held if isinstance(value, Tensor)]
    found = (value for value in held_in(held) if isinstance(value, Tensor))
    kept = [value for value in found if value.grad_fn is not None]  # of a call before
    shared = {id(value): value for value in [*model.parameters(), *computed, *kept]}
    own = {id(value) for module in changing for value in module.parameters()}
    try:
        return copy.deepcopy(model, {key: value for key, value in shared.items() if key not in own})
    except Exception as error:  # of whatever the network keeps: a lock, a file, a connection
        name = type(model).__name__
        raise ValueError(f"{name} cannot be copied, on which it is tried: {first_line(error)}") from error


def held_in(value: object) -> Iterator[object]:
    """Yield what is in a value's lists, tuples and dicts, and in those that they hold; anything else as it is."""
    if issubclass(type(value), (list, tuple, dict)):  # isinstance would ask a proxy of torch.fx itself
        for each in value.values() if isinstance(value, dict) else value:  # type: ignore[attr-defined]
            yield from held_in(each)
    else:
        yield value


@contextmanager
def same_draws() -> Iterator[None]:
    """Let what draws random numbers draw the same ones every time, and leave the generators as they were."""
    with random_kept():
        seed_all(0)
        yield


def ways_to_call(model: nn.Module) -> list[dict[str, Any]]:
    """Return the calls of a forward that have to be read, each by what its optional inputs are; one left out is given.

    None of them is given, each alone, and all at once: a forward may go another way with each. One that is true or
    false is the other where it is given.
    """
    inputs = inspect.signature(model.forward).parameters.values()
    usual = {each.name: each.default for each in inputs if each.default is not each.empty}
    alone = [changed(usual, [name]) for name in usual]
    return [usual, *alone, *([changed(usual, list(usual))] if len(usual) > 1 else [])]


def changed(usual: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the values of optional inputs with these given."""
    kept = {name: value for name, value in usual.items() if name not in names}
    return kept | {name: not usual[name] for name in names if isinstance(usual[name], bool)}


def graphs(
    model: nn.Module, tracer: Callable[[nn.Module], fx.Tracer], make: Callable[[], nn.Module], modes: Iterable[bool]
) -> list[fx.Graph]:
    """Read the forward of a network in all `ways_to_call` it, each on a copy of its own.

    Args:
        model: the network, whose inputs the copies have.
        tracer: what reads such a copy.
        make: makes a copy.
        modes: True for training, False for evaluation.

    Raises: ValueError for a network that goes by how often it was called, or by whether there are gradients;
        whatever else fx raises.
    """
    found = []
    for mode, given in itertools.product(modes, ways_to_call(model)):
        trial = make().train(mode)
        graph, again = (read(tracer(trial), trial, given, gradients) for gradients in (True, False))
        if called(again) != called(graph):
            raise ValueError("it goes another way when it is called again, without gradients")
        found.append(graph)
    return found


def called(graph: fx.Graph) -> list[Any]:
    """Return what a graph calls, in order; what else it reads of the network has a new name in every reading."""
    return [node.op if node.op == "get_attr" else node.target for node in graph.nodes]


def read(tracer: fx.Tracer, model: nn.Module, given: dict[str, Any], gradients: bool) -> fx.Graph:
    """Read a forward once, called with these optional inputs."""
    with ALONE, same_draws(), torch.set_grad_enabled(gradients):
        return tracer.trace(model, given or None)


class Dataflow:
    """The calls of a network, in training and in evaluation, with and without its optional inputs.

    Raises: Untraceable.
    """

    def __init__(self, model: nn.Module) -> None:
        try:
            read = graphs(model, lambda _: Leaves(), lambda: copied(model), (True, False))
        except Exception as error:  # a forward may do anything with a proxy
            raise Untraceable(why_unread(error, model)) from error
        self.model, self.nodes = model, [node for graph in read for node in graph.nodes]
        self.modules = dict(model.named_modules(remove_duplicate=False))  # as get_submodule finds them, at once

    def calls(self, module: nn.Module) -> list[fx.Node]:
        """Return the calls of a module, in order."""
        return [node for node in self.nodes if node.op == "call_module" and self.module(node) is module]

    def module(self, node: Any) -> nn.Module | None:
        """Return the module that a node calls, if it calls one."""
        called = isinstance(node, fx.Node) and node.op == "call_module"
        return self.modules[str(node.target)] if called else None

    def follower(self, node: fx.Node) -> fx.Node | None:
        """Return the only call that gets a call's output, past modules that pass values on; None if there are more."""
        while len(node.users) == 1:
            (user,) = node.users
            module = self.module(user)
            if module is None or not is_identity(module):
                return user
            node = user
        return None

    def source(self, node: fx.Node) -> fx.Node | None:
        """Return the call whose output a call gets, past modules that pass values on."""
        while node.all_input_nodes:
            node = node.all_input_nodes[0]
            module = self.module(node)
            if module is None or not is_identity(module):
                return node
        return None

    def only_feeds(self, layer: nn.Module, module: nn.Module) -> bool:
        """Tell whether every call of a layer gives its output to a module alone, and nothing reads the layer's bias."""
        names = [name for name, each in self.model.named_modules(remove_duplicate=False) if each is layer]
        read = any(node.op == "get_attr" and node.target in [f"{name}.bias" for name in names] for node in self.nodes)
        after = [user for node in self.calls(layer) for user in node.users]
        return not read and all(self.module(user) is module for user in after)

    def ends(self, layers: Iterable[nn.Module]) -> list[nn.Module]:
        """Return those layers whose output goes to the network's, and to no other layer and no normalization.

        One that is called several times does so at every call.
        """
        known, leads, ends = set(layers), set(), dict[nn.Module, bool]()
        arrives = {node for node in self.nodes if node.op == "output"}

        def is_followed(part: nn.Module) -> bool:
            return any(each in known or isinstance(each, NORMS) for each in part.modules())

        for node in reversed(self.nodes):
            parts = {user: self.module(user) for user in node.users}
            if any(user in leads or (part and is_followed(part)) for user, part in parts.items()):
                leads.add(node)
            if arrives & set(parts):
                arrives.add(node)
            if (module := self.module(node)) in known:
                ends[module] = ends.get(module, True) and node in arrives and node not in leads
        return [layer for layer in layers if ends.get(layer)]

    def functional(self, names: set[str]) -> Iterator[str]:
        """Yield the names of functions and methods, of these, that the network calls without a module."""
        for node in self.nodes:
            name = name_of(node)
            if name in names:
                yield name


def name_of(node: fx.Node) -> str:
    """Return the name of the function or method that a node calls."""
    if node.op == "call_method":
        return str(node.target)
    if node.op != "call_function":
        return ""
    target: Callable[..., Any] | Any = node.target
    pools = {F.max_pool1d: "max_pool1d", F.max_pool2d: "max_pool2d", F.max_pool3d: "max_pool3d"}
    dispatched = pools | {F.threshold: "threshold"}
    if target is torch.maximum and len(node.args) == 2:
        return ""  # of two tensors: no activation
    return dispatched.get(target) or str(getattr(target, "__name__", target))
