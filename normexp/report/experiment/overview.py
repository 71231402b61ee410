"""Several metrics side by side: rows are arms in the experiment's order, one column per metric."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass

from normexp.claims.reading import NothingToJudge, value_at
from normexp.curves import Cell, better_direction
from normexp.experiments import Experiment
from normexp.records import cell as csv_cell
from normexp.report.experiment.measured import Measured
from normexp.report.measurements import is_share, title
from normexp.stats import mean, standard_deviation

EMPTY = "-"
Values = Mapping[int, float]  # seed -> value


@dataclass(frozen=True)
class Overview:
    """The table before it is Markdown, CSV, LaTeX or HTML; see `normexp.report.formats`.

    Args:
        lines: cell -> metric -> seed -> value in the unit of metrics.csv.
    """

    metrics: tuple[str, ...]
    lines: Mapping[Cell, Mapping[str, Values]]
    caption: str
    notes: tuple[str, ...]
    places: tuple[str, ...] = ()

    @property
    def headers(self) -> list[str]:
        return ["arm", *map(title, self.metrics), "n"]

    @property
    def cells(self) -> list[list[str]]:
        return [
            [str(cell), *(_shown(name, values[name]) for name in self.metrics), str(max(map(len, values.values())))]
            for cell, values in self.lines.items()
        ]

    def csv(self) -> str:
        """Return plain columns in full precision, mean and standard deviation over the finite values."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        kinds = ("mean", "sd", "finite", "n")
        writer.writerow(["arm", *(f"{name} {kind}" for name in self.metrics for kind in kinds)])
        for cell, values in self.lines.items():
            writer.writerow([str(cell), *(text for name in self.metrics for text in _plain(values[name]))])
        return out.getvalue()


def overview(experiment: Experiment, found: Measured, notes: tuple[str, ...]) -> Overview:
    """Build the table of `table.columns`."""
    metrics, at = experiment.table["columns"], experiment.table.get("at", "last")
    cells = [cell for arm in experiment.arms for cell in found.curves if cell.arm == arm]
    lines = {cell: {name: _values(found, cell, name, at) for name in metrics} for cell in cells}
    several = any(len(values) > 1 for line in lines.values() for values in line.values())
    caption = f"{experiment.title}. {experiment.paper}, {experiment.item}. {experiment.about}" + (
        " Mean ± standard deviation over the seeds with a finite value." if several else ""
    )
    return Overview(tuple(metrics), lines, caption, notes)


def _values(found: Measured, cell: Cell, metric: str, at: str) -> dict[int, float]:
    better = better_direction(metric)
    try:
        return {seed: value_at(curve, metric, at, better) for seed, curve in found.curves[cell].items()}
    except NothingToJudge:
        return {}


def _finite(values: Values) -> list[float]:
    return [value for value in values.values() if math.isfinite(value)]


def _shown(metric: str, values: Values) -> str:
    """Return mean ± sd to four significant digits, and how many seeds have no finite value."""
    finite = _finite(values)
    if not finite:
        return "∞" if any(value == math.inf for value in values.values()) else EMPTY
    factor = 100 if is_share(metric) else 1
    spread = f" ± {factor * standard_deviation(finite):.2g}" if len(finite) > 1 else ""
    missing = f" ({len(finite)}/{len(values)})" if len(finite) < len(values) else ""
    return f"{_digits(factor * mean(finite))}{spread}{missing}"


def _digits(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e7 else f"{value:.0f}"


def _plain(values: Values) -> list[str]:
    finite = _finite(values)
    centre = mean(finite) if finite else None
    spread = standard_deviation(finite) if len(finite) > 1 else None
    return [csv_cell(centre), csv_cell(spread), str(len(finite)), str(len(values))]
