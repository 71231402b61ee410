"""Typed reading of plain data: the base of every schema, and one line for the first thing that cannot be meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from normexp.config.text import short_repr, shown
from normexp.errors import UserError, unknown

_KINDS = {
    "string": "a text", "float": "a number", "int": "a whole number", "bool": "true or false",
    "list": "a list", "tuple": "a list", "dict": "a mapping", "model": "a mapping",
}  # fmt: skip
_BOUNDS = {
    "greater_than": "above {gt:g}", "greater_than_equal": "{ge:g} or more",
    "less_than": "below {lt:g}", "less_than_equal": "at most {le:g}", "finite_number": "finite",
}  # fmt: skip
_OF_CONTENT = ("string_pattern_mismatch", "string_too_short", "string_too_long")  # of a text, though the wrong one
Path = tuple[str | int, ...]


class Strict(BaseModel):
    """A mapping whose keys are all known and whose values are of the declared types; it does not change."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = [spelling(name, field) for name, field in cls.model_fields.items()]
            for key in data:
                if key not in known:
                    raise refusal(unknown("key", str(key), known), key, kind="unknown_key")
        return data

    @model_validator(mode="before")
    @classmethod
    def _no_empty_texts(cls, data: Any) -> Any:
        """Refuse an empty text in the place of a name, which would count as none where that may be left out."""
        for name, field in cls.model_fields.items() if isinstance(data, dict) else ():
            given = data.get(spelling(name, field))
            if isinstance(given, str) and not given.strip() and field.default != "":
                raise refusal(
                    "is missing" if field.is_required() else "is empty; say something or leave it out",
                    spelling(name, field),
                )
        return data


def spelling(name: str, field: FieldInfo) -> str:
    """Return how a field is written in the YAML."""
    return field.alias or name


def refusal(problem: UserError | str, *below: str | int, kind: Any = "refused") -> PydanticCustomError:
    """Return what a validator raises for a value that cannot be meant.

    Args:
        below: the keys from the validated value down to what is wrong.
    """
    return PydanticCustomError(kind, "{problem}", {"problem": str(problem), "below": list(below)})


def check_once(values: Sequence[Any], *below: str | int) -> None:
    """Raise PydanticCustomError for what stands in a list twice."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise refusal(f"{short_repr(value)} stands there twice", *below)


def first_problem(error: ValidationError, data: object) -> tuple[Path, str]:
    """Return the path in the data to the first thing that is wrong, and what is wrong there.

    An unknown key comes first, since what is missing is often the key that was misspelt; then what a validator of
    ours says, since a union also reports that the value is none of its other members.
    """
    found = error.errors(include_url=False)
    first = min(found, key=lambda each: (each["type"] != "unknown_key", each["type"] != "refused"))
    below = first.get("ctx", {}).get("below", ())
    return (*path_in(data, first["loc"], keep_last=first["type"] == "missing"), *below), _words(first)


def path_in(data: object, location: Sequence[str | int], keep_last: bool) -> Path:
    """Return the keys and positions of a location in the data, without the names that a union's members add."""
    path: list[str | int] = []
    for i, step in enumerate(location):
        if (isinstance(data, dict) and step in data) or (isinstance(data, list) and step in range(len(data))):
            data = data[step]  # type: ignore[index]
        elif not (keep_last and i == len(location) - 1):
            continue
        path.append(step)
    return tuple(path)


def _words(error: ErrorDetails) -> str:
    kind, given = error["type"], short_repr(error["input"])
    if kind in ("refused", "unknown_key"):
        return str(error["ctx"]["problem"])
    if kind == "missing":
        return "is missing"
    if kind in ("literal_error", "union_tag_invalid"):
        expected = error["ctx"].get("expected") or error["ctx"]["expected_tags"]
        what, value = ("the name", error["input"]) if kind == "literal_error" else _tag(error)
        return str(unknown(what, shown(value), re.findall(r"'([^']*)'", expected)))
    if kind == "union_tag_not_found":
        return f"{error['ctx']['discriminator']} is missing in {given}".replace("'", "", 2)
    if bound := _BOUNDS.get(kind):
        return f"{given}: must be {bound.format(**error.get('ctx', {}))}"
    if kind == "too_short":
        return f"{given if error['input'] else 'is empty'}; give {error['ctx']['min_length']} or more"
    if kind == "too_long":
        return f"{given}: give at most {error['ctx']['max_length']}"
    if kind == "string_type" and isinstance(error["input"], int | float):
        return f"{given} is not a text; in quotes it is: '{given}'"
    if (wanted := _KINDS.get(kind.split("_")[0])) and kind not in _OF_CONTENT:
        return f"{given} is not {wanted}"
    return f"{given}: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _tag(error: ErrorDetails) -> tuple[str, object]:
    """Return the key that tells the members of a union apart, and what was given for it."""
    key = error["ctx"]["discriminator"].strip("'")
    return key, error["input"][key]
