"""What `normexp plot` and `normexp table` do. matplotlib and pandas are imported only by the one that needs them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from normexp.errors import UserError, unknown
from normexp.records import RunDirectory, find_runs, write_atomically

IMAGES = (".png", ".svg")


def plot_command(paths: Sequence[str], out: str | None = None, metric: str | None = None) -> list[Path]:
    """Draw the curves of all runs at or below `paths`; return the two files written, PNG and SVG.

    Args:
        out: a folder, or a file ending in .png or .svg (both are written); by default the run's own folder,
            or the common folder of many runs.
        metric: one column of metrics.csv; by default the training loss and the test accuracy (or rmse).
    """
    from normexp.report.figures import plot

    runs = find_runs(paths)
    name = f"curves-{metric.replace('/', '-')}" if metric else "curves"
    stem = _common_folder(runs) / name if out is None else _stem(Path(out), name)
    images = plot(runs, metric)
    return [_write(stem.with_name(stem.name + suffix), images[suffix]) for suffix in IMAGES]


def table_command(paths: Sequence[str], out: str | None = None, format: str | None = None) -> str:
    """Return what to print: the table (Markdown by default), or with `out` the files written, one per line.

    Args:
        out: a folder that receives table.md, .csv, .tex and .html (only one of them where `format` is given).
        format: markdown, csv, latex or html.
    """
    from normexp.report.formats import FORMATS
    from normexp.report.tables import table

    if format is not None and format not in FORMATS:
        raise unknown("table format", format, FORMATS)
    content = table(find_runs(paths))
    if out is None:
        return FORMATS[format or "markdown"].render(content)
    chosen = [FORMATS[format]] if format else list(FORMATS.values())
    written = [_write(Path(out) / f"table{chosen_format.suffix}", chosen_format.render(content)) for chosen_format in chosen]
    return "".join(f"{path}\n" for path in written)


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
