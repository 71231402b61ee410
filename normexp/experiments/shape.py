"""The shape of an experiment's YAML: which keys there are, which must be there, what kind of value each one has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from normexp.errors import UserError, unknown

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


@dataclass(frozen=True)
class FigureKeys(Keys):
    """The keys of one kind of figure, beside those that every figure may have.

    Args:
        choices: key -> the values that it, or every item of its list, may have.
        one_of: groups of keys, of each of which exactly one must be there.
    """

    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    one_of: Sequence[Sequence[str]] = ()

    def check(self, where: str, data: object) -> None:
        Keys({**_FIGURE, **self.needs}, {**_ANY_FIGURE, **self.allows}).check(where, data)
        assert isinstance(data, dict)
        for key, allowed in self.choices.items():
            for value in data[key] if isinstance(data.get(key), list) else [data[key]] if key in data else []:
                if value not in allowed:
                    raise unknown(f"{where}: {key}", str(value), allowed)
        for group in self.one_of:
            if sum(key in data for key in group) != 1:
                raise UserError(f"{where}: give either {' or '.join(group)}")
        _check_limits(where, data.get("limits", []))


def _check_limits(where: str, limits: Any) -> None:
    """Raise UserError unless the limits are [LOW, HIGH], such a pair for x, y or both, or one of these by scale."""
    for scale in limits_by_scale(limits):
        if scale not in SCALES:
            raise unknown(f"{where}: limits: scale", str(scale), SCALES)
    for axis, pair in (limit for at_scale in limits_by_scale(limits).values() for limit in at_scale.items()):
        if axis not in ("x", "y"):
            raise unknown(f"{where}: limits: axis", str(axis), ("x", "y"))
        numbers = isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, int | float) for each in pair)
        if not numbers or not pair[0] < pair[1]:
            raise UserError(f"{where}: limits of {axis}: {pair!r} is not [LOW, HIGH]")


def limits_by_scale(limits: Any) -> dict[str, dict[str, Any]]:
    """Return scale -> axis -> limits; what names no scale is for the paper's, since shorter runs do not get there."""
    by_scale = limits if isinstance(limits, dict) and any(key in SCALES for key in limits) else {"paper": limits}
    return {scale: each if isinstance(each, dict) else {"y": each} if each else {} for scale, each in by_scale.items()}


_FIGURE = _all("a text", "name", "kind")
_ANY_FIGURE = {
    "caption": "a text", "arms": "a list", "where": "a mapping", "labels": "a mapping", "log": "a list",
    "limits": "a list or a mapping",
}  # fmt: skip
_XY = {"log": ("x", "y")}
FIGURES = {
    "curves": FigureKeys(
        {"metric": "a text"}, {"x": "a text", "published": "a mapping"}, {"x": ("step", "epoch"), **_XY}
    ),
    "percentiles": FigureKeys({"layer": "a text"}, {"seed": "a number"}, {"log": ("y",)}),
    "steps_to_target": FigureKeys(
        {"metric": "a text", "target": "a number or a text"},
        {"better": "a text"},
        {"better": ("higher", "lower"), "log": ("x",)},
    ),
    "against": FigureKeys(_all("a text", "metric", "axis"), {"at": "a text"}, _XY),
    "bars": FigureKeys({"metric": "a text"}, _all("a text", "at", "axis"), {"log": ("x",)}),
    "contour": FigureKeys(
        _all("a text", "table", "x", "y", "z"), {"path": "a text", "seed": "a number"}, {"log": ("x", "y", "z")}
    ),
    "lines": FigureKeys(
        {"table": "a text", "x": "a text", "y": "a name or a list"},
        {**_all("a text", "by", "panels", "boxes", "points"), "dotted": "a list", "seed": "a number"},
        {"panels": ("arm", "none"), **_XY},
    ),
    "multiples": FigureKeys(
        {"statistic": "a name or a list"},
        {"layers": "a name or a list", "panels": "a text"},
        {"panels": ("layer", "arm"), **_XY},
    ),
    "heat": FigureKeys(
        {},
        {**_all("a text", "metric", "axis", "at", "over"), "metrics": "a list"},
        {"log": ("z",)},
        (("metric", "metrics"), ("axis", "metrics")),
    ),
}


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
        _check_figure(f"{where}: figure", entry)


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


def _check_figure(where: str, entry: Any) -> None:
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if kind is not None and kind not in FIGURES:
        raise unknown(f"{where} kind", str(kind), FIGURES)
    FIGURES[kind or "curves"].check(where, entry)


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
