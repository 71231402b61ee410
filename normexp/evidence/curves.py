"""What was measured, cell by cell: the input of claims and verdicts. Plain arrays, whoever read them from records."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from normexp.config.text import shown
from normexp.records import FINISHED

AxisValue = str | int | float | bool | None
Point = tuple[tuple[str, AxisValue], ...]
Column = npt.NDArray[np.float64]

_BETTER = {  # with what the name of a metric ends
    "higher": ("_accuracy",),
    "lower": ("_loss", "_rmse", "_error", "_perplexity", "_bpc", "_bits_per_byte", "_nll", "_mse"),
}
_AT_LEAST_0 = ("loss", "rmse", "bits_per_byte")  # what training measures of a split, beside accuracies


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
    """

    commit: str = ""
    processor: str = ""
    examples: Mapping[str, int] = field(default_factory=dict)
    chance: float = 0.0

    @staticmethod
    def of(environment: Mapping[str, Any], chance: float = 0.0) -> Made:
        """Read it from the content of environment.json; older records tell less."""
        attempts = [*environment.get("continued", []), environment]  # of a run that went on elsewhere: all of them
        commits, processors = (
            " then ".join(dict.fromkeys(filter(None, each)))
            for each in zip(*((str(each.get("commit") or ""), _processor(each)) for each in attempts), strict=True)
        )
        return Made(commits, processors, environment.get("data", {}).get("examples", {}), chance)


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


PROBE = "probe/"  # begins the name of a metric that a probe measured: probe/LAYER/STATISTIC
SECONDS_PER_STEP = "seconds_per_step"  # of training, mean so far; wall-clock, so no two runs have the same


def error_of(metric: str) -> str:
    """Return what 1 - accuracy is called: test/accuracy -> test/error; '' for anything that is no accuracy."""
    split, _, name = metric.rpartition("/")
    return f"{split}/error" if split and name == "accuracy" else ""


def with_errors(metrics: Iterable[str]) -> list[str]:
    """Return the metrics that are recorded, and those that follow from them."""
    recorded = list(metrics)
    return [*recorded, *filter(None, map(error_of, recorded))]


def is_share(metric: str) -> bool:
    """Tell whether a metric is a fraction, shown in percent: an accuracy, or the error that is 1 minus it."""
    return metric.endswith(("accuracy", "/error"))


def extremes(metric: str) -> tuple[float, float]:
    """Return the least and the largest value that a metric can have: of a fraction, of a loss, of anything else."""
    split, _, name = metric.rpartition("/")
    if is_share(metric):
        return 0.0, 1.0
    at_least_0 = metric == SECONDS_PER_STEP or (split and name in _AT_LEAST_0)
    return 0.0 if at_least_0 else -math.inf, math.inf


def said_extremes(low: float, high: float) -> str:
    """Return them in words."""
    return f"from {low:g} to {high:g}" if high < math.inf else f"{low:g} or more"


MEASURES = ("validation/accuracy", "validation/rmse", "validation/loss")
"""What a run is chosen by: the first of them that it has."""


def better_direction(metric: str) -> str | None:
    """Return whether `higher` or `lower` is better, by the end of a metric's name; None where it does not tell."""
    name = f"_{metric.rpartition('/')[2]}"
    return next((better for better, words in _BETTER.items() if name.endswith(words)), None)


def cost_sign(metric: str) -> float:
    """Return by what a metric is multiplied to be less for the better; 1 where its name does not tell."""
    return -1.0 if better_direction(metric) == "higher" else 1.0


def short_commit(commit: str | None) -> str:
    """Return nine digits of every commit in it, with the + that marks changed files; `no checkout` for None."""
    return "no checkout" if commit is None else re.sub("([0-9a-f]{9})[0-9a-f]{31}", r"\1", commit)
