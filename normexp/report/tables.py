"""The table of arms: one row per arm, mean and standard deviation of the final evaluation over the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.evidence.stats import mean, standard_deviation
from normexp.records import RunDirectory
from normexp.report.labels import PLACES
from normexp.report.measurements import is_share, title
from normexp.report.notes import notes
from normexp.report.select import Arm, Run, select

METRICS = ("test/accuracy", "test/rmse", "validation/accuracy", "validation/rmse", "train/loss")
CAPTION = (
    "Mean ± standard deviation (divisor n - 1; none for one seed) over the converged runs, "
    "at the final step: the last row of metrics.csv, not the best one."
)
EMPTY = "-"


@dataclass(frozen=True)
class Value:
    """One metric of one arm at the final step, in the unit of metrics.csv (accuracy is a fraction).

    Args:
        values: one per converged run, by seed.
        runs: number of finished runs, so len(values) < runs says that some diverged.
        measured: whether the arm's runs have this metric at all.
    """

    metric: str
    values: tuple[float, ...]
    runs: int
    measured: bool

    @property
    def mean(self) -> float | None:
        return mean(self.values) if self.values else None

    @property
    def standard_deviation(self) -> float | None:
        return standard_deviation(self.values) if len(self.values) > 1 else None

    @property
    def text(self) -> str:
        """Return the cell: `97.31 ± 0.20`, `97.31` for one seed, `97.31 ± 0.20 (2/3)` where runs diverged."""
        if self.mean is None or not self.measured:
            return "diverged" if self.measured and self.runs else EMPTY
        scale = 100 if is_share(self.metric) else 1
        decimals = 2 if is_share(self.metric) else _decimals(self.mean)
        sd = self.standard_deviation
        spread = "" if sd is None else f" ± {sd * scale:.{decimals}f}"
        share = "" if len(self.values) == self.runs else f" ({len(self.values)}/{self.runs})"
        return f"{self.mean * scale:.{decimals}f}{spread}{share}"


@dataclass(frozen=True)
class Row:
    arm: Arm
    values: tuple[Value, ...]

    @property
    def converged(self) -> str:
        return f"{len(self.arm.converged)}/{len(self.arm.runs)}"


@dataclass(frozen=True)
class Table:
    """A table before it is Markdown, CSV, LaTeX or HTML.

    Args:
        places: which of dataset and model vary, and so have a column.
        metrics: the metric of every value column.
    """

    rows: tuple[Row, ...]
    places: tuple[str, ...]
    metrics: tuple[str, ...]
    caption: str
    notes: tuple[str, ...]

    @property
    def headers(self) -> list[str]:
        arrows = [f"{title(metric)} {'↑' if is_share(metric) else '↓'}" for metric in self.metrics]
        return [*self.places, "arm", "seeds", "converged", *arrows]

    @property
    def cells(self) -> list[list[str]]:
        return [self._cells(row) for row in self.rows]

    def _cells(self, row: Row) -> list[str]:
        places = [getattr(row.arm, place) for place in self.places]
        return [*places, row.arm.short, str(len(row.arm.runs)), row.converged, *(v.text for v in row.values)]


def table(runs: Sequence[RunDirectory]) -> Table:
    """Build the table of a set of runs. Raises UserError where a record is damaged."""
    selection = select(runs)
    finals = {run.name: _final(run) for arm in selection.arms for run in arm.runs}
    metrics = tuple(name for name in METRICS if any(name in final for final in finals.values()))
    rows = [Row(arm, tuple(_value(name, arm, finals) for name in metrics)) for arm in selection.arms]
    places = tuple(p for p in PLACES if len({getattr(arm, p) for arm in selection.arms}) > 1)
    return Table(tuple(rows), places, metrics, _caption(selection.arms, places), tuple(notes(selection)))


def _final(run: Run) -> dict[str, float]:
    """Return the last row of metrics.csv; of a diverged run only its columns matter, never its values."""
    return {name: values[-1] if values else math.nan for name, values in run.metrics.items()}


def _value(metric: str, arm: Arm, finals: dict[str, dict[str, float]]) -> Value:
    measured = any(metric in finals[run.name] for run in arm.runs)
    values = tuple(finals[run.name][metric] for run in arm.converged) if measured else ()
    return Value(metric, values, len(arm.runs), measured)


def _caption(arms: Sequence[Arm], places: Sequence[str]) -> str:
    """Name data set and model where one word each says it for the whole table."""
    fixed = [f"{place} {getattr(arms[0], place)}" for place in PLACES if place not in places]
    return f"{', '.join(fixed).capitalize()}. {CAPTION}" if fixed else CAPTION


def _decimals(value: float) -> int:
    """Return the decimals that show four significant digits of a value, at most 8."""
    if value == 0 or not math.isfinite(value):
        return 4
    return min(8, max(0, 3 - math.floor(math.log10(abs(value)))))
