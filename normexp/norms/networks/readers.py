"""What a network's own forward reads of the modules that are to be replaced, found before any of them is."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from torch import fx, nn

from normexp.norms.networks.dataflow import Dataflow, Leaves, Untraceable, copied, graphs, name_of
from normexp.norms.networks.modules import LAYERS
from normexp.norms.networks.torch_weights import freed, set_free

Calls = list[tuple[Any, ...]]
KEEPS = "keeps modules in another place too (a list, a function), where the scheme would not come"
ASKS = "asks what its modules are, and computes something else where they are the scheme's"
TYPE = "type()"
NORMALIZING = {"batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"}


class Lacks(Exception):
    """The network reads an attribute of a module, or calls it with a name, that what replaces it does not have.

    Args:
        asked: "running_var" for an attribute, "input=" for a name of an argument, "2 inputs" for how many it is given.
    """

    def __init__(self, name: str, asked: str) -> None:
        super().__init__(name, asked)
        self.name, self.how = name, f"calls it with {asked}" if is_given(asked) else f"reads its {asked}"


class Differs(Exception):
    """The network's own code would compute something else than the scheme asks for; the message says why."""


class Around(Leaves):
    """Traces a network around what replaces its modules, by its name there."""

    def __init__(self, inner: dict[nn.Module, str]) -> None:
        super().__init__()
        self.inner = inner

    def call_module(self, m: nn.Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for asked in given(len(args), kwargs) if m in self.inner else ():
            if not takes(m, asked):
                raise Lacks(self.inner[m], asked)
        return super().call_module(m, forward, args, kwargs)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return m in self.inner or super().is_leaf_module(m, module_qualified_name)


def check_readers(model: nn.Module, flow: Dataflow | Untraceable, new: dict[nn.Module, nn.Module]) -> None:
    """Raise Lacks or Differs if the network's own code would not get what it needs from `new[module]`.

    The calls of the network, as it is, are compared with those that it makes with copies of the new modules.

    Args:
        flow: its calls. Where its forward depends on values, so that nothing can be read without running it, the source
            of its classes is searched instead.
    """
    if isinstance(flow, Untraceable):
        for name, attribute in attributes(model, set(new)):
            if lacks(model.get_submodule(name), new[model.get_submodule(name)], attribute):
                raise Lacks(name, attribute)
        return
    before = [described(node) for node in flow.nodes]
    for _, target, _ in before:
        refuse_function(target)
    if before != calls(model, new):
        raise Differs(ASKS)


def refuse_function(name: object) -> None:
    if name in NORMALIZING:
        raise Differs(f"calls {name}() as a function, which the scheme cannot replace")


def lacks(old: nn.Module, made: nn.Module, attribute: str) -> bool:
    """Tell whether an attribute that the old module has is missing in the new one, or None there alone."""
    if is_given(attribute):
        return not takes(made, attribute)
    missing = getattr(old, attribute, None) is not None and getattr(made, attribute, None) is None
    return attribute == TYPE or missing


def given(inputs: int, names: Iterable[str]) -> Iterator[str]:
    """Yield what a call gives a module beside its one input: names of arguments, and how many have none."""
    yield from (f"{name}=" for name in names)
    if inputs > 1:
        yield f"{inputs} inputs"


def is_given(asked: str) -> bool:
    return asked.endswith(("=", " inputs"))


def takes(module: nn.Module, asked: str) -> bool:
    """Tell whether a module can be called with an argument of this name, or with this number of them."""
    known = inspect.signature(module.forward).parameters
    if asked.endswith("="):
        return asked[:-1] in known or any(each.kind is each.VAR_KEYWORD for each in known.values())
    places = [each for each in known.values() if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(places) >= int(asked.split()[0]) or any(each.kind is each.VAR_POSITIONAL for each in known.values())


# --- by reading its calls


def calls(model: nn.Module, new: dict[nn.Module, nn.Module]) -> Calls:
    """Return what the network calls, in order, on copies with `new` in place. Raises Lacks or Differs."""
    names = {name: new[module] for name, module in model.named_modules(remove_duplicate=False) if module in new}
    trial = model

    def make() -> nn.Module:
        nonlocal trial
        trial = in_place(model, names)
        return trial

    def around(made: nn.Module) -> Around:
        return Around({made.get_submodule(name): name for name in names})

    try:
        read = graphs(model, around, make, (True, False))
    except Lacks:
        raise
    except Exception as error:  # a forward may do anything with a proxy
        raise reason(error, trial, names) from error
    return [described(node) for graph in read for node in graph.nodes]


def in_place(model: nn.Module, names: dict[str, nn.Module]) -> nn.Module:
    """Return a copy of the network, which shares its parameters and nothing else, with modules under these names."""
    trial, copies = copied(model), {made: copied(made) for made in names.values()}
    for name, made in sorted(names.items(), reverse=True):
        parent, _, last = name.rpartition(".")
        trial.get_submodule(parent)._modules[last] = copies[made]  # in all places of one that has several
    return trial


def reason(error: Exception, trial: nn.Module, names: dict[str, nn.Module]) -> Exception:
    asked, attribute = getattr(error, "obj", None), getattr(error, "name", None)
    for name in names:
        if isinstance(asked, nn.Module) and trial.get_submodule(name) is asked:
            return Lacks(name, str(attribute))
    return Differs(KEEPS if isinstance(error, NameError) else ASKS)  # torch.fx: a module that is not installed


def described(node: fx.Node) -> tuple[Any, ...]:
    target = name_of(node) or node.target
    return node.op, target, str(fx.node.map_aggregate((node.args, node.kwargs), plain))


def plain(value: object) -> Any:
    """Return what a value is in two readings alike: a call's name, a number or a text, else its type."""
    known = isinstance(value, (fx.Node, int, float, str, type(None)))
    return str(value) if known else type(value).__name__


def reads_behind(model: nn.Module, flow: Dataflow | Untraceable, layers: list[nn.Module]) -> str:
    """Return what the network reads of that from which torch computes the weight of layers; empty if it does not.

    Args:
        flow: its calls, or why they cannot be read: then the source of its classes is searched instead.
    """
    if isinstance(flow, Untraceable):
        behind = {name for layer in layers for name in what_is_gone(layer)}
        return next((name for _, name in attributes(model, set(layers)) if name in behind), "")
    names = [name for name, module in model.named_modules() if module in layers]
    trial = copied(model, *layers)
    for name in names:
        set_free(trial.get_submodule(name))
    try:
        Dataflow(trial)
    except Untraceable as why:
        return str(getattr(why.__cause__, "name", None) or "parts")
    return ""


def what_is_gone(layer: nn.Module) -> set[str]:
    """Return the attributes that such a layer has and loses with its weight set free."""
    before = {*dir(layer), *layer._parameters, *layer._buffers, *layer._modules}
    free = freed(layer)
    return before - {*dir(free), *free._parameters, *free._buffers, *free._modules}


# --- by reading its source


def attributes(model: nn.Module, modules: set[nn.Module]) -> Iterator[tuple[str, str]]:
    """Yield the name of each of these modules, and an attribute or `argument=`, that some forward's source asks."""
    names = {module: name for name, module in model.named_modules()}
    for owner in names:
        if owner not in modules and not type(owner).__module__.startswith("torch.nn."):
            for read, attribute in in_source(owner):
                if read in modules:
                    yield names[read], attribute


def in_source(owner: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Yield module and attribute where a forward, or a method that it calls, says `self.module.attribute`.

    Module and `argument=` where it says `self.module(argument=...)`, `2 inputs` where `self.module(x, y)`.

    Raises: Differs where it calls a function that normalizes; a layer may normalize its own weight.
    """
    waiting, seen = ["forward"], set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        method = getattr(type(owner), name)
        known: dict[str, Any] = {next(iter(inspect.signature(method).parameters), ""): owner}
        for node in ast.walk(source(method)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                known[node.targets[0].id] = found(node.value, known)
            if isinstance(node, ast.Call) and isinstance(called := found(node.func, known), nn.Module):
                inputs = sum(not isinstance(each, ast.Starred) for each in node.args)
                yield from ((called, each) for each in given(inputs, (each.arg for each in node.keywords if each.arg)))
            if not isinstance(owner, LAYERS):
                refuse_function(function(node, known))
            if (read := asked(node)) is None:
                continue
            module, attribute = found(read[0], known), read[1]
            if module is owner and inspect.isfunction(getattr(type(owner), attribute, None)) and attribute not in seen:
                waiting.append(attribute)
            elif isinstance(module, nn.Module):
                yield module, attribute


def asked(node: ast.AST) -> tuple[ast.expr, str] | None:
    """Return the expression and the attribute of `a.b` and of `getattr(a, "b")`, or that its type is asked."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"):
        return (node.args[0], TYPE) if node.args else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        match node.args:
            case [of, ast.Constant(value=str(name)), *_]:
                return of, name
    return None


def function(node: ast.AST, known: dict[str, Any]) -> str:
    """Return the name of what a call calls, if that is no part of what is known here: `F.relu`, not `self.relu`."""
    if not isinstance(node, ast.Call) or any(isinstance(n, ast.Name) and n.id in known for n in ast.walk(node.func)):
        return ""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def found(expression: ast.expr, known: dict[str, Any]) -> Any:
    """Return the module that an expression like `self.layers[0].norm` names, or None."""
    if isinstance(expression, ast.Name):
        return known.get(expression.id)
    if isinstance(expression, ast.Attribute):
        return getattr(found(expression.value, known), expression.attr, None)
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        holder = found(expression.value, known)
        with_items = isinstance(holder, (nn.Sequential, nn.ModuleList, nn.ModuleDict))
        try:
            return holder[expression.slice.value] if with_items else None
        except (KeyError, IndexError):
            return None
    return None


def source(method: Any) -> ast.AST:
    """Return a method's parsed source; an empty one for what has none."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])
