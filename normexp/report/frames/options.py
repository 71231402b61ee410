"""What makes a run's arm: every option it was made with, except its seed and where it was computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import PurePath

from normexp.config import flat
from normexp.config.defaults import with_defaults
from normexp.config.identity import IGNORED_KEYS, PATH_KEYS
from normexp.config.options import option
from normexp.config.own import GROUPS as OWN_GROUPS
from normexp.config.own import target_key
from normexp.config.parts import TARGET, part_options
from normexp.config.text import shown
from normexp.records import RunDirectory, printable

NOTE = "data"  # the key of what is special about the data, such as a lossy copy
# `eval_every` decides how often a run is looked at, not what it is.
SAME_ARM = ("seed", "eval_every", "dataset.archive", *IGNORED_KEYS)


class Options(dict[str, str]):
    """What makes a run's arm: chosen options by group, and every resolved key by its dotted name, as text.

    A key that its record does not have yet is at today's default.

    Args:
        changed: the keys among them that were set, not left at the default.
    """

    def __init__(self, options: Mapping[str, str], seed: int, changed: frozenset[str]) -> None:
        super().__init__(options)
        self.seed, self.changed = seed, changed


def parts_of(options: Iterable[str]) -> list[str]:
    """Return the keys of the parts that a scheme has, as `norm.activations` of a stack."""
    owners = (key.removesuffix(f".{TARGET}") for key in options if key.endswith(TARGET))
    return [owner for owner in owners if owner.startswith("norm.") and owner.count(".") == 1]


@cache
def _part_options() -> dict[str, str]:
    """Return {class: option} of the schemes that may be a part."""
    return {option("norm", name)[TARGET]: name for name in part_options()}


def run_options(directory: RunDirectory) -> Options:
    """Read a run's options. Raises UserError where its config cannot be read.

    The data's note takes the place of the archive's path: the same data from another folder is the same arm,
    a lossy copy is not. Other files count by their name. Values are as a figure or a page may show them.
    """
    config = with_defaults(directory.config)
    changed = frozenset(map(str, config.get("_changes_") or {}))
    keys = {key: value for key, value in config.items() if key not in ("_choices_", "_changes_")}
    options = {key: shown(value) for key, value in flat(keys).items() if key not in SAME_ARM}
    options |= {key: PurePath(options[key]).name for key in PATH_KEYS if key in options}
    options |= {group: str(option) for group, option in config["_choices_"].items()}
    for group in OWN_GROUPS:  # a part of the user's own goes by its class name
        if target_key(group) in changed:
            options[group] = options[target_key(group)].rpartition(".")[2]
    parts = {part: options[target_key(part)] for part in parts_of(options)}
    options |= {part: _part_options().get(target) or target.rpartition(".")[2] for part, target in parts.items()}
    own = {target_key(part) for part, target in parts.items() if target not in _part_options()}
    changed = changed.difference(parts) | own  # a part is in a label where stacks differ in it
    options[NOTE] = str(directory.data.get("note") or "")
    options = {key: printable(value, most=len(value)) for key, value in options.items()}
    return Options(options, int(config.get("seed", 0)), changed)
