"""The shape of an experiment's YAML: which keys there are, which must be there, what kind of value each one has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normexp.errors import UserError, unknown

CLAIMS = "claims.json"  # the judged claims, in results/NAME/SCALE
SCALES = ("smoke", "cpu", "paper")
KINDS: dict[str, tuple[type, ...]] = {
    "a text": (str,), "a mapping": (dict,), "a list": (list,), "a number": (int, float),
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
            if not data.get(key):
                raise UserError(f"{where}: {key} is missing")


def _all(kind: str, *keys: str) -> dict[str, str]:
    return dict.fromkeys(keys, kind)


_MAPPINGS = _all("a mapping", "common", "grid", "select")
EXPERIMENT = Keys(
    _all("a text", "paper", "item", "title", "about") | _all("a mapping", "arms", "grid", "scales", "table"),
    _MAPPINGS | _all("a list", "published", "figures", "claims", "deviations"),
)
SCALE = Keys({}, {"about": "a text", **_MAPPINGS, "deviations": "a list"})
SELECT = Keys({"over": "a mapping", "seed": "a list", "metric": "a text"}, {"common": "a mapping"})
SELECT_AT_SCALE = Keys({}, {**SELECT.needs, **SELECT.allows})
TABLE = Keys({}, {"metric": "a text", "columns": "a list", **_all("a text", "at", "baseline"), "margin": "a number"})
PUBLISHED = Keys(_all("a text", "arm", "metric", "at", "value", "place"), {})
FIGURES = {
    "curves": Keys(
        _all("a text", "name", "kind", "metric"), {"limits": "a list", "published": "a mapping", "caption": "a text"}
    ),
    "percentiles": Keys(_all("a text", "name", "kind", "layer"), {"limits": "a list", "caption": "a text"}),
}


def check_shape(where: str, data: Any) -> None:
    """Raise UserError for the first thing in an experiment's YAML that cannot be meant."""
    EXPERIMENT.check(where, data)
    for name, arm in data["arms"].items():
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
    for entry in data.get("published", []):
        PUBLISHED.check(f"{where}: published", entry)
    for entry in data.get("figures", []):
        _check_figure(f"{where}: figure", entry)


def _check_table(where: str, table: Any) -> None:
    TABLE.check(where, table)
    if not table.get("metric") and not table.get("columns"):
        raise UserError(f"{where}: give a metric, to compare arms in it, or columns, a list of metrics")


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


def check_arms(where: str, named: Sequence[str], arms: Mapping[str, object]) -> None:
    """Raise UserError for a name that is no arm."""
    for name in named:
        if name not in arms:
            raise unknown(f"{where}: arm", name, arms)
