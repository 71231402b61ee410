"""Several columns side by side: rows are arms in the experiment's order."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from normexp.evidence.curves import SECONDS_PER_STEP, Cell
from normexp.experiments.experiment import Experiment
from normexp.experiments.shape import columns_of
from normexp.report.experiment.columns import Column, Looked, Printed
from normexp.report.experiment.measured import Measured
from normexp.report.experiment.race_columns import SpeedUpOver, StepsTo
from normexp.report.experiment.ratio_column import Ratio

LOOK = ("metric", "at", "target", "than", "over")  # the keys by which a published number finds its column


@dataclass(frozen=True)
class Overview:
    """The table before it is Markdown, CSV, LaTeX or HTML; see `normexp.report.formats`."""

    columns: tuple[Column, ...]
    found: Measured
    lines: tuple[Cell, ...]
    caption: str
    notes: tuple[str, ...]
    places: tuple[str, ...] = ()

    @property
    def headers(self) -> list[str]:
        return ["arm", *(column.title for column in self.columns), "converged" if self._trained else "n"]

    @property
    def cells(self) -> list[list[str]]:
        return [[str(line), *(column.shown(line) for column in self.columns), self._count(line)] for line in self.lines]

    @property
    def _trained(self) -> bool:
        """Whether the runs are of training, which can diverge, and not of a study."""
        return SECONDS_PER_STEP in self.found.metrics

    def _count(self, line: Cell) -> str:
        """Return how many of the seeds' runs stayed finite, or how many values a study has."""
        if self._trained:
            runs = self.found.curves[line].values()
            return f"{sum(not run.diverged for run in runs)}/{len(runs)}"
        return str(max(column.count(line) for column in self.columns))

    def csv(self) -> str:
        """Return plain columns in full precision; mean and standard deviation are over the finite values."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["arm", *(title for column in self.columns for title in column.plain_titles)])
        for line in self.lines:
            writer.writerow([str(line), *(text for column in self.columns for text in column.plain(line))])
        return out.getvalue()


def overview(experiment: Experiment, found: Measured, notes: tuple[str, ...]) -> Overview:
    """Build the table of `table.columns`."""
    columns = tuple(_columns(experiment, found))
    cells = tuple(cell for arm in experiment.arms for cell in found.curves if cell.arm == arm)
    several = any(column.count(cell) > 1 for column in columns for cell in cells)
    caption = f"{experiment.title}. {experiment.paper}, {experiment.item}. {experiment.about}" + (
        " Mean ± standard deviation over the seeds with a finite value." if several else ""
    )
    return Overview(
        columns, found, cells, " ".join([caption, *filter(None, (each.meaning for each in columns))]), notes
    )


def _columns(experiment: Experiment, found: Measured) -> Iterator[Column]:
    """Yield every column, after the published numbers that there are for it."""
    for spec in columns_of(experiment.table):
        column = _column(found, spec, experiment.table.get("at", "last"))
        printed = {entry["arm"]: entry["value"] for entry in experiment.published if _look(entry) == _look(spec)}
        if printed:
            yield Printed(column.title, printed)
        yield column


def _look(entry: dict[str, Any]) -> list[Any]:
    return [entry.get(key) for key in LOOK]


def _column(found: Measured, spec: dict[str, Any], usual: str) -> Column:
    if "target" not in spec:
        looked = (found, spec["metric"], spec["at"], spec["at"] != usual)
        return Ratio(*looked, spec["over"]) if "over" in spec else Looked(*looked)
    race = StepsTo(found, spec["metric"], spec["target"])
    return SpeedUpOver(race, spec["than"]) if "than" in spec else race
