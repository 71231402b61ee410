"""What `normexp plot`, `table` and `best` do, with the arguments that their --help explains.

A table never waits for matplotlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.config.overrides import check_once
from normexp.config.text import items
from normexp.errors import UserError
from normexp.records import from_here
from normexp.report.files import write
from normexp.report.frames.frame import Frame
from normexp.report.frames.reading import frame_of, where
from normexp.report.notes import notes, without_record
from normexp.runs.run import check_writable
from normexp.sweeps.last import below, last_sweep

if TYPE_CHECKING:
    from normexp.report.figures.chart import Chart
    from normexp.report.figures.formats import Theme


def plot_command(
    words: Sequence[str],
    out: str | None = None,
    metric: str | None = None,
    formats: Sequence[str] = (),
    style: str = "page",
    width: str | None = None,
    by: Sequence[str] = (),
    last: bool = False,
) -> list[Path]:
    """Draw the curves of all runs at or below some paths; return the files: images, and .md with the caption."""
    from normexp.report.figures.formats import check_formats, theme

    chosen, written = theme(style, width), check_formats(formats)
    if out is not None:
        check_writable(Path(out), "--out")
    frame = chosen_runs(words, last)
    folder = _around(frame) if out is None else Path(out)
    name = f"curves-{metric.replace('/', '-')}" if metric else "curves"
    return draw(frame, folder / name, metric, chosen, written, by)


def _around(frame: Frame) -> Path:
    """Return the folder that all runs are in. Raises UserError where it cannot be written."""
    folder = from_here(Path(os.path.commonpath([record.directory.path for record in frame.records])))
    check_writable(folder, "--out")
    return folder


def draw(
    frame: Frame, stem: Path, metric: str | None, theme: Theme, formats: Sequence[str], by: Sequence[str] = ()
) -> list[Path]:
    """Draw the curves of a frame; return the files: images, and .md with the caption."""
    from normexp.report.figures.runs import curves_of

    frame.check_readable()
    return _files(curves_of(frame, metric, notes(frame), by), stem, theme, formats)


def _files(chart: Chart, stem: Path, theme: Theme, formats: Sequence[str]) -> list[Path]:
    """Write a chart into STEM.png, .svg or .pdf, and its caption into STEM.md."""
    from normexp.report.figures.drawn import drawn

    figure = drawn(stem.name, chart, theme, formats)
    images = [write(stem.with_name(name), content) for name, content in figure.files.items()]
    return [*images, write(stem.with_name(f"{stem.name}.md"), figure.markdown())]


def table_command(
    words: Sequence[str],
    out: str | None = None,
    format: str = "md",
    by: Sequence[str] = (),
    last: bool = False,
    beside: str | None = None,
) -> str:
    """Return the table of all runs at or below some paths, to be printed."""
    from normexp.report.tables.formats import FORMATS, PRINTED, check_printed
    from normexp.report.tables.runs import table

    check_printed(format)
    if out is not None:
        check_writable(Path(out), "--out")
    content = table(chosen_runs(words, last), by, beside)
    if out is not None:
        for suffix, render in FORMATS.items():
            write(Path(out) / f"table.{suffix}", render(content))
    return PRINTED[format](content)


def best_command(
    words: Sequence[str],
    over: Sequence[str] = (),
    metric: str | None = None,
    format: str = "md",
    last: bool = False,
    out: str | None = None,
) -> tuple[str, list[Path]]:
    """Return the best value of every swept hyperparameter per arm, to be printed, and the files of its figure."""
    from normexp.report.commands.best import best, combinations_tried, curve, dependence
    from normexp.report.tables.formats import check_printed, together

    check_printed(format)
    if out is not None:
        check_writable(Path(out), "--out")
    choice = combinations_tried(chosen_runs(words, last), over, metric)
    files: list[Path] = []
    if out is not None and (chart := curve(choice)) is not None:
        from normexp.report.figures.formats import USUAL, theme

        files = _files(chart, Path(out) / "best", theme(), USUAL)
    depends = dependence(choice)
    return together([best(choice, depends), *([depends] if depends else [])], format), files


def chosen_runs(words: Sequence[str], last: bool) -> Frame:
    """Read the runs at or below the paths among the words; the other words, KEY=VALUE,..., filter them.

    A word with `=` is a path where there is one of that name.

    Args:
        last: read the runs of the last sweep in these folders alone; without a folder, in results.

    Raises: UserError where no run is left.
    """
    paths = [word for word in words if "=" not in word or Path(word).exists()]
    filters = dict(word.split("=", 1) for word in words if word not in paths)
    check_once(word for word in words if word not in paths)
    lost: list[str] = []
    if last:
        folders = [Path(path) for path in paths or ["results"]]
        paths = [str(run) for folder in folders for run in last_sweep(folder)]
        if not paths:
            raise UserError("--last-sweep: none of its runs has begun")
        lost = [note for folder in folders for note in without_record(below(folder))]
    if not paths:
        raise UserError(f"{words[0]}: only a filter; give run directories or a folder of them first (results/runs)")
    frame = frame_of(paths)
    frame = replace(frame, left_out=(*frame.left_out, *lost))
    return where(frame, {key: items(value) for key, value in filters.items()}) if filters else frame
