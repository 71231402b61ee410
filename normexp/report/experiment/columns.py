"""The columns of an experiment's table: a metric somewhere on the curves, and its difference to the baseline's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from normexp.evidence.curves import Cell
from normexp.evidence.stats import PointEstimate, mean, paired, standard_deviation
from normexp.experiments import tables
from normexp.report.frames.measured import Measured
from normexp.report.metrics import factor, title
from normexp.report.tables.against import BY_RANK, difference
from normexp.report.tables.row import centre, summary
from normexp.report.tables.table import EMPTY, Value

ROUNDED = 1e-14  # below it a difference of float64 numbers near 1 is rounding
Values = Mapping[int, float]  # seed -> value
Printed = tables.Published | tables.PublishedOnly


@dataclass(frozen=True)
class Row:
    """One line of the table: an arm at one point of the grid.

    Args:
        at: where on its curves a column looks that does not say so itself.
        published: the entry of the YAML for it; None where the paper prints none.
        verdict: of a row that has no runs: refused, or printed only.
    """

    cell: Cell
    at: str = ""
    published: Printed | None = None
    verdict: str = ""


class Column:
    """One column of the table."""

    @property
    def meaning(self) -> str:
        """A sentence that says what it means, where its head does not."""
        return ""

    @property
    def head(self) -> str:
        raise NotImplementedError

    @property
    def short(self) -> str:
        """Its name without unit and place: what stands behind `published`."""
        return self.head

    def count(self, row: Row) -> int:
        """Return how many values it has for the row."""
        return 0

    def text(self, row: Row) -> str:
        raise NotImplementedError

    def plain(self, row: Row) -> dict[str, Value]:
        """Return its columns in table.csv."""
        return {self.head: self.text(row)}


@dataclass(frozen=True)
class Metric(Column):
    """A metric at one place of the curves: mean ± standard deviation over the seeds with a finite value.

    Args:
        at: last | best | mean | range | step N; empty: where the row says.
        named: the place stands in the head.
        rounds: it is 0 but for rounding where a property holds.
    """

    measured: Measured
    metric: str
    at: str = ""
    named: bool = False
    rounds: bool = field(default=False, kw_only=True)

    @property
    def head(self) -> str:
        return title(self.metric) + (f", {self.at}" if self.named else "")

    @property
    def short(self) -> str:
        return title(self.metric).removesuffix(" (%)")

    @property
    def factor(self) -> float:
        return factor(self.metric)

    def values(self, row: Row) -> Values:
        """Return seed -> value; nothing at all where the runs end before the place, as at a smaller scale."""
        return self.measured.values(row.cell, self.metric, self.at or row.at)

    def count(self, row: Row) -> int:
        return len(self.values(row))

    def finite(self, row: Row) -> list[float]:
        return [value for value in self.values(row).values() if math.isfinite(value)]

    def text(self, row: Row) -> str:
        values, finite = self.values(row), self.finite(row)
        if not finite and values and not any(run.diverged for run in self.measured.curves[row.cell].values()):
            return "∞" if math.inf in values.values() else EMPTY
        if self.rounds and all(abs(value) < ROUNDED for value in finite):
            finite = [0.0] * len(finite)
        return summary([self.factor * value for value in finite], len(values), self.factor > 1)

    @property
    def meaning(self) -> str:
        return f"0: also for what is less than {ROUNDED:g}, the rounding of float64." if self.rounds else ""

    def centre(self, row: Row) -> float | None:
        """Return the mean over the finite values, if there are any."""
        finite = self.finite(row)
        return mean(finite) if finite else None

    def shown(self, row: Row) -> float | None:
        """Return what `text` begins with: the mean over the finite values, or their median."""
        finite = self.finite(row)
        return centre(finite) if finite else None

    def plain(self, row: Row) -> dict[str, Value]:
        finite = self.finite(row)
        name = self.metric + (f" {self.at}" if self.named else "")
        spread = standard_deviation(finite) if len(finite) > 1 else None
        numbers = {"mean": self.centre(row), "sd": spread, "finite": len(finite), "n": self.count(row)}
        return {f"{name} {kind}": value for kind, value in numbers.items()}


@dataclass(frozen=True)
class At(Column):
    """Where on the curves the row looks."""

    head = "at"

    def text(self, row: Row) -> str:
        return row.at or EMPTY


@dataclass(frozen=True)
class Difference(Column):
    """The metric minus that of the baseline at the same point of the grid, paired by seed, with its 95 % interval."""

    metric: Metric
    baseline: str

    @property
    def head(self) -> str:
        return f"difference to {self.baseline} [95 %]"

    @property
    def meaning(self) -> str:
        pairs = "mean over the seeds, paired by seed, with its 95 % t interval"
        return f"Difference to {self.baseline}: {pairs}; {BY_RANK}."

    def estimate(self, row: Row) -> PointEstimate | None:
        """Return None for the baseline itself, and below two pairs."""
        other = Cell(self.baseline, row.cell.point)
        if other == row.cell or other not in self.metric.measured.curves:
            return None
        ours, theirs = self.metric.values(row), self.metric.values(Row(other, row.at))
        return paired(self.metric.measured.at_look(ours), theirs)

    def text(self, row: Row) -> str:
        estimate = self.estimate(row)
        if estimate is None:
            return EMPTY
        return difference(estimate, self.metric.factor, self.metric.measured.confidence)

    def plain(self, row: Row) -> dict[str, Value]:
        estimate = self.estimate(row)
        interval = estimate.confidence_interval(self.metric.measured.confidence) if estimate else None
        ends = (estimate.value, interval.low, interval.high) if estimate and interval else (None, None, None)
        return dict(zip(("difference", "difference low", "difference high"), ends, strict=True))
