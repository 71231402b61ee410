"""One resolved configuration: its values, its name, its command line, its file."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import yaml

from normexp.config.identity import PATH_KEYS, UNRECORDED, identity, last_name
from normexp.config.recipe import KEY, NONE
from normexp.config.text import override_text


@dataclass(frozen=True)
class Config:
    """One resolved, checked configuration.

    Args:
        values: nested options as a run uses them; every group keeps its `_target_`.
        choices: group -> chosen option; of a scheme of the user's own, its target.
        changes: dotted key or group -> value, for all that differs from the defaults.
        content: sha256 of the data that the user brings, see `identity`; None as long as nobody looked.
    """

    values: dict[str, Any]
    choices: dict[str, str]
    changes: dict[str, Any]
    content: str | None = None

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @cached_property
    def identity(self) -> str:
        return identity(self.changes, self.content)

    @property
    def title(self) -> str:
        """The readable part of the run directory's name."""
        study = [] if self.choices["study"] == "none" else [self.choices["study"]]
        parts = (self.choices["dataset"], self.choices["model"], self.choices["norm"])
        return "-".join((*study, *parts, f"seed{self['seed']}"))

    @property
    def name(self) -> str:
        """The run directory's name: readable first, unique by its last part."""
        return f"{self.title}-{self.identity}"

    def chosen(self, *groups: str) -> str:
        """Return what was chosen of groups, as it is typed: `model=mlp norm=batch`."""
        return " ".join(f"{group}={self.choices[group]}" for group in groups)

    @property
    def files(self) -> dict[str, Any]:
        """The local files and folders that it names: dotted key -> path, or several, as typed."""
        leaves = flat(self.values)
        return {key: leaves[key] for key in PATH_KEYS if leaves.get(key) is not None}

    @property
    def overrides(self) -> list[str]:
        """The overrides that make this configuration again from the defaults."""
        return [f"{key}={override_text(value)}" for key, value in self.changes.items()]

    @property
    def arguments(self) -> list[str]:
        """The same, quoted as a shell wants them."""
        return [shlex.quote(override) for override in self.overrides]

    def recorded(self) -> Config:
        """Return the configuration as a record has it, without the keys that no record depends on."""
        values, changes = (
            {key: value for key, value in tree.items() if key not in UNRECORDED} for tree in (self.values, self.changes)
        )
        return replace(self, values=values, changes=changes)

    def to_yaml(self) -> str:
        """Return config.yaml: the command, the resolved options, the choices and the changes.

        The command names local files as they were typed, so that it can be pasted. The record itself keeps only
        their last names: it reads the same wherever the data lie.
        """
        values, names = copy.deepcopy(self.values), {key: last_name(path) for key, path in self.files.items()}
        for key, name in names.items():
            group, _, leaf = key.partition(".")
            values[group][leaf] = copy.copy(name)  # YAML would write a list that stands twice as an alias
        content = {**values, "_choices_": self.choices, "_changes_": {**self.changes, **names}}
        header = f"# normexp run {KEY}={NONE} {' '.join(self.arguments)}".rstrip()
        return f"{header}\n{yaml.safe_dump(content, sort_keys=False, allow_unicode=True)}"


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return {dotted key: value}; a list is one value."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            leaves |= flat(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves
