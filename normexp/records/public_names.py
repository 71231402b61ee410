"""Classes that a record names: older records name the file that a class stood in, today's its public name."""

from __future__ import annotations

from typing import Any

_MOVED = {
    "normexp.init.": "normexp.models.init.",
    "normexp.inputs.": "normexp.data.inputs.",
    "normexp.schedules.": "normexp.training.schedules.",
}
_PUBLIC = ("norms", "models.init", "models.placements", "models", "data.inputs", "data", "probes", "studies")


def public_name(target: str) -> str:
    """Return today's name of what a record calls `target`."""
    for old, new in _MOVED.items():
        if target.startswith(old):
            target = new + target.removeprefix(old)
    for package in _PUBLIC:
        if target.startswith(f"normexp.{package}."):
            return f"normexp.{package}.{target.rpartition('.')[2]}"
    return target


def with_public_names(node: object) -> Any:
    """Return a part of a recorded configuration in which every `_target_` has today's name."""
    if not isinstance(node, dict):
        return node
    return {k: public_name(str(v)) if k == "_target_" else with_public_names(v) for k, v in node.items()}
