"""The settings of the SGD that trains a network which is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from normexp.errors import UserError, unknown

SETTINGS = ("lr", "momentum", "weight_decay")


def check_settings(settings: object) -> None:
    """Raise UserError for what is no mapping of these names to numbers that SGD takes."""
    if not isinstance(settings, Mapping):
        raise UserError(f"settings={settings!r}: must be a dictionary, for example {{'lr': 0.1}}")
    for name, value in settings.items():
        if name not in SETTINGS:
            raise unknown("settings:", str(name), SETTINGS)
        if not isinstance(value, int | float) or not 0 <= value < (1 if name == "momentum" else inf):
            allowed = "in [0, 1)" if name == "momentum" else "a number from 0"
            raise UserError(f"settings: {name}={value!r}: must be {allowed}")
