"""Numbers as a table of colours: arms down, an axis of the grid or several metrics across."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from normexp.evidence.curves import Cell
from normexp.evidence.stats import mean
from normexp.report.experiment.drawings.frame import Room, frame
from normexp.report.experiment.drawings.subject import Subject, along
from normexp.report.experiment.ratio_column import ratios
from normexp.report.layout import SMALL, broken, text_width
from normexp.report.measurements import is_share, title

Numbers = npt.NDArray[np.float64]

MAP = "cividis"  # made for readers with a colour deficiency (Nuñez, Anderton & Renslow 2018)
CELL_WIDTH, CELL_HEIGHT = 0.72, 0.3  # inches
WIDEST_NAME = 2.4
LOST = "#dddddd"


@dataclass(frozen=True)
class Entry:
    """One cell of the table: the mean over the converged runs."""

    value: float
    text: str


def heat(subject: Subject) -> Figure:
    rows, columns, entries = _entries(subject)
    values = np.array([[entry.value for entry in row] for row in entries])
    log, several = subject.log("z"), "metrics" in subject.spec
    names = ["\n".join(broken(row, WIDEST_NAME)) for row in rows]
    heads = ["\n".join(broken(column, CELL_WIDTH)) for column in columns]
    left = max(text_width(line) for name in names for line in name.split("\n")) + 0.15
    top = 0.2 + 0.125 * max(head.count("\n") + 1 for head in heads) + (0.0 if several else 0.2)
    room = Room(CELL_WIDTH * len(columns), CELL_HEIGHT * len(rows), left, 0.15, top, 0.12)
    figure, (axes,) = frame(subject, 1, subject.captions(_meaning(subject, several, log)), room)
    _paint(axes, _shades(values, log, by_column=several), entries)
    axes.set_xticks(range(len(columns)), heads, fontsize=SMALL)
    axes.set_yticks(range(len(rows)), names, fontsize=7)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    if not several:
        axes.set_xlabel(subject.label("x", subject.spec["axis"]), parse_math=False)
        axes.xaxis.set_label_position("top")
    return figure


def _entries(subject: Subject) -> tuple[list[str], list[str], list[list[Entry]]]:
    """Return the rows' names, the columns' names and the entries."""
    cells = [cell for cell in subject.cells if cell in subject.runs]
    if "metrics" in subject.spec:
        metrics = subject.named("metrics")
        made = [[_entry(subject, cell, metric) for metric in metrics] for cell in cells]
        return (
            [subject.name(cell) for cell in cells],
            [subject.label(metric, title(metric)) for metric in metrics],
            made,
        )
    axis, metric = subject.spec["axis"], subject.spec["metric"]
    values = list(dict.fromkeys(dict(cell.point)[axis] for cell in subject.cells))
    rows: dict[Cell, dict[object, Cell]] = {}
    for cell in cells:
        rows.setdefault(along(cell, axis), {})[dict(cell.point)[axis]] = cell
    made = [
        [_entry(subject, row[value], metric) if value in row else Entry(math.nan, "") for value in values]
        for row in rows.values()
    ]
    return [subject.name(cell) for cell in rows], [str(value) for value in values], made


def _entry(subject: Subject, cell: Cell, metric: str) -> Entry:
    by_seed = _values(subject, cell, metric)
    finite = [value for value in by_seed.values() if math.isfinite(value)]
    if not finite:
        return Entry(math.nan, "diverged" if by_seed else "")
    value = mean(finite)
    text = f"{value:.2f}" if "over" in subject.spec else f"{value:.1f}" if is_share(metric) else f"{value:.3g}"
    return Entry(value, text if len(finite) == len(by_seed) else f"{text}\n{len(finite)}/{len(by_seed)} conv.")


def _values(subject: Subject, cell: Cell, metric: str) -> dict[int, float]:
    """Return seed -> value, with `over` divided by that of its arm at the same point of the grid."""
    values = subject.values(cell, metric)
    if "over" not in subject.spec:
        return values
    return ratios(values, subject.values(Cell(subject.spec["over"], cell.point), metric))


def _shades(values: Numbers, log: bool, by_column: bool) -> Numbers:
    """Return 0..1 for every value, NaN for what has no shade: over all of them, or in each column by itself."""
    if by_column:
        return np.column_stack([_shades(column[:, None], log, by_column=False) for column in values.T])
    known = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(known):
        return np.full(values.shape, np.nan)
    norm = (LogNorm if log else Normalize)(known.min(), known.max())
    shades = np.ma.filled(np.ma.masked_invalid(norm(np.ma.masked_invalid(values))).astype(float), np.nan)
    return np.where(np.isfinite(values) & ((values > 0) | (not log)), np.clip(shades, 0, 1), np.nan)


def _paint(axes: Axes, shades: Numbers, entries: Sequence[Sequence[Entry]]) -> None:
    colors = matplotlib.colormaps[MAP]
    for i, row in enumerate(entries):
        for j, entry in enumerate(row):
            shade = shades[i, j]
            face = colors(shade) if math.isfinite(shade) else LOST
            axes.add_patch(matplotlib.patches.Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=face, edgecolor="white"))
            dark = math.isfinite(shade) and shade < 0.45
            axes.text(
                j, i, entry.text, ha="center", va="center", color="white" if dark else "black",
                size=SMALL if "\n" not in entry.text else 5.5, linespacing=0.95,
            )  # fmt: skip
    axes.set_xlim(-0.5, shades.shape[1] - 0.5)
    axes.set_ylim(shades.shape[0] - 0.5, -0.5)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def _meaning(subject: Subject, several: bool, log: bool) -> str:
    seeds = max(len(runs) for runs in subject.runs.values())
    over = f" over that of {subject.spec['over']}" if "over" in subject.spec else ""
    what = "" if several else f"{title(subject.spec['metric'])}{over}: "
    of = "mean over the converged seeds" if seeds > 1 else "one seed each"
    scale = f"{' in each column by itself' if several else ''}{', logarithmic' if log else ''}"
    first = f"{what}{of}"
    return f"{first[0].upper()}{first[1:]}. Dark is low, light is high{scale}; grey has no value."
