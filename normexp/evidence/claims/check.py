"""Check a claim's YAML without a run. Every error is one line that names the claim, the key and what is allowed.

text, source   the sentence, and where it stands (page, figure or section)
predicate      one of claim.PREDICATES
metric         a column of metrics.csv
of, than       an arm, or {arm: NAME, AXIS: VALUE} for an arm at one place of the grid
arms           the rivals of highest and lowest; all other arms by default
value          a number, or the printed text ("72.2%"): its rounding then widens the margin of `within`
target         a number or its text, or "best of ARM": the best value of that arm's run with the same seed
axis           a grid axis
at             last | best | mean | step N; a run that diverged before counts as worst
margin         in the unit of the metric: by how much at least (orderings), how near (within, flat_in, equals)
where          {AXIS: VALUE}: look there only; otherwise the claim is about every point of the grid
better         higher | lower, for a metric whose name does not tell
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from normexp.errors import UserError, unknown
from normexp.evidence.claims.claim import ALWAYS, ANYWHERE, BEST_OF, PREDICATES, Claim, Fields, Place
from normexp.evidence.curves import AxisValue, Point, better_direction
from normexp.evidence.stats import Printed

Axes = Mapping[str, Sequence[AxisValue]]
_AT = re.compile(r"last|best|mean|step \d+")


def check_claim(
    claim: Mapping[str, Any], arm_names: Sequence[str], metric_names: Sequence[str], axes: Axes | None = None
) -> Claim:
    """Return the claim, checked. Raises UserError.

    Args:
        axes: the grid's axes without the seed, and their values; None leaves them unchecked.
    """
    if not isinstance(claim, Mapping):
        raise UserError(f"claim {claim!r} is not a mapping with text, source and predicate")
    try:
        return _Checker(claim, arm_names, metric_names, axes).claim()
    except UserError as error:
        raise UserError(f"claim {str(claim.get('text', '?'))!r}: {error}") from None


class _Checker:
    """One claim's keys against the names that there are."""

    def __init__(self, data: Mapping[str, Any], arms: Sequence[str], metrics: Sequence[str], axes: Axes | None) -> None:
        self.data, self.arms, self.metrics, self.axes = data, arms, metrics, axes

    def claim(self) -> Claim:
        for key in ALWAYS:
            self._text(key)
        predicate = self._name("predicate", PREDICATES)
        self._keys(PREDICATES[predicate], predicate)
        where = self._point(self.data.get("where", {}))
        of = self._place("of", where)
        claim = Claim(
            text=self.data["text"],
            source=self.data["source"],
            predicate=predicate,
            of=of,
            metric=self._name("metric", self.metrics) if "metric" in self.data else "",
            than=self._place("than", where) if "than" in self.data else None,
            arms=self._rivals(of) if predicate in ("highest", "lowest") else (),
            value=self._value(predicate),
            target=self._target(of),
            axis=self._axis(of),
            at=self._at(),
            margin=self._number("margin", least=0.0) if "margin" in self.data else 0.0,
            better=self._better(),
        )
        self._sensible(claim)
        return claim

    def _keys(self, fields: Fields, predicate: str) -> None:
        known = (*ALWAYS, *fields.all, *ANYWHERE)
        for key in self.data:
            if key not in known:
                raise unknown(f"key of {predicate}", str(key), known)
        for key in fields.needs:
            if key not in self.data:
                raise UserError(f"{predicate} needs {key!r}")
        if fields.one_of and sum(key in self.data for key in fields.one_of) != 1:
            raise UserError(f"{predicate} needs either {' or '.join(map(repr, fields.one_of))}")

    def _text(self, key: str) -> None:
        value = self.data.get(key)
        if not isinstance(value, str) or not value.strip():
            raise UserError(f"{key} is missing" if value is None else f"{key}={value!r} is not a text")

    def _name(self, key: str, allowed: Any) -> str:
        value = self.data[key]
        if not isinstance(value, str) or value not in allowed:
            raise unknown(key, value, allowed)
        return value

    def _arm(self, name: object) -> str:
        if not isinstance(name, str) or name not in self.arms:
            raise unknown("arm", str(name), self.arms)
        return name

    def _place(self, key: str, where: Point) -> Place:
        value = self.data[key]
        if not isinstance(value, Mapping):
            return Place(self._arm(value), where)
        if "arm" not in value:
            raise UserError(f"{key} needs an arm: {{arm: NAME, AXIS: VALUE}}")
        own = self._point({axis: each for axis, each in value.items() if axis != "arm"})
        return Place(self._arm(value["arm"]), tuple(sorted({**dict(where), **dict(own)}.items())))

    def _rivals(self, of: Place) -> tuple[Place, ...]:
        names = self.data.get("arms", self.arms)
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise UserError(f"arms={names!r} is not a list")
        rivals = tuple(Place(self._arm(name), of.point) for name in names if name != of.arm)
        if not rivals:
            raise UserError(f"there is no arm beside {of.arm!r} to compare with")
        return rivals

    def _point(self, where: object) -> Point:
        if not isinstance(where, Mapping):
            raise UserError(f"where={where!r} is not a mapping of axes to values")
        for axis, value in where.items():
            self._known_axis(str(axis))
            if self.axes is not None and value not in self.axes[axis]:
                raise unknown(f"value of {axis}", str(value), map(str, self.axes[axis]))
        return tuple(sorted(where.items()))

    def _axis(self, of: Place) -> str:
        if "axis" not in self.data:
            return ""
        axis = str(self.data["axis"])
        self._known_axis(axis)
        if axis in dict(of.point):
            raise UserError(f"axis {axis!r} is fixed at {dict(of.point)[axis]!r}, so nothing varies")
        return axis

    def _known_axis(self, axis: str) -> None:
        if axis == "seed":
            raise UserError("seed is no axis: claims are about all seeds")
        if self.axes is not None and axis not in self.axes:
            raise unknown("axis", axis, self.axes)

    def _number(self, key: str, least: float = -math.inf) -> float:
        value = self.data[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < least:
            bound = "" if least == -math.inf else f" of at least {least:g}"
            raise UserError(f"{key}={value!r} is not a number{bound}")
        return float(value)

    def _value(self, predicate: str) -> float | str | None:
        if "value" not in self.data:
            return None
        value = self.data["value"]
        if not isinstance(value, str):
            return self._number("value")
        if predicate == "within":
            return Printed.of(value).text
        return Printed.of(value).value

    def _target(self, of: Place) -> float | Place | None:
        if "target" not in self.data:
            return None
        target = self.data["target"]
        if not isinstance(target, str):
            return self._number("target")
        if target.startswith(BEST_OF):
            return Place(self._arm(target.removeprefix(BEST_OF)), of.point)
        return Printed.of(target).value

    def _at(self) -> str:
        at = self.data.get("at", "last")
        if not isinstance(at, str) or not _AT.fullmatch(at):
            raise UserError(f"at={at!r} is none of last, best, mean, step N")
        return at

    def _better(self) -> str | None:
        if "better" in self.data:
            return self._name("better", ("higher", "lower"))
        return better_direction(str(self.data.get("metric", "")))

    def _sensible(self, claim: Claim) -> None:
        if claim.than == claim.of:
            raise UserError(f"{claim.of} is compared with itself")
        if claim.predicate in ("within", "flat_in") and claim.margin == 0:
            raise UserError(f"{claim.predicate} needs a margin above 0: no finite number of seeds shows equality")
        if claim.predicate == "ratio_at_least" and not (isinstance(claim.value, float) and claim.value > 0):
            raise UserError(f"value={claim.value!r}: a ratio is above 0")
        if claim.better is None and (claim.target is not None or claim.at == "best"):
            raise UserError(f"say better: higher or better: lower; the name {claim.metric!r} does not tell")
