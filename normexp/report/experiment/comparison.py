"""The paper-style table: rows are arms in the paper's order; the printed number, ours, the paired difference."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from normexp.evidence.claims.reading import NothingToJudge, value_at
from normexp.evidence.curves import Cell, better_direction
from normexp.evidence.stats import PointEstimate, mean, paired, standard_deviation
from normexp.evidence.verdicts import published_verdict
from normexp.experiments.experiment import Experiment
from normexp.records import cell as csv_cell
from normexp.report.experiment.measured import Measured
from normexp.report.measurements import is_share, title

EMPTY = "-"
REFUSED = "refused"
NOT_RUN = "published only"


@dataclass(frozen=True)
class Line:
    """One row: an arm at one point of the grid, looked at in one place of its curves.

    Args:
        values: seed -> value in the unit of metrics.csv; a diverged run's is not finite.
        difference: ours minus the baseline's, paired by seed; None for the baseline and below two pairs.
    """

    cell: Cell
    at: str
    values: Mapping[int, float]
    difference: PointEstimate | None
    published: str
    place: str
    verdict: str

    @property
    def converged(self) -> list[float]:
        return [value for value in self.values.values() if math.isfinite(value)]


@dataclass(frozen=True)
class Comparison:
    """The table before it is Markdown, CSV, LaTeX or HTML; see `normexp.report.formats`."""

    metric: str
    lines: tuple[Line, ...]
    caption: str
    notes: tuple[str, ...]
    places: tuple[str, ...] = ()

    @property
    def headers(self) -> list[str]:
        return ["arm", "at", "published", title(self.metric), "converged", "difference [95 %]", "verdict"]

    @property
    def cells(self) -> list[list[str]]:
        return [self._cells(line) for line in self.lines]

    def _cells(self, line: Line) -> list[str]:
        ours, converged = self._ours(line), f"{len(line.converged)}/{len(line.values)}" if line.values else EMPTY
        published = line.published or EMPTY
        return [str(line.cell), line.at, published, ours, converged, self._difference(line), line.verdict or EMPTY]

    def _ours(self, line: Line) -> str:
        """Return mean and standard deviation of the converged runs; one run has no deviation."""
        if not line.converged:
            return "diverged" if line.values else EMPTY
        spread = standard_deviation(line.converged) if len(line.converged) > 1 else None
        return self._number(mean(line.converged)) + (f" ± {self._number(spread)}" if spread is not None else "")

    def _difference(self, line: Line) -> str:
        if line.difference is None:
            return EMPTY
        interval = line.difference.confidence_interval()
        low, high = (self._number(end, sign=True) for end in (interval.low, interval.high))
        return f"{self._number(line.difference.value, sign=True)} [{low}, {high}]"

    def _number(self, value: float, sign: bool = False) -> str:
        if not math.isfinite(value):
            return "∞" if value > 0 else "-∞" if value < 0 else "?"
        scaled, digits = (100 * value, 2) if is_share(self.metric) else (value, 4)
        return f"{scaled:{'+' if sign else ''}.{digits}f}"

    def csv(self) -> str:
        """Return plain columns in full precision; accuracies are fractions."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["arm", "at", "published", "place", "seeds", "converged", "mean", "sd", "difference",
                         "difference_low", "difference_high", "verdict"])  # fmt: skip
        writer.writerows(self._plain(line) for line in self.lines)
        return out.getvalue()

    def _plain(self, line: Line) -> list[str]:
        values = line.converged
        sd = standard_deviation(values) if len(values) > 1 else None
        found = line.difference
        ends = (
            (found.value, found.confidence_interval().low, found.confidence_interval().high)
            if found
            else (None, None, None)
        )
        numbers = [mean(values) if values else None, sd, *ends]
        counts = [str(len(line.values)), str(len(values))]
        printed = [line.published, line.place]
        return [str(line.cell), line.at, *printed, *counts, *map(csv_cell, numbers), line.verdict]


def comparison(experiment: Experiment, found: Measured, notes: tuple[str, ...]) -> Comparison:
    """Build the table: for every arm its final value, and every place for which the paper prints a number."""
    metric = experiment.table["metric"]
    lines = [
        _line(experiment, found, cell, at, entry)
        for arm in experiment.arms
        for cell in found.curves
        if cell.arm == arm
        for at, entry in _looks(experiment, arm, metric)
    ]
    lines = [line for line in lines if line.values or experiment.scale == "paper"]  # shorter runs do not get there
    lines += [Line(Cell(arm), EMPTY, {}, None, "", "", REFUSED) for arm in experiment.refused]
    lines += [_printed(entry) for entry in experiment.published_only]
    caption = (
        f"{experiment.title}. {experiment.paper}, {experiment.item}. Scale: {experiment.scale}. {experiment.about} "
        "Mean ± standard deviation over the converged runs; differences are paired by seed"
        + (f", to {experiment.table['baseline']}." if experiment.table.get("baseline") else ".")
    )
    return Comparison(metric, tuple(lines), caption, notes)


def _printed(entry: dict[str, Any]) -> Line:
    """Return a row of the printed table that is not run here."""
    return Line(Cell(entry["arm"]), EMPTY, {}, None, entry["value"], entry["place"], NOT_RUN)


def _looks(experiment: Experiment, arm: str, metric: str) -> list[tuple[str, dict[str, Any]]]:
    """Return (place in the curve, published entry or {}) for every row of an arm."""
    entries = [entry for entry in experiment.published if (entry["arm"], entry["metric"]) == (arm, metric)]
    usual = experiment.table.get("at", "last")
    printed = [(entry["at"], entry) for entry in entries if "at" in entry]
    return printed if any(at == usual for at, _ in printed) else [*printed, (usual, {})]


def _line(experiment: Experiment, found: Measured, cell: Cell, at: str, entry: dict[str, Any]) -> Line:
    metric, scale = experiment.table["metric"], experiment.scale
    values = _values(found, cell, metric, at)
    baseline = Cell(experiment.table["baseline"], cell.point) if experiment.table.get("baseline") else None
    compared = baseline is not None and baseline != cell and baseline in found.curves
    difference = paired(values, _values(found, baseline, metric, at)) if compared and baseline else None
    verdict = ""
    if entry:
        verdict = str(published_verdict(values, entry["value"], experiment.table.get("margin", 0.0), scale))
    return Line(cell, at, values, difference, entry.get("value", ""), entry.get("place", ""), verdict)


def _values(found: Measured, cell: Cell, metric: str, at: str) -> dict[int, float]:
    """Return seed -> value; nothing at all where the runs end before the place, as at a smaller scale."""
    better = better_direction(metric)
    try:
        return {seed: value_at(curve, metric, at, better) for seed, curve in found.curves[cell].items()}
    except NothingToJudge:
        return {}
