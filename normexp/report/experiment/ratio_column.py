"""A column that sets every arm beside one of them: the ratio to it, seed by seed."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.evidence.curves import Cell
from normexp.report.experiment.columns import Metric, Row, Values
from normexp.report.ratios import ratios


@dataclass(frozen=True)
class RatioTo(Metric):
    """A metric over that of another arm at the same point of the grid, paired by seed: mean ± standard deviation."""

    over: str = ""

    @property
    def head(self) -> str:
        return f"{self.short} over that of {self.over}" + (f", {self.at}" if self.named else "")

    @property
    def factor(self) -> float:
        return 1

    def values(self, row: Row) -> Values:
        other = Row(Cell(self.over, row.cell.point), row.at)
        return ratios(super().values(row), super().values(other))

    def plain(self, row: Row) -> dict[str, str | int | float | None]:
        name = f"{self.metric} over {self.over}" + (f" {self.at}" if self.named else "")
        return {f"{name} {key.rpartition(' ')[2]}": value for key, value in super().plain(row).items()}
