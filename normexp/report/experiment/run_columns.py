"""Columns of an experiment's table that count its runs: how many stayed finite, how many learned."""

from __future__ import annotations

from dataclasses import dataclass

from normexp.evidence.curves import SECONDS_PER_STEP
from normexp.evidence.learned import ERRORS, learned
from normexp.report.experiment.columns import Column, Row
from normexp.report.frames.measured import Measured
from normexp.report.tables.table import EMPTY, Value

NOISY = (
    " Where training labels were drawn anew it is the last training accuracy and the training examples: random labels "
    "can be learned, though they teach nothing about the test examples."
)


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
        return "finite" if any(SECONDS_PER_STEP in run.columns for run in self.measured.runs) else "n"

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
        made = [run.made for run in self.measured.runs]
        shares = " or ".join(f"{each:.4g}" for each in sorted({100 * each.chance for each in made}))
        return (
            f"Learned: runs whose last test accuracy is above {shares} %, the most frequent class's share, by more "
            f"than {ERRORS:g} standard errors of such a share of the test examples; a run can be finite and stay there."
            + NOISY
            * any(each.learns == "train" for each in made)
        )

    def judged(self, row: Row) -> list[bool | None]:
        return [learned(run) for run in self.measured.curves.get(row.cell, {}).values()]

    def text(self, row: Row) -> str:
        runs = self.judged(row)
        return f"{sum(map(bool, runs))}/{len(runs)}" if runs else EMPTY

    def plain(self, row: Row) -> dict[str, Value]:
        return {"learned": sum(map(bool, self.judged(row)))}
