"""Names that the YAML of an experiment uses, checked against those that there are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from normexp.errors import UserError, unknown

CLAIMS = "claims.json"  # the judged claims, in results/NAME/SCALE
BEST_OF = "best of "  # begins a target that is an arm's best value
AT = re.compile(r"last|best|mean|step \d+")
SCALES = ("smoke", "cpu", "desk", "paper")


def columns_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the columns of a table as mappings; a text is a metric, looked at where the table says."""
    usual = table.get("at", "last")
    return [each if isinstance(each, dict) else {"metric": each, "at": usual} for each in table.get("columns", [])]


def check_figure_names(
    where: str,
    entry: Mapping[str, Any],
    arms: Sequence[str],
    axes: Mapping[str, Sequence[Any]],
    metrics: Sequence[str],
) -> None:
    """Raise UserError for an arm, an axis of the grid, a value of it, a metric or a place that does not exist.

    Args:
        axes: of the grid, without the seed, and their values.
    """
    target = entry.get("target")
    rival = [target.removeprefix(BEST_OF)] if isinstance(target, str) and target.startswith(BEST_OF) else []
    if isinstance(target, str) and not rival:
        raise UserError(f"{where}: target={target!r} is neither a number nor `{BEST_OF}ARM`")
    over = [entry["over"]] if "over" in entry else []
    check_arms(where, [*entry.get("arms", []), *entry.get("published", {}), *rival, *over], dict.fromkeys(arms))
    for metric in (*filter(None, [entry.get("metric")]), *entry.get("metrics", [])):
        if metric not in metrics:
            raise unknown(f"{where}: metric", str(metric), metrics)
    for axis in (*filter(None, [entry.get("axis")]), *entry.get("where", {})):
        if axis not in axes:
            raise unknown(f"{where}: axis", str(axis), axes)
    for axis, value in entry.get("where", {}).items():
        if value not in axes[axis]:
            raise unknown(f"{where}: value of {axis}", str(value), map(str, axes[axis]))
    if not AT.fullmatch(entry.get("at", "last")):
        raise UserError(f"{where}: at={entry['at']!r} is none of last, best, mean, step N")


def check_arms(where: str, named: Sequence[str], arms: Mapping[str, object]) -> None:
    """Raise UserError for a name that is no arm."""
    for name in named:
        if name not in arms:
            raise unknown(f"{where}: arm", name, arms)
