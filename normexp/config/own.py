"""Parts of the user's own: `model=my_nets.Net plugins=[my_nets]` in place of an option of ours."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from normexp.config.hints import data_hint, modules_here, must_be_named, path_hint
from normexp.config.parts import TARGET, is_own
from normexp.config.text import shortened
from normexp.errors import UserError, did_you_mean, nearest

GROUPS = ("dataset", "model", "norm", "init", "optim", "schedule", "probe")  # whose part may be the user's own
PLUGINS = "plugins"  # the key that names modules of the user's own: code that is run

Texts = Mapping[str, str]  # key -> the value as text


def target_key(group: str) -> str:
    """Return the key that names the code of a group's part."""
    return f"{group}.{TARGET}"


def renamed(key: str, value: object, given: Texts) -> str:
    """Return `model._target_` for `model=my_nets.Net`, and any other key as it is.

    Args:
        value: of the key; a number or a mapping, which may have a point, too, names no code.
        given: all keys.

    Raises: UserError where an option and a part of the user's own are given for one group.
    """
    if key not in GROUPS:
        return key
    target = target_key(key)
    if target in given:
        raise UserError(f"{key}={shortened(given[key])} {target}={shortened(given[target])}: give one of the two")
    return target if isinstance(value, str) and "." in value else key


def own_groups(keys: Texts, plugins: Sequence[str]) -> tuple[str, ...]:
    """Return the groups whose part is the user's own. Raises UserError for code that may not be named there."""
    found = tuple(group for group in GROUPS if target_key(group) in keys)
    for group in found:
        _check_target(group, keys[target_key(group)], plugins)
    return found


def check_plugins(plugins: Sequence[str], values: Iterable[Any]) -> None:
    """Raise UserError for a plugin that no value uses and that is not there; one that is used is found when built."""
    values = list(values) if plugins else []
    for name in plugins:
        if not any(is_own(value, [name]) for value in values) and not _is_module(name):
            hint = did_you_mean(nearest(name, modules_here()))
            raise UserError(
                f"plugins=[{shortened(name)}]: no module of this name is in the current folder or installed{hint}"
            )


def may_be_module(name: str) -> bool:
    """Tell whether a name is written as one of a module is: my_nets, nets.mine."""
    return all(part.isidentifier() for part in name.split("."))


def _is_module(name: str) -> bool:
    """Tell whether a module can be found. Imports nothing, neither it nor the packages that it is in."""
    first, *rest = name.split(".")
    if name in sys.modules:
        return True
    known = sys.modules.get(first)
    found = (known.__spec__ if known else find_spec(first)) or PathFinder.find_spec(first, [str(Path.cwd())])
    for part in rest:
        first = f"{first}.{part}"
        found = PathFinder.find_spec(first, found.submodule_search_locations or []) if found else None
    return found is not None


def _check_target(group: str, target: str, plugins: Sequence[str]) -> None:
    key, meant = target_key(group), path_hint(group, target)
    is_file = bool(meant) and (target.endswith(".py") or bool(set(target) & set(":/")))
    of_torch = group == "optim" and target.startswith("torch.optim.")  # which may be named without a plugin
    if not is_file and (of_torch or is_own(target, plugins)):
        return
    if target.startswith("normexp."):
        raise UserError(
            f"{key}={shortened(target)} is normexp's own: give its option, {group}=NAME (`normexp list` shows all)"
        )
    if group == "dataset" and data_hint(target):
        raise UserError(f"{group}={shortened(target)} is no data set{meant}")
    raise must_be_named(f"{key}={shortened(target)}", target, meant)
