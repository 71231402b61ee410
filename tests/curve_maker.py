"""Curves made up for claims and traps: every value is known."""

from collections.abc import Mapping, Sequence

import numpy as np

from normexp.evidence.curves import AxisValue, Cell, Curve

METRIC = "test/accuracy"


def curve(values: Sequence[float], metric: str = METRIC, every: int = 10, status: str = "done") -> Curve:
    """One run, evaluated every so many steps from step 0."""
    steps = np.arange(len(values)) * every
    ended = int(steps[-1]) + every // 2 if status == "diverged" and len(values) else None
    ended = 1 if status == "diverged" and ended is None else ended
    return Curve(steps, {metric: np.array(values, dtype=float)} if len(values) else {}, status, ended)


def finals(values: Sequence[float], metric: str = METRIC) -> dict[int, Curve]:
    """One run per value, by seed from 0, ending at the value; NaN is a run that diverged."""
    return {
        seed: curve([0.1, 0.2], metric, status="diverged") if np.isnan(value) else curve([0.1, value], metric)
        for seed, value in enumerate(values)
    }


def cells(**arms: Mapping[int, Curve]) -> dict[Cell, Mapping[int, Curve]]:
    return {Cell(arm): runs for arm, runs in arms.items()}


def along(arm: str, axis: str, runs: Mapping[AxisValue, Mapping[int, Curve]]) -> dict[Cell, Mapping[int, Curve]]:
    """One arm at several values of a grid axis."""
    return {Cell(arm, ((axis, value),)): by_seed for value, by_seed in runs.items()}
