"""The settings of the SGD that trains a network which is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from numbers import Real

from normexp.errors import UserError, as_python, unknown

SETTINGS = ("lr", "momentum", "weight_decay")


def check_settings(settings: object) -> None:
    """Raise UserError for what is no mapping of these names to numbers that SGD takes."""
    if not isinstance(settings, Mapping):
        raise UserError(f"settings={as_python(settings)}: must be a dictionary, for example {{'lr': 0.1}}")
    for name, value in settings.items():
        if name not in SETTINGS:
            raise unknown("settings:", str(name), SETTINGS)
        if problem := broken_range(name, value):
            raise UserError(f"settings: {name}={as_python(value)}: {problem}")


def broken_range(name: str, value: object) -> str:
    """Return what a setting must be, where its value is something else; nothing where it is that."""
    most, allowed = (1, "in [0, 1)") if name == "momentum" else (inf, "a number from 0")
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < most:  # NumPy's, too
        return ""
    return f"must be {allowed}"
