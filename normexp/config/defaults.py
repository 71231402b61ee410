"""Today's defaults under choices that were recorded earlier, without Hydra: reports read many records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from normexp.config.allowed import parse
from normexp.config.config import flat
from normexp.config.options import keys_of, option, options, root, usual_options, without_descriptions
from normexp.config.parts import TARGET, chosen_parts, with_parts
from normexp.config.text import shown
from normexp.errors import UserError

Tree = dict[str, Any]
RECORDED = ("_changes_", "_choices_")  # what the config.yaml of a run has beside its values


def with_defaults(record: Mapping[str, Any]) -> Tree:
    """Return a recorded config.yaml in which keys and groups that there were not yet have today's defaults.

    What was recorded stays as it is. A scheme of the user's own has no defaults that we know of.
    """
    choices = {**usual_options(), **record["_choices_"]}
    defaults = {**_outside_groups(), **{group: _option(group, name, record) for group, name in choices.items()}}
    return {**_filled(record, defaults), "_choices_": choices}


def beyond_changes(record: Mapping[str, Any]) -> Tree:
    """Return {dotted key: value} of what a recorded config.yaml says and its `_changes_` do not make of the defaults.

    That is what somebody has changed by hand, or a default of another version. Where code lies is each version's own.
    """
    said = flat({key: value for key, value in record.items() if key not in RECORDED})
    made = flat(with_defaults({key: record[key] for key in RECORDED})) | dict(_changes(record))
    untold = object()
    return {
        key: value
        for key, value in said.items()
        if made.get(key, untold) != value and not key.endswith(TARGET) and (key, value) != ("epochs", None)
    }


def _filled(given: Mapping[str, Any], defaults: Tree) -> Tree:
    """Return `given` with what only `defaults` have, at every depth."""
    inside = {
        key: _filled(value, defaults[key])
        for key, value in given.items()
        if isinstance(value, Mapping) and isinstance(defaults.get(key), dict)
    }
    return {**defaults, **given, **inside}


@cache
def _outside_groups() -> Tree:
    return {key: root()[key] for key in keys_of(root())}


def check_values(record: Mapping[str, Any]) -> None:
    """Raise UserError for a value that today's option takes for none of its key's: somebody has edited the record.

    Keys that today's option does not have, and code of the user's own, are for whoever builds them.

    Args:
        record: as `with_defaults` returns it.
    """
    for group, name in record["_choices_"].items():
        if name in options(group):
            values, about = _described(group, name, record)
            for key, default in flat(values).items():
                if not key.endswith(TARGET):
                    _check(f"{group}.{key}", _at(record, group, key), about.get("_allowed_", {}).get(key), default)


def _check(key: str, value: Any, spec: str | None, default: Any) -> None:
    rule = parse(spec, default)
    if isinstance(rule.check(key, value), str) != isinstance(value, str):  # a number, typed, may be a text
        raise UserError(f"{key}={shown(value)}: must be {rule.describe()}")


def _at(record: Mapping[str, Any], group: str, key: str) -> Any:
    """Return what a record has under a dotted key. Raises UserError where one value stands for a mapping."""
    found: Any = record[group]
    for part in key.split("."):
        if not isinstance(found, Mapping):
            raise UserError(f"{group}.{key.rpartition('.')[0]}={shown(found)}: must be a mapping with {part}")
        found = found[part]
    return found


def _option(group: str, name: str, record: Mapping[str, Any]) -> Tree:
    return _described(group, name, record)[0] if name in options(group) else {}


def _described(group: str, name: str, record: Mapping[str, Any]) -> tuple[Tree, Mapping[str, Any]]:
    """Return an option's values, those of its recorded parts inside, and what it says of itself."""
    about = option(group, name)
    values: Tree = without_descriptions(about)
    if group != "norm":
        return values, about
    recorded = {key: part for key, part in _changes(record).items() if part in options("norm")}
    return with_parts(values, about, chosen_parts(about.get("_parts_", {}), recorded, ()))


def _changes(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record.get("_changes_") or {}
