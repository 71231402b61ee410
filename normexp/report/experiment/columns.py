"""The columns of an experiment's table: a metric somewhere on the curves, what the paper prints, and what follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from normexp.evidence.claims import NOT_YET
from normexp.evidence.claims.reading import MissingRuns, value_at
from normexp.evidence.curves import SECONDS_PER_STEP, Cell, better_direction
from normexp.evidence.learned import ERRORS, learned
from normexp.evidence.stats import PointEstimate, RankSumTest, mean, paired, standard_deviation
from normexp.evidence.verdicts import PAPER, published_verdict
from normexp.experiments import tables
from normexp.report.experiment.measured import Measured
from normexp.report.measurements import factor, title
from normexp.report.rounding import with_interval
from normexp.report.table import Value
from normexp.report.tables import EMPTY, summary

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
        at: last | best | mean | step N; empty: where the row says.
        named: the place stands in the head.
    """

    measured: Measured
    metric: str
    at: str = ""
    named: bool = False

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
        better, at = better_direction(self.metric), self.at or row.at
        runs = self.measured.curves.get(row.cell, {})
        try:
            return {seed: value_at(curve, self.metric, at, better) for seed, curve in runs.items()}
        except MissingRuns:
            return {}

    def count(self, row: Row) -> int:
        return len(self.values(row))

    def finite(self, row: Row) -> list[float]:
        return [value for value in self.values(row).values() if math.isfinite(value)]

    def text(self, row: Row) -> str:
        values, finite = self.values(row), self.finite(row)
        if not finite and values and not any(run.diverged for run in self.measured.curves[row.cell].values()):
            return "∞" if math.inf in values.values() else EMPTY
        return summary([self.factor * value for value in finite], len(values), self.factor > 1)

    def centre(self, row: Row) -> float | None:
        """Return the mean over the finite values, if there are any."""
        finite = self.finite(row)
        return mean(finite) if finite else None

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
class Published(Column):
    """What the paper prints for another column.

    Args:
        unit: of the numbers that are printed without one; empty where each has its own.
        values: arm -> printed text; without them, what the row's own entry says.
    """

    of: str
    unit: str = ""
    values: Mapping[str, str] | None = None

    @property
    def head(self) -> str:
        return f"published {self.of}" + (f" ({self.unit})" if self.unit else "")

    @property
    def meaning(self) -> str:
        return "Published numbers are shown beside ours here and not judged." if self.values is not None else ""

    def _printed(self, row: Row) -> str:
        if self.values is not None:
            return self.values.get(row.cell.arm, "")
        return row.published.value if row.published else ""

    def text(self, row: Row) -> str:
        return self._printed(row) or EMPTY

    def plain(self, row: Row) -> dict[str, Value]:
        return {f"published {self.of}": self._printed(row)}


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
        return (
            f"Difference to {self.baseline}: mean over the seeds, paired by seed, with its 95 % t interval; by rank, "
            "where a run diverged or all differences are equal, the median over all runs of both, which are no pairs."
        )

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
        interval, factor = estimate.confidence_interval(self.metric.measured.confidence), self.metric.factor
        text = with_interval(factor * estimate.value, factor * interval.low, factor * interval.high)
        return text + (" by rank" if isinstance(estimate, RankSumTest) else "")

    def plain(self, row: Row) -> dict[str, Value]:
        estimate = self.estimate(row)
        interval = estimate.confidence_interval(self.metric.measured.confidence) if estimate else None
        ends = (estimate.value, interval.low, interval.high) if estimate and interval else (None, None, None)
        return dict(zip(("difference", "difference low", "difference high"), ends, strict=True))


@dataclass(frozen=True)
class Verdict(Column):
    """Whether the printed number is reproduced; like a claim it waits for all runs of the grid."""

    metric: Metric
    margin: float | None
    scale: str
    head = "verdict"

    @property
    def meaning(self) -> str:
        if self.margin is None or self.scale != PAPER:
            return ""
        near = f"{self.metric.factor * self.margin:g}" + (" percentage points" if self.metric.factor > 1 else "")
        return (
            f"Verdict: reproduced where the 95 % interval of our mean lies within {near} of the published number, "
            "which stands for all that round to it; each number by itself."
        )

    def text(self, row: Row) -> str:
        return self._verdict(row) or EMPTY

    def plain(self, row: Row) -> dict[str, Value]:
        return {self.head: self._verdict(row), "place": row.published.place if row.published else ""}

    def _verdict(self, row: Row) -> str:
        if row.verdict or not isinstance(row.published, tables.Published):
            return row.verdict
        measured, printed = self.metric.measured, row.published.printed
        values = measured.at_look(self.metric.values(row))
        verdict = published_verdict(values, printed, self.margin, self.scale, measured.confidence)
        return NOT_YET if measured.waiting and verdict.is_judged else str(verdict)


@dataclass(frozen=True)
class Finite(Column):
    """How many runs did not diverge, of how many; of a study, which cannot diverge, how many values it has.

    Args:
        others: the columns beside it.
    """

    measured: Measured
    others: tuple[Column, ...]

    @property
    def head(self) -> str:
        runs = (run for seeds in self.measured.curves.values() for run in seeds.values())
        return "finite" if any(SECONDS_PER_STEP in run.columns for run in runs) else "n"

    def text(self, row: Row) -> str:
        runs = self.measured.curves.get(row.cell, {}).values()
        if not runs:
            return EMPTY
        if self.head == "finite":
            return f"{sum(not run.diverged for run in runs)}/{len(runs)}"
        return str(max(column.count(row) for column in self.others))

    def plain(self, row: Row) -> dict[str, Value]:
        return {}  # every metric has its own counts


@dataclass(frozen=True)
class Learned(Column):
    """How many runs ended above chance, of how many."""

    measured: Measured
    head = "learned"

    @property
    def meaning(self) -> str:
        made = [run.made for seeds in self.measured.curves.values() for run in seeds.values()]
        shares = " or ".join(f"{each:.4g}" for each in sorted({100 * each.chance for each in made}))
        return (
            f"Learned: runs whose last test accuracy is above {shares} %, the most frequent class's share, by more "
            f"than {ERRORS:g} standard errors of such a share of the test examples; a run can be finite and stay there."
        )

    def judged(self, row: Row) -> list[bool | None]:
        return [learned(run) for run in self.measured.curves.get(row.cell, {}).values()]

    def text(self, row: Row) -> str:
        runs = self.judged(row)
        return f"{sum(map(bool, runs))}/{len(runs)}" if runs else EMPTY

    def plain(self, row: Row) -> dict[str, Value]:
        return {"learned": sum(map(bool, self.judged(row)))}
