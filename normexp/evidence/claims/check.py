"""Check what a claim names without a run. Every error is one line that names the key and what is allowed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeVar

from normexp.config.text import short_repr
from normexp.errors import UserError, unknown
from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import Difference, Trend
from normexp.evidence.claims.fields import THE_OTHERS, Place
from normexp.evidence.curves import AxisValue

Axes = Mapping[str, Sequence[AxisValue]]
AnyOne = TypeVar("AnyOne", bound=Claim)


def check_names(claim: AnyOne, arm_names: Sequence[str], metric_names: Sequence[str], axes: Axes) -> AnyOne:
    """Return the claim with `the others` named. Raises UserError for an arm, a metric or an axis that is not there."""
    if isinstance(claim, Difference):
        claim = claim.model_copy(update={"than": _rivals(claim, arm_names)})
    for place in claim.places():
        _check_place(place, arm_names, axes)
    for key in ("metric", "formula", "remainder", "rounding"):
        metric = getattr(claim, key, "")
        if metric and isinstance(metric, str) and metric not in metric_names:
            raise unknown(key, metric, metric_names)
    if claim.of in claim.places()[1:] and not isinstance(getattr(claim, "target", None), Place):
        raise UserError(f"{claim.of} is compared with itself")
    _check_one_point(claim.places())
    if isinstance(claim, Trend):
        _check_axis(claim.axis, axes)
        if claim.axis in dict(claim.of.point):
            fixed = short_repr(dict(claim.of.point)[claim.axis])
            raise UserError(f"axis {claim.axis!r} is fixed at {fixed}, so nothing varies")
    return claim


def _rivals(claim: Difference, arm_names: Sequence[str]) -> list[Place]:
    rivals = [Place(name, claim.of.point) for name in arm_names] if claim.than == THE_OTHERS else claim.rivals
    others = [place for place in rivals if place != claim.of]
    if rivals == [claim.of]:
        raise UserError(f"{claim.of} is compared with itself")
    if not others:
        raise UserError(f"there is no arm beside {claim.of.arm!r} to compare with")
    return others


def _check_place(place: Place, arm_names: Sequence[str], axes: Axes) -> None:
    if place.arm not in arm_names:
        raise unknown("arm", place.arm, arm_names)
    for axis, value in place.point:
        _check_axis(axis, axes)
        if value not in axes[axis]:
            raise unknown(f"value of {axis}", str(value), map(str, axes[axis]))


def _check_one_point(places: Sequence[Place]) -> None:
    """Raise UserError where one place is fixed on an axis and another is not: they are compared point by point."""
    for one, other in itertools.permutations(places, 2):
        for axis, value in one.point:
            if axis not in dict(other.point):
                write = f"{{arm: {other.arm}, {axis}: {value}}}"
                raise UserError(f"{one} is compared with {other} at every {axis}; one point is meant as {write}")


def _check_axis(axis: str, axes: Axes) -> None:
    if axis == "seed":
        raise UserError("seed is no axis: claims are about all seeds")
    if axis not in axes:
        raise unknown("axis", axis, axes)
