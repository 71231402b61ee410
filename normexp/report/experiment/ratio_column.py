"""A column that sets every arm beside one of them: the ratio to it, seed by seed."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.evidence.curves import Cell
from normexp.report.experiment.columns import Looked, Values
from normexp.report.measurements import title


@dataclass(frozen=True)
class Ratio(Looked):
    """A metric over that of another arm at the same point of the grid, paired by seed: mean ± standard deviation."""

    over: str

    @property
    def title(self) -> str:
        return f"{title(self.metric).removesuffix(' (%)')} over that of {self.over}"

    @property
    def plain_titles(self) -> list[str]:
        return [f"{self.metric} over {self.over} {kind}" for kind in ("mean", "sd", "finite", "n")]

    @property
    def factor(self) -> float:
        return 1

    def values(self, cell: Cell) -> Values:
        other = Cell(self.over, cell.point)
        if other not in self.found.curves:
            return {}
        return ratios(super().values(cell), super().values(other))


def ratios(values: Values, others: Values) -> dict[int, float]:
    """Return seed -> value over the other's with the same seed, where there is one and it is not 0."""
    return {seed: value / others[seed] for seed, value in values.items() if others.get(seed)}
