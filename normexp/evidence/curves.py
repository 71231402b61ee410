"""What was measured, cell by cell: the input of claims and verdicts. Plain arrays, whoever read them from records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from normexp.config.text import shown
from normexp.records import FINISHED

PROBE = "probe/"  # begins the name of a metric that a probe measured: probe/LAYER/STATISTIC
SECONDS_PER_STEP = "seconds_per_step"  # of training, mean so far; wall-clock, so no two runs have the same

AxisValue = str | int | float | bool | None
Point = tuple[tuple[str, AxisValue], ...]
Column = npt.NDArray[np.float64]


def axis_value(value: Any) -> AxisValue:
    """Return what a value of an axis is called: a list, as model.widths takes, by its text, [64,64]."""
    return shown(value) if isinstance(value, list | tuple) else value


def named_point(point: Iterable[tuple[str, Any]]) -> Point:
    """Return a point of a grid with what its values are called."""
    return tuple((axis, axis_value(value)) for axis, value in point)


@dataclass(frozen=True)
class Made:
    """How a run was made: what environment.json says of it.

    Args:
        commit: of the code; `+` marks changed files.
        processor: with model, stepping and a hash of the instruction sets where they were recorded.
        examples: split -> number of examples that it is evaluated on.
        chance: test accuracy of who always names the most frequent class of the test split; 0 where that is not known,
            or there are no classes.
        learns: the split that shows whether a run learned what it was given: train where its labels were drawn anew,
            which tell nothing about the test split.
    """

    commit: str = ""
    processor: str = ""
    examples: Mapping[str, int] = field(default_factory=dict)
    chance: float = 0.0
    learns: str = "test"

    @staticmethod
    def of(environment: Mapping[str, Any], chance: float = 0.0, learns: str = "test") -> Made:
        """Read it from the content of environment.json; older records tell less."""
        attempts = [*environment.get("continued", []), environment]  # of a run that went on elsewhere: all of them
        commits, processors = (
            " then ".join(dict.fromkeys(filter(None, each)))
            for each in zip(*((str(each.get("commit") or ""), _processor(each)) for each in attempts), strict=True)
        )
        return Made(commits, processors, environment.get("data", {}).get("examples", {}), chance, learns)


def _processor(environment: Mapping[str, Any]) -> str:
    cpu = environment.get("cpu", {})
    numbers = [f"{key} {cpu[key]}" for key in ("family", "model", "stepping") if key in cpu]
    flags = [f"flags {cpu['flags_sha256'][:8]}"] if "flags_sha256" in cpu else []
    name = str(environment.get("processor", ""))
    return f"{name} ({', '.join([*numbers, *flags])})" if numbers or flags else name


@dataclass(frozen=True, eq=False)
class Curve:
    """One run's evaluations.

    Args:
        step: of every evaluation, increasing (optimizer updates).
        columns: metric -> one value per evaluation in the unit of metrics.csv; an empty cell is NaN.
        status: of the run, as in status.json.
        diverged_at: the step at which a diverged run stopped.
        made: on what, by which code.
    """

    step: npt.NDArray[np.int64]
    columns: Mapping[str, Column]
    status: str
    diverged_at: int | None = None
    made: Made = Made()

    def column(self, metric: str) -> Column:
        """Return the values of a metric; NaN throughout where the run does not have it."""
        return self.columns.get(metric, np.full(len(self.step), np.nan))

    @property
    def finished(self) -> bool:
        """Done or diverged: both are results. Anything else is no result yet."""
        return self.status in FINISHED

    @property
    def diverged(self) -> bool:
        return self.status == "diverged"


@dataclass(frozen=True)
class Cell:
    """An arm at one point of the grid: the values of all axes other than the seed."""

    arm: str
    point: Point = ()

    def __str__(self) -> str:
        return self.arm + "".join(f" {axis}={value}" for axis, value in self.point)


Curves = Mapping[Cell, Mapping[int, Curve]]  # cell -> seed -> curve


def origins(curves: Curves, what: str) -> dict[str, set[str]]:
    """Return arm -> the commits, or the processors, of its finished runs: `what` is that attribute of `Made`."""
    by_arm: dict[str, set[str]] = {}
    for cell, runs in curves.items():
        by_arm.setdefault(cell.arm, set()).update(getattr(run.made, what) for run in runs.values() if run.finished)
    return by_arm


def short_commit(commit: str | None) -> str:
    """Return nine digits of every commit in it, with the + that marks changed files; `no checkout` for None."""
    return "no checkout" if commit is None else re.sub("([0-9a-f]{9})[0-9a-f]{31}", r"\1", commit)
