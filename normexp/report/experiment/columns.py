"""The columns of a table that shows several things side by side: a metric somewhere, and what the paper prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from normexp.evidence.claims.reading import NothingToJudge, value_at
from normexp.evidence.curves import Cell, better_direction
from normexp.evidence.stats import mean, standard_deviation
from normexp.records import cell as csv_cell
from normexp.report.experiment.measured import Measured
from normexp.report.measurements import is_share, title

EMPTY = "-"
Values = Mapping[int, float]  # seed -> value


class Column(Protocol):
    """What the table asks of a column.

    Args:
        title: its header.
        plain_titles: headers in table.csv.
        meaning: a sentence for the caption, or nothing.
    """

    @property
    def title(self) -> str: ...
    @property
    def plain_titles(self) -> list[str]: ...
    @property
    def meaning(self) -> str: ...
    def count(self, cell: Cell) -> int: ...
    def shown(self, cell: Cell) -> str: ...
    def plain(self, cell: Cell) -> list[str]: ...


@dataclass(frozen=True)
class Looked:
    """A metric at one place of the curves, in the unit of metrics.csv: mean ± standard deviation.

    Args:
        named: the place stands in the header.
    """

    found: Measured
    metric: str
    at: str
    named: bool

    @property
    def title(self) -> str:
        return title(self.metric) + (f", {self.at}" if self.named else "")

    @property
    def plain_titles(self) -> list[str]:
        name = self.metric + (f" {self.at}" if self.named else "")
        return [f"{name} {kind}" for kind in ("mean", "sd", "finite", "n")]

    @property
    def meaning(self) -> str:
        return ""

    @property
    def factor(self) -> float:
        return 100 if is_share(self.metric) else 1

    def values(self, cell: Cell) -> Values:
        better = better_direction(self.metric)
        try:
            return {s: value_at(curve, self.metric, self.at, better) for s, curve in self.found.curves[cell].items()}
        except NothingToJudge:
            return {}

    def count(self, cell: Cell) -> int:
        return len(self.values(cell))

    def shown(self, cell: Cell) -> str:
        """Return mean ± sd to four significant digits, and how many seeds have no finite value."""
        values = self.values(cell)
        finite = _finite(values)
        if not finite:
            return "∞" if any(value == math.inf for value in values.values()) else EMPTY
        factor = self.factor
        spread = f" ± {factor * standard_deviation(finite):.2g}" if len(finite) > 1 else ""
        missing = f" ({len(finite)}/{len(values)})" if len(finite) < len(values) else ""
        return f"{_digits(factor * mean(finite))}{spread}{missing}"

    def centre(self, cell: Cell) -> float | None:
        """Return the mean over the finite values, if there are any."""
        finite = _finite(self.values(cell))
        return mean(finite) if finite else None

    def plain(self, cell: Cell) -> list[str]:
        values = self.values(cell)
        finite = _finite(values)
        spread = standard_deviation(finite) if len(finite) > 1 else None
        return [csv_cell(self.centre(cell)), csv_cell(spread), str(len(finite)), str(len(values))]


@dataclass(frozen=True)
class Printed:
    """What the paper prints for the column after it.

    Args:
        values: arm -> printed text.
    """

    of: str
    values: Mapping[str, str]

    title = "published"
    meaning = ""

    @property
    def plain_titles(self) -> list[str]:
        return [f"{self.of} published"]

    def count(self, cell: Cell) -> int:
        return 0

    def shown(self, cell: Cell) -> str:
        return self.values.get(cell.arm, EMPTY)

    def plain(self, cell: Cell) -> list[str]:
        return [self.values.get(cell.arm, "")]


def _finite(values: Values) -> list[float]:
    return [value for value in values.values() if math.isfinite(value)]


def _digits(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e7 else f"{value:.0f}"
