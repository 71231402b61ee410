"""Options of a scheme with what they may be: fields that `Norm` checks whenever a scheme is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from numbers import Integral, Real
from typing import Any, TypeVar

from normexp.errors import alternatives, as_python

Value = TypeVar("Value")


def positive(default: float) -> float:
    """An option above 0: an eps, which is added to a variance; a strength."""
    return option(default, lambda value: value > 0, "above 0")


def share(default: float) -> float:
    """An option in (0, 1]: a momentum, the weight of the new batch."""
    return option(default, lambda value: 0 < value <= 1, "in (0, 1]")


def at_least(least: float, default: Value) -> Value:
    """An option that is a number of at least `least`."""
    return option(default, lambda value: value >= least, f"at least {least}")


def one_of(default: str, *others: str, why: str = "") -> str:
    """An option that is one of several words, its default first.

    Args:
        why: there are no others, for the error.
    """
    words = (default, *others)
    return option(default, lambda value: value in words, alternatives([*map(repr, words)]), why)


def option(default: Value, holds: Callable[[Any], bool], allowed: str, why: str = "") -> Value:
    """Return a field of a dataclass; `holds` tells of a value whether it may be, `allowed` says what may."""
    return field(default=default, metadata={"holds": holds, "allowed": allowed, "why": why and f": {why}"})


def check_options(scheme: Any) -> None:
    """Raise ValueError for the first option of a dataclass that is not what its annotation or its range says.

    A number becomes one of Python's, of its annotation: 1 is 1.0 where a float is due, as the command line has it.
    """
    for each in fields(scheme):
        value, about = getattr(scheme, each.name), each.metadata
        if each.type in _KINDS:
            kind, is_one, into = _KINDS[each.type]
            if not is_one(value):
                raise ValueError(f"{each.name} must be {kind}{_range(about)}, not {as_python(value)}")
            object.__setattr__(scheme, each.name, into(value))
        if "holds" in about and not _holds(value, about["holds"]):
            raise ValueError(f"{each.name} must be {about['allowed']}, not {as_python(value)}{about['why']}")


def _range(about: Mapping[str, Any]) -> str:
    return f", {about['allowed']}" if "allowed" in about else ""


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        return is_number and math.isfinite(value)
    except OverflowError:  # a whole number beyond float64's
        return False


# By annotation, which may be a text: in words what a value must be, whether it is, and what it becomes. Others are the
# scheme's own.
_KINDS: dict[Any, tuple[str, Callable[[Any], bool], Callable[[Any], Any]]] = {
    **dict.fromkeys((bool, "bool"), ("True or False", _is_bool, bool)),
    **dict.fromkeys((int, "int"), ("an integer", _is_int, int)),
    **dict.fromkeys((float, "float"), ("a finite number", _is_float, float)),
}


def _holds(value: object, holds: Callable[[Any], bool]) -> bool:
    """Tell whether a value may be; what cannot be compared with a number, a text for example, may not."""
    try:
        return holds(value)
    except TypeError:
        return False
