"""Values for code of the user's own, made what its parameters are annotated with: `k: float` gets no word."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from normexp.config.text import is_number, shortened, shown
from normexp.errors import UserError, alternatives


def annotated(name: str, target: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as their parameters' annotations say: a list as a tuple, a word as a member of an Enum.

    Annotations of plain data count (`int`, `float | None`, `list[int]`, `Literal["a", "b"]`), as JSON would be read
    into them: an integer may stand for a float. Any other is the code's own to check.

    Raises: UserError for the first value that is not what its annotation says.
    """
    read = dict(given)
    for key, due in _dues(target, given).items():
        try:
            read[key] = _read(given[key], due)
        except ValueError:
            raise UserError(_refusal(name, key, given[key], due)) from None
    return read


def check_texts(group: str, name: str, target: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise UserError for a number where a parameter takes texts alone: a file that is called 2024, say."""
    for key, due in _dues(target, given).items():
        value = given[key]
        if is_number(value) and not _fits(value, due) and _fits(str(value), due):
            typed = shlex.quote(f'{group}.{key}="{value}"')
            refusal = _refusal(name, key, value, due)
            raise UserError(f"{refusal}; a text that looks like a number has quotes: {typed}")


def _dues(target: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return {parameter: type that its annotation says} of what is given, in the order of the parameters."""
    parameters = inspect.signature(target).parameters
    return {key: _resolved(each.annotation, target) for key, each in parameters.items() if key in given}


def _refusal(name: str, key: str, value: Any, due: Any) -> str:
    is_enum = isinstance(due, type) and issubclass(due, Enum)
    annotation = inspect.formatannotation(due).replace("typing.", "")
    allowed = alternatives([str(each.value) for each in due]) if is_enum else annotation
    return f"{name}: {key}={shortened(shown(value))}: must be {allowed}"


def _resolved(annotation: Any, target: Callable[..., Any]) -> Any:
    """Return the type that an annotation kept as text names; Any where that is not known."""
    if annotation is inspect.Parameter.empty:
        return Any
    module = sys.modules.get(getattr(target, "__module__", ""))
    try:
        return eval(annotation, vars(module)) if isinstance(annotation, str) else annotation
    except Exception:  # imported for type checkers alone
        return Any


def _fits(value: Any, annotation: Any) -> bool:
    """Tell whether a value is of this type; True where the annotation is of no plain data, or the value was built."""
    try:
        _read(value, annotation)
    except ValueError:
        return False
    return True


def _read(value: Any, annotation: Any) -> Any:
    """Return a value as this type; as it is where the annotation is of no plain data, or the value was built.

    Raises: ValueError where it is not of this type.
    """
    from pydantic import PydanticUserError, TypeAdapter  # slow to import, and few need it

    if annotation is Any:
        return value
    try:
        read = TypeAdapter(annotation).validate_json(json.dumps(value), strict=True)
    except (PydanticUserError, TypeError, NameError):
        return value
    # 3 for a float stays 3, and a mapping has keys that JSON would make texts of.
    return value if isinstance(read, float) or isinstance(value, Mapping) else read
