"""The page of a folder of runs: their table, their curves, and where they are from, of each experiment by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from normexp.evidence.curves import Curves
from normexp.records import printable
from normexp.report import html
from normexp.report.figures.drawn import drawn
from normexp.report.figures.formats import theme
from normexp.report.figures.runs import curves_of, legend
from normexp.report.files import write
from normexp.report.frames.frame import Frame
from normexp.report.frames.measured import runs_of
from normexp.report.frames.reading import frame_of
from normexp.report.frames.record import Record
from normexp.report.metrics import drawn_unasked
from normexp.report.notes import notes
from normexp.report.page import PAGE, elements
from normexp.report.page.origin import origins
from normexp.report.page.page import document
from normexp.report.page.section import figure, viewer
from normexp.report.tables.runs import table


def write_runs_page(folder: Path) -> Path:
    """Write FOLDER/report.html. Raises UserError where there is no run below the folder."""
    frame = frame_of([folder])
    title = f"Runs in {printable(folder)}"
    return write(folder / PAGE, document(title, _content(frame)))


def _content(frame: Frame) -> str:
    content = table(frame)
    parts = [
        html.element("h2", "Results", id="runs-head"),
        elements.table(content),
        *_curves(frame),
        elements.notes(content),
        *_by_experiment(frame),
    ]
    return html.element("section", "".join(parts), id="runs", aria_labelledby="runs-head")


def _curves(frame: Frame) -> list[str]:
    """Return the figure of the curves; nothing where no run is finished, or all are of studies."""
    if not drawn_unasked(frame.metrics):
        return []
    return [figure(drawn("curves", curves_of(frame, None, notes(frame)), theme(), ("svg",)), (), count())]


def _by_experiment(frame: Frame) -> Iterator[str]:
    """Yield what shows single runs, of every experiment at every scale: two of them may have cells of one name."""
    groups: dict[str, list[Record]] = {}
    for record in frame.records:
        name = f"{record.experiment}, scale {record.scale}" if record.experiment else "Runs of no experiment"
        groups.setdefault(name, []).append(record)
    styles = legend(frame) if frame.cells else {}
    for name, records in groups.items():
        cells = replace(frame, records=tuple(records)).cells
        metrics = _metrics(cells)
        yield html.element("h3", html.text(name)) if len(groups) > 1 else ""
        yield viewer(cells, metrics, styles, name, first=_first(metrics))
        yield html.folded("Where these numbers are from", origins(records, f"{name}: where they are from"))


def _metrics(curves: Curves) -> list[str]:
    return list(dict.fromkeys(name for run in runs_of(curves) for name in run.columns))


def _first(metrics: Sequence[str]) -> str:
    """Return the split to begin with: nobody should choose by the test split where another one was held out."""
    return "validation" if any(name.startswith("validation/") for name in metrics) else "test"
