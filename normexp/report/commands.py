"""What `normexp plot` and `normexp table` do. A table never waits for matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.config import option
from normexp.errors import UserError, unknown
from normexp.records import METRICS, RunDirectory, find_runs, read_rows, write_atomically
from normexp.report.frame import folder_frame
from normexp.report.notes import notes
from normexp.report.select import peers, select

if TYPE_CHECKING:
    from normexp.report.figures.formats import Look

IMAGES = (".png", ".svg", ".pdf")


def plot_command(
    paths: Sequence[str],
    out: str | None = None,
    metric: str | None = None,
    formats: Sequence[str] = (),
    style: str = "page",
    width: str | None = None,
) -> list[Path]:
    """Draw the curves of all runs at or below `paths`; return the files written: images, and .md with the caption.

    Args:
        out: a folder, or a file ending in .png, .svg or .pdf; by default the run's own folder, or the common folder
            of many runs.
        metric: one column of metrics.csv; by default the training loss and the test accuracy (or rmse).
        formats: png, svg, pdf; by default the first two.
        style: page, paper or slide.
        width: of the figure, such as 3.3in or 84mm; by default that of the style.
    """
    from normexp.report.figures.formats import check_formats, look

    chosen, written = look(style, width), check_formats(formats)
    runs = find_runs(paths)
    name = f"curves-{metric.replace('/', '-')}" if metric else "curves"
    stem = _common_folder(runs) / name if out is None else _stem(Path(out), name)
    return _draw(runs, stem, metric, chosen, written)


def _draw(
    runs: Sequence[RunDirectory], stem: Path, metric: str | None, look: Look, formats: Sequence[str]
) -> list[Path]:
    from normexp.report.figures.drawn import drawn
    from normexp.report.figures.runs import curves_of

    chart = curves_of(folder_frame(runs), metric, notes(select(runs)))
    figure = drawn(stem.name, chart, look, formats)
    images = [_write(stem.with_name(name), content) for name, content in figure.files.items()]
    return [*images, _write(stem.with_name(f"{stem.name}.md"), figure.markdown())]


def table_command(paths: Sequence[str], out: str | None = None, format: str = "md") -> str:
    """Return the table of all runs at or below `paths`, to be printed.

    Args:
        out: a folder that also receives table.md, .csv, .tex and .html.
        format: of the returned text: md, csv, tex or html.
    """
    from normexp.report.formats import FORMATS
    from normexp.report.tables import table

    if format not in FORMATS:
        raise unknown("table format", format, FORMATS)
    content = table(find_runs(paths))
    if out is not None:
        for suffix, render in FORMATS.items():
            _write(Path(out) / f"table.{suffix}", render(content))
    return FORMATS[format](content)


def compare(directory: RunDirectory) -> str:
    """Set a run beside the runs next to it that differ in nothing but norm and seed.

    Draws them into the run's own folder and returns their table. A damaged neighbour is named, not fatal: the
    run itself went well.
    """
    from normexp.report.figures.formats import USUAL, look
    from normexp.report.formats import markdown
    from normexp.report.tables import table

    runs, damaged = peers(directory, find_runs([directory.path.parent]))
    left_out = "".join(f"- Left out: {reason}\n" for reason in damaged)
    if not runs:  # it is its own peer, so its own record is damaged
        return left_out
    drawn = _draw(runs, directory.path / "curves", None, look(), USUAL)
    return f"{markdown(table(runs))}{left_out}\nfigure: {drawn[0]}"


def found(directory: RunDirectory) -> str:
    """Return what a study measured, one line per metric, and the further files it wrote."""
    rows = read_rows(directory.path / METRICS)
    about: dict[str, str] = option("study", directory.config["_choices_"]["study"])["_metrics_"]
    width = max(map(len, about))
    last = [f"{name:{width}}  {rows[-1][name]:>24}  {text}" for name, text in about.items()]
    tables = [directory.path / name for name in directory.names() if name.endswith(".csv") and name != METRICS]
    counted = [f"{len(rows)} rows in {directory.path / METRICS}; the last:"] if len(rows) > 1 else []
    return "\n".join([*counted, *last, *map(str, tables)])


def _common_folder(runs: Sequence[RunDirectory]) -> Path:
    return Path(os.path.commonpath([run.path for run in runs]))


def _stem(out: Path, name: str) -> Path:
    return out.with_suffix("") if out.suffix.lower() in IMAGES else out / name


def _write(path: Path, content: str | bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or type(error).__name__})") from None
    return path
