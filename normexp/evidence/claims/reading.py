"""The runs of a place, and one number per seed of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from normexp.evidence.claims.claim import Measured
from normexp.evidence.claims.fields import Place
from normexp.evidence.curves import Curve, Curves, Point, origins, short_commit
from normexp.evidence.reading import MissingRuns, value_at

Runs = Mapping[int, Curve]  # seed -> finished run
Values = dict[int, float]  # seed -> value


def runs_by_point(curves: Curves, place: Place) -> dict[Point, Runs]:
    """Return the finished runs of a place, by the axes that it leaves open. Raises MissingRuns if there are none.

    Diverged runs are finished. Whatever else did not finish is no result, and `unfinished` counts it.
    """
    fixed = dict(place.point)
    found: dict[Point, Runs] = {}
    for cell, by_seed in at_places(curves, [place]).items():
        open_axes = tuple(sorted((axis, value) for axis, value in cell.point if axis not in fixed))
        found[open_axes] = {seed: curve for seed, curve in by_seed.items() if curve.finished}
    if not any(found.values()):
        raise MissingRuns(f"no finished run of {place}")
    return found


def at_places(curves: Curves, places: Iterable[Place]) -> Curves:
    """Return the cells that lie at one of the places: its arm, at the values of its axes."""
    wanted = [(place.arm, set(place.point)) for place in places]
    return {
        cell: runs
        for cell, runs in curves.items()
        if any(cell.arm == arm and point <= set(cell.point) for arm, point in wanted)
    }


def shared_points(curves: Curves, *places: Place) -> Iterator[tuple[Point, list[Runs]]]:
    """Yield every point with the runs of all places. Raises MissingRuns where one place lacks a point."""
    found = [runs_by_point(curves, place) for place in places]
    for point in dict.fromkeys(point for each in found for point in each):
        for place, each in zip(places, found, strict=True):
            if not each.get(point):
                raise MissingRuns(f"no finished run of {Place(place.arm, (*place.point, *point))}")
        yield point, [each[point] for each in found]


def unfinished(curves: Curves) -> int:
    """Return how many runs have no result yet."""
    return sum(not curve.finished for runs in curves.values() for curve in runs.values())


def different_origins(curves: Curves) -> Iterator[str]:
    """Say where runs that are compared come from different commits or processors, and which arm's from which."""
    for what in ("commit", "processor"):
        by_arm = origins(curves, what)
        if len(set().union(*by_arm.values())) > 1:
            named = (f"{arm} {', '.join(short_commit(each) if what == 'commit' else each for each in sorted(found))}"
                     for arm, found in by_arm.items())  # fmt: skip
            yield f"from different {what}s: {'; '.join(named)}"


def values(claim: Measured, runs: Runs) -> Values:
    return {seed: value_at(curve, claim.metric, claim.at, claim.better) for seed, curve in runs.items()}


def values_by_point(claim: Measured, curves: Curves) -> dict[Point, Values]:
    """Return the arm's values, by the axes that the claim leaves open."""
    return {point: values(claim, runs) for point, runs in runs_by_point(curves, claim.of).items()}
