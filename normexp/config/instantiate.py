"""A config node with `_target_` -> the object it names. Only normexp, torch.optim and named plugins may be named."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, TypeVar

from normexp.config.annotations import annotated, check_texts
from normexp.config.config import Config
from normexp.config.hints import modules_here, must_be_named
from normexp.config.options import option, without_descriptions
from normexp.config.own import GROUPS
from normexp.errors import (
    UserError,
    did_you_mean,
    first_line,
    kind_and_line,
    kind_of,
    line_in,
    line_of_import,
    nearest,
    never_awaited,
    not_taking,
    unknown,
)

Part = TypeVar("Part")

TRUTH = ("yes", "no", "on", "off", "y", "n")
TRUSTED = ("normexp", "torch.optim")


def locate(target: str, plugins: Sequence[str] = ()) -> Callable[..., Any]:
    """Import and return what `package.module.Name` names. Raises UserError for code that may not be named."""
    module, _, name = target.rpartition(".")
    if not is_inside(module, (*TRUSTED, *plugins)):
        raise must_be_named(target, target)
    if not is_inside(module, TRUSTED):
        find_in_current_folder()
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except UserError as error:
        raise UserError(f"{target}: {error}") from None
    except (Exception, SystemExit) as error:  # a plugin may fail in any way while it is imported
        why = f"{kind_and_line(error)}{line_of_import(error, module)}"
        raise UserError(f"{target}: cannot be imported ({why}){_near(module, name, error)}") from error
    if wrong := never_awaited(found):
        raise UserError(f"{target}: {wrong}")
    return found


def _near(module: str, name: str, error: BaseException) -> str:
    """Return what may have been meant: another name of the module, or a file of the current folder."""
    if module == "__main__":  # of another process than the one where a notebook's cell, or a script, defined it
        return "; put it into a file"
    if hidden := _hidden(module.partition(".")[0]):
        return hidden
    if isinstance(error, ModuleNotFoundError) and is_inside(module, [error.name or ""]):
        close = nearest(module, modules_here(), cutoff=0.7)
        return did_you_mean(close) or f"; no {module.replace('.', '/')}.py in the current folder, and not installed"
    return did_you_mean(nearest(name, _defined_in(module)) if isinstance(error, AttributeError) else None)


def _hidden(root: str) -> str:
    """Say that what the current folder has under a name is hidden by an installed module, as test.py is by Python's."""
    here, found = PathFinder.find_spec(root, [str(Path.cwd())]), getattr(sys.modules.get(root), "__spec__", None)
    if here is None or found is None or here.origin == found.origin:
        return ""
    which = "Python's own" if root in sys.stdlib_module_names else "an installed"
    return f"; what the current folder has as {root} is hidden by {which} module of that name: give it another"


def is_inside(module: str, roots: Sequence[str]) -> bool:
    """Tell whether a module is one of these or below one."""
    return any(module == root or module.startswith(f"{root}.") for root in roots)


def _defined_in(module: str) -> list[str]:
    """Return the names of what a module, or one below it, defines; none where it could not be imported."""
    there = vars(sys.modules[module]) if module in sys.modules else {}
    return [name for name, value in there.items() if is_inside(str(getattr(value, "__module__", "")), [module])]


def find_in_current_folder() -> None:
    """Let a plugin be a file of the folder that the user is in; installed modules of the same name come first."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def instantiate_part(config: Config, group: str, kind: type[Part], **extra: Any) -> Part:
    """Build the part of a group, an option of ours or the user's own, which must be of this kind.

    A class is looked at before it is called; of a function, what it returns.

    Raises: UserError where it is of another kind, and as `instantiate` does.
    """
    node, plugins = config[group], config["plugins"]
    target = locate(node["_target_"], plugins)
    if isinstance(target, type) and not issubclass(target, kind):
        raise UserError(f"{node['_target_']}: is no {kind.__name__} (derive it from {_public_name(kind)})")
    if not callable(target):
        raise UserError(f"{node['_target_']}: is neither a class nor a function")
    _check_awaited(node["_target_"], target, kind)  # before it is called: torch wraps the step() of an optimizer then
    _check_given(group, node, target, extra, kind)
    if not node["_target_"].startswith("normexp."):
        check_texts(group, node["_target_"], target, node)
    try:
        made = instantiate(node, plugins, **extra)
    except UserError as error:
        raise _by_own_part(error, config, group) or error from error.__cause__
    if not isinstance(made, kind):
        raise UserError(f"{node['_target_']}: returns a {kind_of(made)}, and must return a {_public_name(kind)}")
    _check_awaited(node["_target_"], made, kind)
    _check_taken(node["_target_"], made, kind)
    return made


def _by_own_part(error: UserError, config: Config, group: str) -> UserError | None:
    """Return the error in one line that names the part of the user's own which refused a value, else None.

    It says what it does not take, but not who it is; a scheme of the user's own speaks in the middle of our network.
    """
    if not isinstance(cause := error.__cause__, ValueError):
        return None
    own = own_parts(config)
    raised_by = innermost([frame for frame, _ in traceback.walk_tb(cause.__traceback__)], own, config) or group
    return UserError(f"{raised_by}={own[raised_by]}: {first_line(cause)}") if raised_by in own else None


def own_parts(config: Config) -> dict[str, str]:
    """Return {group: target} of the parts that are the user's own; of a part of a scheme {norm.PART: target}."""
    own = {group: config[group]["_target_"] for group in GROUPS if "." in config.choices[group]}
    parts = {f"norm.{key}": part.get("_target_") for key, part in config["norm"].items() if isinstance(part, Mapping)}
    return own | {key: target for key, target in parts.items() if target and not is_inside(target, TRUSTED)}


def has_own(config: Config, *groups: str) -> bool:
    """Tell whether a part of one of these groups, or a part of that, is the user's own."""
    return any(key.partition(".")[0] in groups for key in own_parts(config))


def innermost(frames: Sequence[FrameType], own: Mapping[str, str], config: Config) -> str | None:
    """Return the group of the own part that the last of such frames is of, a method or the function; or None."""
    return next(filter(None, (_part_of(frame, own, config["plugins"]) for frame in reversed(frames))), None)


def _part_of(frame: FrameType, own: Mapping[str, str], plugins: Sequence[str]) -> str | None:
    for group, target in own.items():
        part = locate(target, plugins)
        is_method = isinstance(part, type) and isinstance(frame.f_locals.get("self"), part)
        if is_method or frame.f_code is getattr(part, "__code__", None):
            return group
    return None


def instantiate_option(group: str, name: str) -> Any:
    """Build an option of ours by its name, with its default settings."""
    return instantiate(without_descriptions(option(group, name)))


def _public_name(kind: type) -> str:
    """Return where a class is imported from: torch.nn.Module, not torch.nn.modules.module.Module."""
    module = kind.__module__
    if module.startswith("torch."):
        module = ".".join(module.split(".")[:2])
    return f"{module}.{kind.__qualname__}"


def instantiate(node: Mapping[str, Any], plugins: Sequence[str] = (), **extra: Any) -> Any:
    """Call the node's target with its other keys and `extra`; nodes inside the node come first.

    Raises: UserError where the target refuses a value (ValueError) or has no such parameter.
    """
    target = locate(node["_target_"], plugins)
    given = {key: _nested(value, plugins) for key, value in node.items() if key != "_target_"}
    _check_fields(node["_target_"], target, given)
    _check_keys(node["_target_"], inspect.signature(target), given, extra)
    _check_truth(node["_target_"], inspect.signature(target), given)
    if not node["_target_"].startswith("normexp."):
        given = annotated(node["_target_"], target, given)
    try:
        return target(**given, **extra)
    except UserError:
        raise
    except ValueError as error:
        name = "" if node["_target_"].startswith("normexp.") else f"{node['_target_']}: "
        raise UserError(f"{name}{first_line(error)}") from error
    except Exception as error:
        if node["_target_"].startswith("normexp."):
            raise
        line = "" if is_inside(target.__module__, TRUSTED) else line_in(error, target.__module__)
        why = f"{kind_and_line(error)}{line}"
        told = f"failed ({why}){_unnamed(target, error)}"
        raise UserError(f"{node['_target_']}: {told}; --debug shows where") from error


def _unnamed(target: Callable[..., Any], error: Exception) -> str:
    """Say, where what is missing may hide behind `*args` or `**kwargs`, that values are given by name."""
    kinds = {parameter.kind for parameter in inspect.signature(target).parameters.values()}
    if not (isinstance(error, LookupError) or (isinstance(error, TypeError) and "missing" in str(error))):
        return ""
    if not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        return ""
    return "; only parameters with a name are given a value: write them out in place of *args and **kwargs"


def _check_fields(name: str, target: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise UserError for a key that a class without @dataclass annotates: so it is no parameter of the class."""
    annotated = inspect.get_annotations(target) if isinstance(target, type) and is_dataclass(target) else {}
    for key in given:
        if key in annotated and key not in inspect.signature(target).parameters:
            above = "write @dataclass(frozen=True, kw_only=True) above the class"
            raise UserError(f"{name}: key {key!r} is annotated, and no parameter of the class; {above}")


def _check_keys(name: str, signature: inspect.Signature, given: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
    """Raise UserError for a key that is no parameter, and for a parameter without a value."""
    parameters = signature.parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for key in given:
            if key not in parameters:
                raise unknown(f"{name}: key", key, [each for each in parameters if each not in extra])
    for key in given.keys() & extra.keys():
        raise UserError(f"{name}: key {key!r} is not yours to set: the program gives its {key}")
    try:
        signature.bind(**given, **extra)
    except TypeError as error:
        raise UserError(f"{name}: {error}") from None


def _check_given(
    group: str, node: Mapping[str, Any], target: Callable[..., Any], extra: Mapping[str, Any], kind: type
) -> None:
    """Raise UserError for a parameter without a value, which a key of the group can give it.

    A function that takes what a method of a kind of ours takes is meant to be that method.
    """
    for name, parameter in inspect.signature(target).parameters.items():
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if not by_name or parameter.default is not parameter.empty or name in {**node, **extra}:
            continue
        hooks = (hook for hook, ours in _methods(kind) if name in inspect.signature(ours).parameters)
        if hook := next(hooks, None):
            derived = f"whose {hook}() takes {name} (derive a class from {_public_name(kind)})"
            raise UserError(f"{node['_target_']}: is no {kind.__name__}, {derived}")
        raise UserError(f"{node['_target_']}: {name} has no value; give one: {group}.{name}=VALUE")


def _check_awaited(name: str, made: object, kind: type) -> None:
    """Raise UserError where a method that a kind of part has, a network's forward, is an `async def`.

    Args:
        made: a class, or what it made, on which such a method may have been put.
    """
    for method in dir(kind):
        if wrong := never_awaited(inspect.getattr_static(made, method, None)):
            raise UserError(f"{name}: its {method}() {wrong}")


def _check_taken(name: str, made: object, kind: type) -> None:
    """Raise UserError where a method that a kind of ours has, a probe's measure, cannot be called as it is called."""
    for method, ours in _methods(kind):
        if getattr(type(made), method) is not ours and (wrong := not_taking(getattr(made, method), ours)):
            raise UserError(f"{name}: its {method}() {wrong}")


def _methods(kind: type) -> list[tuple[str, FunctionType]]:
    """Return the methods of a kind of part that somebody may override, with their names; none of a kind of torch's."""
    ours = vars(kind).items() if is_inside(kind.__module__, TRUSTED) else ()
    return [(name, each) for name, each in ours if isinstance(each, FunctionType) and not name.startswith("_")]


def _check_truth(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    """Raise UserError for a word such as `off` where a truth value is due: Python takes every text for true."""
    for key, value in given.items():
        parameter = signature.parameters.get(key)
        due = parameter and (isinstance(parameter.default, bool) or parameter.annotation in (bool, "bool"))
        if due and isinstance(value, str) and value.casefold() in TRUTH:
            raise UserError(f"{name}: {key}={value}: must be true or false")


def _nested(value: Any, plugins: Sequence[str]) -> Any:
    return instantiate(value, plugins) if isinstance(value, Mapping) and "_target_" in value else value
