"""The figure of a set of runs: a row of panels per data set and model, one line per arm."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from normexp.errors import UserError, unknown
from normexp.records import RunDirectory
from normexp.report.colors import Look, looks
from normexp.report.curves import Curve, curve
from normexp.report.layout import FAMILY, FONT, SMALL, Layout
from normexp.report.legend import write_legend
from normexp.report.limits import limits
from normexp.report.measurements import metric_names
from normexp.report.notes import notes, unfinished_summary
from normexp.report.panel import draw, labels_fit
from normexp.report.select import Arm, Selection, select

RESULTS = ("test/accuracy", "test/rmse", "test/loss")  # the first there is stands beside the training loss
STYLE: dict[Any, Any] = {
    "font.family": FAMILY,
    "font.size": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "svg.hashsalt": "normexp",  # element names, otherwise random
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Panel:
    metric: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Row:
    """The panels of one data set and model."""

    name: str
    panels: tuple[Panel, ...]


def plot(runs: Sequence[RunDirectory], metric: str | None = None) -> dict[str, bytes]:
    """Draw the runs; return the images by suffix: `.png` and `.svg`. Equal records give equal bytes.

    Args:
        metric: one column of metrics.csv; None draws the training loss and the test accuracy (or rmse).
    """
    selection = select(runs)
    rows = _rows(selection, metric)
    return images(lambda: _figure(rows, looks(selection.arms), _captions(selection, rows)))


def images(make: Callable[[], Figure]) -> dict[str, bytes]:
    """Make a figure in our style; return the images by suffix. Equal figures give equal bytes."""
    with _paper_style():
        figure = make()
        png = _image(figure, "png", dpi=200, metadata={"Software": None})
        svg = _image(figure, "svg", metadata={"Date": None, "Creator": "normexp"})
    return {".png": png, ".svg": svg}


def canvas(width: float, height: float) -> Figure:
    """Return an empty figure, in inches, that needs no display."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def _paper_style() -> Iterator[None]:
    """Use our settings on top of matplotlib's own defaults, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def _image(figure: Figure, format: str, **options: Any) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format=format, **options)
    return content.getvalue()


def _rows(selection: Selection, metric: str | None) -> list[Row]:
    """Return what to draw. Raises UserError where there is nothing to draw."""
    arms = [arm for arm in selection.arms if arm.runs]
    if not arms:
        raise UserError(f"no finished run to plot ({unfinished_summary(selection)})")
    names = {name: None for arm in arms for run in arm.runs for name in metric_names(run.metrics)}
    if metric is not None and metric not in names:
        raise unknown("metric", metric, names)
    places = sorted({arm.place for arm in arms})
    rows = [_row(" · ".join(place), [arm for arm in arms if arm.place == place], metric) for place in places]
    return [row for row in rows if row.panels]


def _row(name: str, arms: Sequence[Arm], metric: str | None) -> Row:
    names = {name for arm in arms for run in arm.runs for name in metric_names(run.metrics)}
    result = [each for each in RESULTS if each in names][:1]
    panels = (Panel(each, _curves(arms, each)) for each in ([metric] if metric else ["train/loss", *result]))
    return Row(name, tuple(panel for panel in panels if panel.curves))


def _curves(arms: Sequence[Arm], metric: str) -> tuple[Curve, ...]:
    counts_vary = len({len(arm.runs) for arm in arms}) > 1
    drawn = (curve(arm, metric, _text(arm, counts_vary)) for arm in arms)
    return tuple(each for each in drawn if each is not None)


def _text(arm: Arm, counts_vary: bool) -> str:
    """Name a line: `batch`, `batch (2/3 converged)`, or `batch (n=2)` where other arms have other numbers."""
    converged, runs = len(arm.converged), len(arm.runs)
    if converged < runs:
        return f"{arm.short} ({converged}/{runs} converged)"
    return f"{arm.short} (n={runs})" if counts_vary else arm.short


def _captions(selection: Selection, rows: Sequence[Row]) -> list[str]:
    """Return the sentences under the figure: what line and band mean, then everything that is special."""
    curves = [curve for row in rows for panel in row.panels for curve in panel.curves]
    counts = sorted({len(curve.arm.runs) for curve in curves} - {1})
    text = "Lines: one seed each, so no band."
    if counts:
        seeds = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        text = f"Lines: mean over seeds; bands: ± 1 standard deviation over {seeds} seeds"
        log = any(limits(panel.metric, panel.curves).log for row in rows for panel in row.panels)
        text += ", on a logarithmic axis from the lowest to the highest seed." if log else "."
    if any(curve.marks for curve in curves):
        text += " Crosses: last evaluation of a run that diverged (on the panel's edge if beyond it);"
        text += " the mean goes on over the other seeds."
    return [text + _cut(rows), *notes(selection)]


def _cut(rows: Sequence[Row]) -> str:
    """Name the lines that leave a panel at its top."""
    panels = [(panel, limits(panel.metric, panel.curves).high) for row in rows for panel in row.panels]
    cut = [each.text for panel, high in panels for each in panel.curves if each.arm.converged and each.top > high]
    return f" Beyond the panel's top: {', '.join(dict.fromkeys(cut))}." if cut else ""


def _figure(rows: Sequence[Row], look: dict[str, Look], captions: Sequence[str]) -> Figure:
    texts = [[[curve.text for curve in panel.curves] for panel in row.panels] for row in rows]
    labelled = all(labels_fit(panel.metric, panel.curves, look) for row in rows for panel in row.panels)
    layout = Layout.of(texts, captions, labelled)
    figure = canvas(layout.width, layout.height)
    for i, row in enumerate(rows):
        figure.text(*layout.name(i), row.name, weight="bold", va="top", parse_math=False)
        for j, panel in enumerate(row.panels):
            axes = figure.add_axes(layout.panel(i, j))
            draw(axes, panel.metric, panel.curves, look, labelled=labelled)
    if not labelled:
        found = {c.text: look[c.arm.short] for row in rows for panel in row.panels for c in panel.curves}
        write_legend(figure, found, layout.legend[1], layout.legend_corner)
    lines = "\n".join(layout.captions)
    style: dict[str, Any] = {"size": SMALL, "color": "#444444", "va": "top", "linespacing": 1.3}
    figure.text(*layout.caption_corner, lines, parse_math=False, **style)
    return figure
