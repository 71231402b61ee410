"""The options on disk: which groups there are, which options a group has, what an option says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def config_dir() -> Path:
    """Return the folder of the YAML files: inside an installed wheel, or at the top of a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def load_yaml(path: Path) -> dict[str, Any]:
    """Read one of our YAML files; nothing in it can name code that runs by being read."""
    loaded: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    return loaded


@cache
def root() -> dict[str, Any]:
    """Return config.yaml as it stands; read once, since a sweep may have 100,000 cells."""
    return load_yaml(config_dir() / "config.yaml")


@cache
def usual_options() -> dict[str, str]:
    """Return the usual option of every group, in the order of config.yaml's defaults list."""
    return {group: name for entry in root()["defaults"] if isinstance(entry, dict) for group, name in entry.items()}


@cache
def groups() -> tuple[str, ...]:
    """Return the config groups in the order of config.yaml's defaults list."""
    return tuple(usual_options())


@cache
def options(group: str) -> tuple[str, ...]:
    """Return the names of a group's options, `none` first, then by name."""
    names = (path.stem for path in (config_dir() / group).glob("*.yaml"))
    return tuple(sorted(names, key=lambda name: (name != "none", name)))


@cache
def option(group: str, name: str) -> dict[str, Any]:
    """Return an option's YAML file as it stands, with its description keys."""
    return load_yaml(config_dir() / group / f"{name}.yaml")


def said_by(group: str, name: str | None, key: str) -> Any:
    """Return what an option says of itself under a key; None where it says nothing, or is no option of ours."""
    return option(group, name).get(key) if name in options(group) else None


@cache
def keys_by_word() -> dict[str, str]:
    """Return the words that name a group or a key, which are the whole of it or its last part -> the group or key."""
    keys = [*groups(), *keys_of(root())]
    for group in ("optim", *groups()):  # of a word that several groups have, the optimizer's is meant
        found = dict.fromkeys(key for name in options(group) for key in keys_of(option(group, name)))
        keys += [f"{group}.{key}" for key in found]
    return {**{key.rpartition(".")[2]: key for key in reversed(keys)}, **{key: key for key in keys}}


def options_with(group: str, key: str) -> list[str]:
    """Return the options of a group that have a key."""
    return [name for name in options(group) if key in keys_of(option(group, name))]


def usual_and_allowed(key: str) -> list[tuple[Any, str]]:
    """Return the usual value of a whole key and what it may be (empty: anything), in each option that has it."""
    group, _, name = key.partition(".")
    trees = [option(group, each) for each in options_with(group, name)] if group in groups() else [root()]
    return [(tree.get(name or key), tree.get("_allowed_", {}).get(name or key, "")) for tree in trees]


def without_descriptions(tree: object) -> Any:
    """Return a copy of the tree that holds no description keys."""
    if not isinstance(tree, dict):
        return tree
    return {key: without_descriptions(value) for key, value in tree.items() if not is_description(str(key))}


def keys_of(tree: Mapping[str, Any]) -> list[str]:
    """Return the keys of an option, or of config.yaml, that a user can set."""
    return [key for key in tree if key not in ("defaults", "_target_") and not is_description(key)]


def is_description(key: str) -> bool:
    """Tell a key that describes (`_about_`) from one that configures (`lr`, `_target_`)."""
    return key.startswith("_") and key.endswith("_") and key != "_target_"
