"""What an interrupted run was computed on before it was continued: another processor or library rounds otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normexp.records import OWN_CODE

ROUNDING = (
    "device",
    "processor",
    "cpu",
    "arithmetic",
    "packages",
    "normexp",
    "commit",
    "precision",
    "threads",
    OWN_CODE,
)


def earlier_machines(before: Mapping[str, Any], now: Mapping[str, Any], step: int) -> list[dict[str, Any]]:
    """Return what environment.json says of the attempts up to `step`, oldest first, where that was something else.

    Args:
        before: environment.json of the attempt before.
        now: the same of this one.
    """
    earlier = list(before.get("continued", []))
    old, new = _rounding(before), _rounding(now)
    return [*earlier, {"until_step": step, **old}] if any(old[key] != new.get(key) for key in old) else earlier


def _rounding(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Return what results depend on in their last digits; of the processor's flags, their hash."""
    kept = {key: environment[key] for key in ROUNDING if key in environment}
    if isinstance(kept.get("cpu"), Mapping):
        kept["cpu"] = {key: value for key, value in kept["cpu"].items() if key != "flags"}
    return kept
