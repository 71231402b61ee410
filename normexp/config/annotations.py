"""Values for code of the user's own, held to what its parameters are annotated with: `k: float` gets no word."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from normexp.config.text import is_number, shortened, shown
from normexp.errors import UserError


def check_annotated(name: str, target: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise UserError for the first value that is not what its parameter's annotation says.

    Annotations of plain data count (`int`, `float | None`, `list[int]`, `Literal["a", "b"]`), as JSON would be read
    into them: an integer may stand for a float. Any other is the code's own to check.
    """
    for key, due in _misfits(target, given):
        raise UserError(_refusal(name, key, given[key], due))


def check_texts(group: str, name: str, target: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise UserError for a number where a parameter takes texts alone: a file that is called 2024, say."""
    for key, due in _misfits(target, given):
        value = given[key]
        if is_number(value) and _fits(str(value), due):
            typed = shlex.quote(f'{group}.{key}="{value}"')
            refusal = _refusal(name, key, value, due)
            raise UserError(f"{refusal}; a text that looks like a number has quotes: {typed}")


def _misfits(target: Callable[..., Any], given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters whose value is not what their annotation says, each with that."""
    for key, parameter in inspect.signature(target).parameters.items():
        due = _resolved(parameter.annotation, target)
        if key in given and not _fits(given[key], due):
            yield key, due


def _refusal(name: str, key: str, value: Any, due: Any) -> str:
    allowed = inspect.formatannotation(due).replace("typing.", "")
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
    from pydantic import PydanticUserError, TypeAdapter, ValidationError  # slow to import, and few need it

    try:
        TypeAdapter(annotation).validate_json(json.dumps(value), strict=True)
    except ValidationError:
        return False
    except (PydanticUserError, TypeError, NameError):
        return True
    return True
