"""Columns of an experiment's table about the paper: what it prints, and whether that is reproduced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from normexp.evidence.claims import NOT_YET
from normexp.evidence.claims.units import PERCENT
from normexp.evidence.verdicts import NOT_REPRODUCED, REPRODUCED, SCALED, UNDECIDED, published_verdict
from normexp.experiments import tables
from normexp.report.experiment.columns import Column, Metric, Row
from normexp.report.tables.table import EMPTY, Value

NOT_RUN = "published only"
JUDGED = {REPRODUCED, NOT_REPRODUCED, UNDECIDED}
_SHARE = re.compile(rf"([^\d.]*)(\d+\.?\d*|\.\d+)\s*({PERCENT})?")


@dataclass(frozen=True)
class Published(Column):
    """What the paper prints for another column.

    Args:
        unit: of the numbers that are printed without one; empty where each has its own.
        values: arm -> printed text; without them, what the row's own entry says.
        share: whether it is about a share, which stands in percent beside ours, however it is printed.
    """

    of: str
    unit: str = ""
    values: Mapping[str, str] | None = None
    share: bool = False

    @property
    def head(self) -> str:
        unit = PERCENT if self.share else self.unit
        return f"published {self.of}" + (f" ({unit})" if unit else "")

    @property
    def meaning(self) -> str:
        return "Published numbers are shown beside ours here and not judged." if self.values is not None else ""

    def _printed(self, row: Row) -> str:
        if self.values is not None:
            return self.values.get(row.cell.arm, "")
        return row.published.value if row.published else ""

    def text(self, row: Row) -> str:
        printed = self._printed(row)
        return (in_percent(printed, self.unit) if self.share else printed) or EMPTY

    def plain(self, row: Row) -> dict[str, Value]:
        return {f"published {self.of}": self._printed(row)}


def in_percent(printed: str, unit: str) -> str:
    """Return a printed share in percent without the sign, to as many digits: `.497` and `49.7%` are `49.7`.

    What is no number but words stays as it is.

    Args:
        unit: of a number that is printed without one.
    """
    found = _SHARE.fullmatch(printed)
    if found is None:
        return printed
    bound, digits, sign = found.groups()
    return bound + (digits if sign or unit else f"{Decimal(digits).scaleb(2):f}")


@dataclass(frozen=True)
class Verdict(Column):
    """Whether the printed number is reproduced; like a claim it waits for all runs of the grid.

    Args:
        rows: those of the table, whose verdicts are explained below it.
    """

    metric: Metric
    margin: float | None
    scale: str
    rows: Sequence[Row] = ()
    head = "verdict"

    @property
    def meaning(self) -> str:
        words = {self._verdict(row).partition(" (")[0] for row in self.rows}
        if words & JUDGED:
            words.add(REPRODUCED)  # the others are said in its terms
        said = "; ".join(f"{word} where {why}" for word, why in self._reasons() if word in words)
        return f"Verdict: {said}." if said else ""

    def _reasons(self) -> Iterator[tuple[str, str]]:
        """Yield what the words mean but those that say it themselves; a refused arm has a note of its own."""
        near = f"{self.metric.factor * (self.margin or 0):g}" + (" percentage points" if self.metric.factor > 1 else "")
        yield (
            REPRODUCED,
            f"the 95 % interval of our mean lies within {near} of the published number, which stands for all that "
            "round to it, each number by itself",
        )
        yield NOT_REPRODUCED, "it lies outside of that"
        yield UNDECIDED, "it does neither"
        yield SCALED, "our runs are not at the paper's scale: they cannot confirm or refute it"
        yield NOT_RUN, "we have no run of it"

    def text(self, row: Row) -> str:
        return self._verdict(row) or EMPTY

    def plain(self, row: Row) -> dict[str, Value]:
        return {self.head: self._verdict(row), "place": row.published.place if row.published else ""}

    def _verdict(self, row: Row) -> str:
        if row.verdict or not isinstance(row.published, tables.Published):
            return row.verdict
        measured, printed = self.metric.measured, row.published.printed
        verdict = published_verdict(self.metric.values(row), printed, self.margin, self.scale)
        return NOT_YET if measured.waiting and verdict.is_judged else str(verdict)
