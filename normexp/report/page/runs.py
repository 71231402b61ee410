"""The page of a folder of runs that belong to no experiment: their table, their curves, and where they are from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from normexp.evidence.curves import Curves
from normexp.records import printable, write_atomically
from normexp.report import html
from normexp.report.figures.drawn import drawn
from normexp.report.figures.formats import theme
from normexp.report.figures.runs import curves_of, legend
from normexp.report.frames.frame import Frame, frame_of
from normexp.report.frames.measured import runs_of
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
    write_atomically(folder / PAGE, document(title, _content(frame)))
    return folder / PAGE


def _content(frame: Frame) -> str:
    content, metrics = table(frame), _metrics(frame.cells)
    parts = [
        html.element("h2", "Results", id="runs-head"),
        elements.table(content),
        *_curves(frame),
        viewer(frame.cells, metrics, legend(frame), "runs", first=_first(metrics)),
        elements.notes(content),
        html.folded("Where these numbers are from", origins(frame.records, "Runs and where they are from")),
    ]
    return html.element("section", "".join(parts), id="runs", aria_labelledby="runs-head")


def _curves(frame: Frame) -> list[str]:
    if not frame.cells:
        return []
    return [figure(drawn("curves", curves_of(frame, None, notes(frame)), theme(), ("svg",)), (), count())]


def _metrics(curves: Curves) -> list[str]:
    return list(dict.fromkeys(name for run in runs_of(curves) for name in run.columns))


def _first(metrics: Sequence[str]) -> str:
    """Return the split to begin with: nobody should choose by the test split where another one was held out."""
    return "validation" if any(name.startswith("validation/") for name in metrics) else "test"
