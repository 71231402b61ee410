"""A claim: one sentence of a paper as data."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.evidence.curves import Point


@dataclass(frozen=True)
class Fields:
    """Which keys a predicate takes beside text, source, predicate, where and better; of `one_of` exactly one."""

    needs: tuple[str, ...]
    allows: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return self.needs + self.one_of + self.allows


_VALUE = ("metric", "of")
PREDICATES = {
    "highest": Fields(_VALUE, ("arms", "at", "margin")),
    "lowest": Fields(_VALUE, ("arms", "at", "margin")),
    "higher": Fields((*_VALUE, "than"), ("at", "margin")),
    "lower": Fields((*_VALUE, "than"), ("at", "margin")),
    "within": Fields((*_VALUE, "margin"), ("at",), one_of=("value", "than")),
    "equals": Fields((*_VALUE, "margin"), ("at",), one_of=("value", "than")),
    "ratio_at_least": Fields((*_VALUE, "than", "value"), ("at", "target")),
    "reaches_before": Fields((*_VALUE, "than", "target")),
    "never_reaches": Fields((*_VALUE, "target")),
    "flat_in": Fields((*_VALUE, "axis", "margin"), ("at",)),
    "increasing_in": Fields((*_VALUE, "axis"), ("at", "margin")),
    "decreasing_in": Fields((*_VALUE, "axis"), ("at", "margin")),
    "diverges": Fields(("of",)),
    "converges": Fields(("of",)),
}
ALWAYS = ("text", "source", "predicate")
ANYWHERE = ("where", "better")
BEST_OF = "best of "


@dataclass(frozen=True)
class Place:
    """An arm, and the grid axes at which it is looked at; axes left open are all looked at, one by one."""

    arm: str
    point: Point = ()

    def __str__(self) -> str:
        return self.arm + at_point(self.point)


def at_point(point: Point) -> str:
    """Return ` at AXIS=VALUE`, or nothing where no axis is open."""
    return "".join(f" at {axis}={value}" for axis, value in point)


@dataclass(frozen=True)
class Claim:
    """What `check_claim` made of a YAML entry; see docs of the keys there."""

    text: str
    source: str
    predicate: str
    of: Place
    metric: str = ""
    than: Place | None = None
    arms: tuple[Place, ...] = ()
    value: float | str | None = None
    target: float | Place | None = None
    axis: str = ""
    at: str = "last"
    margin: float = 0.0
    better: str | None = None
