"""A config node with `_target_` -> the object it names. Only normexp, torch.optim and named plugins may be named."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from normexp.errors import UserError

TRUSTED = ("normexp", "torch.optim")


def locate(target: str, plugins: Sequence[str] = ()) -> Callable[..., Any]:
    """Import and return what `package.module.Name` names. Raises UserError for code that may not be named."""
    module, _, name = target.rpartition(".")
    if not _is_inside(module, (*TRUSTED, *plugins)):
        raise UserError(f"{target}: code outside normexp must be named: add plugins=[MODULE]")
    if not _is_inside(module, TRUSTED):
        _find_in_current_folder()
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except UserError as error:
        raise UserError(f"{target}: {error}") from None
    except Exception as error:  # a plugin may fail in any way while it is imported
        raise UserError(f"{target}: cannot be imported ({type(error).__name__}: {error})") from error
    return found


def _is_inside(module: str, roots: Sequence[str]) -> bool:
    return any(module == root or module.startswith(f"{root}.") for root in roots)


def _find_in_current_folder() -> None:
    """Let a plugin be a file of the folder that the user is in; installed modules of the same name come first."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def instantiate(node: Mapping[str, Any], plugins: Sequence[str] = (), **extra: Any) -> Any:
    """Call the node's target with its other keys and `extra`; nodes inside the node come first.

    Raises: UserError where the target refuses a value (ValueError) or has no such parameter.
    """
    target = locate(node["_target_"], plugins)
    given = {key: _nested(value, plugins) for key, value in node.items() if key != "_target_"}
    try:
        inspect.signature(target).bind(**given, **extra)
    except TypeError as error:
        raise UserError(f"{node['_target_']}: {error}") from None
    try:
        return target(**given, **extra)
    except ValueError as error:
        raise UserError(str(error)) from error


def _nested(value: Any, plugins: Sequence[str]) -> Any:
    return instantiate(value, plugins) if isinstance(value, Mapping) and "_target_" in value else value
