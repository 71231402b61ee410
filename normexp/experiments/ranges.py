"""Numbers that a metric can never have, and regions in which it always is: refused where the YAML names them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from normexp.config.schema import refusal
from normexp.evidence.claims import Claim
from normexp.evidence.claims.estimands import Equals
from normexp.evidence.claims.region import Region
from normexp.evidence.metrics import extremes, is_share, said_extremes
from normexp.evidence.stats import Interval

_WIDTHS = {"difference": 1, "trend": 1, "interaction": 2}  # how many differences of two values it may be away from 0


def check_range(metric: str, target: object, *below: str | int) -> None:
    """Raise PydanticCustomError for a target that the metric cannot have; it stands `below`."""
    low, high = extremes(metric)
    if isinstance(target, int | float) and not low <= target <= high:
        raise refusal(_outside(target, metric, metric, low, high), *below, "target")


def check_margin(margin: float, metrics: Iterable[str]) -> None:
    """Raise PydanticCustomError for a margin of the table within which every fraction lies."""
    shares = list(metrics)
    if margin >= 1 and all(map(is_share, shares)):
        said = f"{margin:g} takes in the whole range of a fraction, 0 to 1"
        raise refusal(f"{said}{_as_fraction(shares[0], margin, 'point')}", "table", "margin")


def check_claim(claim: Claim, index: int) -> None:
    """Raise PydanticCustomError for a target or a region that no run can be in, or that every run is in."""
    metric = getattr(claim, "metric", "")
    if not metric:
        return
    given = getattr(claim, "target", None)
    for target in given if isinstance(given, list) else [given]:
        check_range(metric, target, "claims", index)
    low, high = _possible(claim, metric)
    if low == -math.inf:
        return
    if isinstance(claim, Equals):
        _check_equality(claim, low, high, index)
    elif claim.compare in ("value", *_WIDTHS):
        _check_region(claim, metric, Interval(low, high), index)


def _possible(claim: Claim, metric: str) -> tuple[float, float]:
    """Return the least and the largest value that what the claim is about can have."""
    low, high = extremes(metric)
    if getattr(claim, "at", "") == "range":
        low, high = 0.0, high - low
    if claim.compare not in _WIDTHS:
        return low, high
    width = _WIDTHS[claim.compare] * (high - low)
    return -width, width


def _check_equality(claim: Equals, low: float, high: float, index: int) -> None:
    if claim.value is not None and not low <= claim.value <= high:
        raise refusal(_outside(claim.value, claim.metric, claim.metric, low, high), "claims", index, "value")
    if claim.tolerance >= high - low:
        nothing = f"{claim.tolerance:g} takes in the whole range of {claim.metric}, {said_extremes(low, high)}"
        raise refusal(f"{nothing}{_as_fraction(claim.metric, claim.tolerance, 'point')}", "claims", index, "tolerance")


def _check_region(claim: Claim, metric: str, possible: Interval, index: int) -> None:
    region: Region = claim.region  # type: ignore[attr-defined]
    low, high = possible.low, possible.high
    what, said = f"{claim.compare} of {metric}", said_extremes(low, high)
    typed = [each for each in _typed(region) if math.isfinite(each)]
    percent = _as_fraction(metric, max(typed, key=abs), "%" if claim.compare == "value" else "point")
    if region.low >= high or region.high <= low:
        raise refusal(f"no {what} can be there; it is {said}{percent}", "claims", index, "in")
    if region.low <= low and region.high >= high:
        raise refusal(f"every {what} is there, {said}, so nothing is claimed{percent}", "claims", index, "in")
    if beyond := [each for each in _places(region) if math.isfinite(each) and not low <= each <= high]:
        raise refusal(
            f"{beyond[0]:g} is outside the range of the {what}, which is {said}{percent}", "claims", index, "in"
        )


def _typed(region: Region) -> tuple[float, ...]:
    """Return the numbers of a region: a margin and what is in its middle, or its ends."""
    if not region.centre:
        return region.low, region.high
    return (region.high - region.low) / 2, *_places(region)


def _places(region: Region) -> tuple[float, ...]:
    """Return those of them that are values themselves, and no margin."""
    return ((region.low + region.high) / 2,) if region.centre else (region.low, region.high)


def _outside(number: float, what: str, metric: str, low: float, high: float) -> str:
    said = f"{number:g} is outside the range of {what}, which is {said_extremes(low, high)}"
    return said + _as_fraction(metric, number, "%")


def _as_fraction(metric: str, number: float, unit: str) -> str:
    """Return the hint for who typed percent, or points of percent, of what is a fraction; nothing of other numbers."""
    if not (is_share(metric) and 1 <= abs(number) <= 100):
        return ""
    return f"; {number / 100:g}, not {number:g}, is {number:g} {unit}{'s' * (unit != '%' and abs(number) != 1)}"
