"""In which unit people read the result of a claim: 0.154 of an accuracy are 15.4 points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from normexp.evidence.claims.claim import Claim
from normexp.evidence.curves import SECONDS_PER_STEP, Curves
from normexp.evidence.metrics import is_share

TIMES, POINTS, PERCENT, OF_RUNS = "times", "points", "%", "% of runs"
_OF_ESTIMANDS = {"ratio": TIMES, "steps": TIMES, "count": OF_RUNS}
_DIFFERENCES = ("difference", "interaction", "trend")
_OF_DIFFERENCES = {PERCENT: POINTS, TIMES: ""}  # 8 times less 3 times are not 5 times
_SAY_NATS = ("/accuracy", "/bits_per_byte")  # beside them a loss is a cross-entropy


@dataclass(frozen=True)
class Named:
    """What a study's option calls what it measures.

    Args:
        units: metric -> unit, `_units_`.
        step: a step of its curves, `_step_`: `layer {}`, `{} layers`.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    step: str = "step {}"


UNNAMED = Named()


def unit_of(claim: Claim, curves: Curves, named: Named) -> str:
    """Return the unit of a claim's estimate; empty where it has none, or none that is known."""
    if claim.compare in _OF_ESTIMANDS:
        return _OF_ESTIMANDS[claim.compare]
    metric = getattr(claim, "metric", "")
    unit = named.units.get(metric) or _of_trainings(metric, curves)
    return _OF_DIFFERENCES.get(unit, unit) if claim.compare in _DIFFERENCES else unit


def _of_trainings(metric: str, curves: Curves) -> str:
    """Return the unit of what training measures, by its name."""
    if is_share(metric):
        return PERCENT
    if metric == SECONDS_PER_STEP:
        return "seconds"
    name = metric.rpartition("/")[2]
    if name == "bits_per_byte":
        return "bits per byte"
    return "nats" if name == "loss" and any(each.endswith(_SAY_NATS) for each in _columns(curves)) else ""


def _columns(curves: Curves) -> Iterator[str]:
    return (column for runs in curves.values() for curve in runs.values() for column in curve.columns)
