"""The shape of an experiment's YAML: which keys there are, which must be there, what kind of value each one has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normexp.errors import UserError, unknown
from normexp.experiments.figures import parse_figure

CLAIMS = "claims.json"  # the judged claims, in results/NAME/SCALE
BEST_OF = "best of "  # begins a target that is an arm's best value
AT = re.compile(r"last|best|mean|step \d+")
SCALES = ("smoke", "cpu", "desk", "paper")
KINDS: dict[str, tuple[type, ...]] = {
    "a text": (str,), "a mapping": (dict,), "a list": (list,), "a number": (int, float),
    "a number or a text": (int, float, str), "a name or a list": (str, list), "a list or a mapping": (list, dict),
}  # fmt: skip


@dataclass(frozen=True)
class Keys:
    """The keys of one mapping -> the kind of their values."""

    needs: Mapping[str, str]
    allows: Mapping[str, str]

    def check(self, where: str, data: object) -> None:
        """Raise UserError for a key that does not exist, is missing, or has a value of another kind."""
        if not isinstance(data, dict):
            raise UserError(f"{where} {data!r} is not a mapping")
        kinds = {**self.needs, **self.allows}
        for key, value in data.items():
            if key not in kinds:
                raise unknown(f"{where}: key", str(key), kinds)
            if not isinstance(value, KINDS[kinds[key]]):
                raise UserError(f"{where}: {key}={value!r} is not {kinds[key]}")
        for key in self.needs:
            if data.get(key) in (None, "", [], {}):
                raise UserError(f"{where}: {key} is missing")


def _all(kind: str, *keys: str) -> dict[str, str]:
    return dict.fromkeys(keys, kind)


_MAPPINGS = _all("a mapping", "common", "grid", "select")
EXPERIMENT = Keys(
    _all("a text", "paper", "item", "title", "about") | _all("a mapping", "arms", "grid", "scales", "table"),
    _MAPPINGS
    | {"refused": "a mapping", "summary": "a text"}
    | _all("a list", "published", "published_only", "figures", "claims", "deviations"),
)
SCALE = Keys({}, {"about": "a text", **_MAPPINGS, **_all("a list", "deviations", "findings")})
SELECT = Keys(
    {"over": "a mapping", "seed": "a list", "metric": "a text"},
    {"common": "a mapping", "arm": "a text", "per": "a list"},
)
SELECT_AT_SCALE = Keys({}, {**SELECT.needs, **SELECT.allows})
TABLE = Keys({}, {"metric": "a text", "columns": "a list", **_all("a text", "at", "baseline"), "margin": "a number"})
COLUMN = Keys({"metric": "a text"}, {**_all("a text", "at", "than", "over"), "target": "a number or a text"})
PUBLISHED = Keys(_all("a text", "arm", "metric", "value", "place"), COLUMN.allows)
PUBLISHED_ONLY = Keys(PUBLISHED.needs, {})


def check_shape(where: str, data: Any) -> None:
    """Raise UserError for the first thing in an experiment's YAML that cannot be meant."""
    EXPERIMENT.check(where, data)
    for name, arm in (*data["arms"].items(), *data.get("refused", {}).items()):
        if not isinstance(name, str) or not isinstance(arm, dict):
            raise UserError(f"{where}: arm {name!r}: {arm!r} is not a mapping of overrides")
    _check_grid(f"{where}: grid", data["grid"])
    for scale, own in data["scales"].items():
        if scale not in SCALES:
            raise unknown(f"{where}: scale", str(scale), SCALES)
        _check_scale(f"{where}: scale {scale}", {} if own is None else own)
    if "select" in data:
        SELECT.check(f"{where}: select", data["select"])
        _check_grid(f"{where}: select: over", data["select"]["over"])
    _check_table(f"{where}: table", data["table"])
    for entry in data.get("published_only", []):
        PUBLISHED_ONLY.check(f"{where}: published_only", entry)
    for entry in data.get("published", []):
        PUBLISHED.check(f"{where}: published", entry)
        _check_look(f"{where}: published", entry)
    for entry in data.get("figures", []):
        parse_figure(f"{where}: figure", entry)


def _check_table(where: str, table: Any) -> None:
    TABLE.check(where, table)
    if not table.get("metric") and not table.get("columns"):
        raise UserError(f"{where}: give a metric, to compare arms in it, or columns, a list of metrics")
    for column in columns_of(table):
        COLUMN.check(f"{where}: column", column)
        _check_look(f"{where}: column", column)


def _check_look(where: str, entry: Mapping[str, Any]) -> None:
    """Raise UserError unless the entry looks either at a place of the curves or for a target."""
    if ("at" in entry) == ("target" in entry):
        raise UserError(f"{where}: give either at or target")
    if "than" in entry and "target" not in entry:
        raise UserError(f"{where}: than={entry['than']!r} needs a target")
    if "over" in entry and "target" in entry:
        raise UserError(f"{where}: over={entry['over']!r} goes with at, not with target")


def columns_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the columns of a table as mappings; a text is a metric, looked at where the table says."""
    usual = table.get("at", "last")
    return [each if isinstance(each, dict) else {"metric": each, "at": usual} for each in table.get("columns", [])]


def _check_scale(where: str, own: Any) -> None:
    SCALE.check(where, own)
    _check_grid(f"{where}: grid", own.get("grid", {}))
    if "select" in own:
        SELECT_AT_SCALE.check(f"{where}: select", own["select"])
        _check_grid(f"{where}: select: over", own["select"].get("over", {}))


def _check_grid(where: str, grid: Mapping[str, Any]) -> None:
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise UserError(f"{where}: {key}={values!r} is not a list of values")


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
