"""What `normexp plot`, `table` and `best` do, with the arguments that their --help explains.

A table never waits for matplotlib.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from normexp.config import option
from normexp.config.overrides import check_once
from normexp.config.text import as_argument
from normexp.errors import UserError, unknown
from normexp.evidence.curves import MEASURES
from normexp.records import METRICS, RunDirectory, read_rows
from normexp.report.files import write
from normexp.report.frame import Frame, folder_frame, frame_of, where
from normexp.report.labels import Options
from normexp.report.measurements import drawn_unasked
from normexp.report.neighbours import latest, neighbours
from normexp.report.notes import notes
from normexp.report.options import run_options
from normexp.runs.run import check_writable
from normexp.sweeps.last import last_sweep

if TYPE_CHECKING:
    from normexp.report.figures.chart import Chart
    from normexp.report.figures.formats import Theme

MOST_AFTER_SWEEP = 500  # runs whose table is made unasked
IMAGES = (".png", ".svg", ".pdf")


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
        check_writable(_stem(Path(out), "curves").parent, "--out")
    frame = chosen_runs(words, last)
    runs = [record.directory for record in frame.records]
    name = f"curves-{metric.replace('/', '-')}" if metric else "curves"
    stem = _common_folder(runs) / name if out is None else _stem(Path(out), name)
    check_writable(stem.parent, "--out")
    return _draw(frame, stem, metric, chosen, written, by)


def _draw(
    frame: Frame, stem: Path, metric: str | None, theme: Theme, formats: Sequence[str], by: Sequence[str] = ()
) -> list[Path]:
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
    words: Sequence[str], out: str | None = None, format: str = "md", by: Sequence[str] = (), last: bool = False
) -> str:
    """Return the table of all runs at or below some paths, to be printed."""
    from normexp.report.formats import FORMATS, PRINTED
    from normexp.report.tables import table

    if format not in PRINTED:
        raise unknown("table format", format, PRINTED)
    content = table(chosen_runs(words, last), by)
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
    from normexp.report.best import best, combinations_tried, curve, dependence
    from normexp.report.formats import PRINTED, together

    if format not in PRINTED:
        raise unknown("table format", format, PRINTED)
    if out is not None:
        check_writable(_stem(Path(out), "best").parent, "--out")
    choice = combinations_tried(chosen_runs(words, last), over, metric)
    files: list[Path] = []
    if out is not None and (chart := curve(choice)) is not None:
        from normexp.report.figures.formats import USUAL, theme

        files = _files(chart, _stem(Path(out), "best"), theme(), USUAL)
    depends = dependence(choice)
    return together([best(choice, depends), *([depends] if depends else [])], format), files


def after_sweep(runs: Sequence[Path], results: Path) -> tuple[str, list[str]]:
    """Return the table of a sweep that has ended, and the commands that look further.

    Without a table where no run can be read, or where there are so many that nobody wants to wait for them.
    """
    from normexp.report.formats import markdown
    from normexp.report.tables import table

    words = ["--last-sweep"] if results == Path("results") else [quote(as_argument(results)), "--last-sweep"]
    if len(runs) > MOST_AFTER_SWEEP:
        return "", [f"normexp {verb} {' '.join(words)}" for verb in ("table", "plot")]
    begun = [run for run in runs if run.exists()]
    if not begun:
        return "", []
    try:
        frame = frame_of(begun)
        content = table(frame)
    except UserError:
        return "", []
    return markdown(content), _looks(frame, " ".join(words))


def _looks(frame: Frame, words: str) -> list[str]:
    """Return the commands that have something to show of these runs: a study has no curves that are drawn unasked."""
    from normexp.report.best import swept

    known = list(dict.fromkeys(name for record in frame.records if record.finished for name in record.metrics))
    if not known:
        return []
    asked = "" if drawn_unasked(known) else f" --metric {quote(known[0])}"
    best = [f"normexp best {words} --out best"] if swept(frame) and not {*MEASURES}.isdisjoint(known) else []
    return [f"normexp plot {words}{asked}", *best]


def chosen_runs(words: Sequence[str], last: bool = False) -> Frame:
    """Read the runs at or below the paths among the words; the other words, KEY=VALUE,..., filter them.

    A word with `=` is a path where there is one of that name.

    Args:
        last: read the runs of the last sweep in these folders alone; without a folder, in results.
    """
    paths = [word for word in words if "=" not in word or Path(word).exists()]
    filters = dict(word.split("=", 1) for word in words if word not in paths)
    check_once(word for word in words if word not in paths)
    if last:
        paths = [str(run) for path in paths or ["results"] for run in last_sweep(Path(path))]
        if not paths:
            raise UserError("--last-sweep: none of its runs has begun")
    if not paths:
        raise UserError(f"{words[0]}: only a filter; give run directories or a folder of them first (results/runs)")
    frame = frame_of(paths)
    return where(frame, {key: _values(value) for key, value in filters.items()}) if filters else frame


def _values(text: str) -> list[str]:
    """Split `batch,layer` at the commas that are in no brackets."""
    return re.split(r",(?![^\[(]*[\])])", text)


def compare(directory: RunDirectory) -> str:
    """Set a run beside the runs next to it that differ in nothing but norm and seed.

    Draws them into the run's own folder and returns their table. Of many it takes the latest, and says so. A damaged
    neighbour is named, not fatal: the run itself went well.
    """
    from normexp.report.figures.formats import USUAL, theme
    from normexp.report.formats import markdown
    from normexp.report.tables import table

    beside = neighbours(directory)
    near = latest(beside, directory)
    frame = folder_frame(near)
    runs = peers(directory, frame)
    left_out = "".join(f"- {line}\n" for line in frame.left_out)
    if older := len(beside) - len(near):
        left_out += f"- {older:,} older runs; `normexp table {quote(as_argument(directory.path.parent))}` reads all\n"
    if not runs:  # it is its own peer, so its own record is damaged
        return left_out
    compared = folder_frame(runs)
    content = f"{markdown(table(compared))}{left_out}\n"
    try:
        return f"{content}figure: {_draw(compared, directory.path / 'curves', None, theme(), USUAL)[0]}"
    except UserError as error:  # a folder that is read-only, a disk that is full
        return f"{content}no figure: {error}"


def peers(directory: RunDirectory, frame: Frame) -> list[RunDirectory]:
    """Return the finished runs that differ from one in norm and seed alone, itself among them."""
    wanted = _without_norm(run_options(directory))
    finished = [record for record in frame.records if record.finished and record.options]
    return [record.directory for record in finished if record.options and _without_norm(record.options) == wanted]


def _without_norm(options: Options) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.partition(".")[0] != "norm"}


def study_results(directory: RunDirectory) -> str:
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
