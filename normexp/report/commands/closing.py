"""What `normexp run` and `sweep` print when they have ended: a table, what was measured, what to look at next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote

from normexp.config import option
from normexp.config.text import as_argument
from normexp.errors import UserError
from normexp.evidence.metrics import MEASURES
from normexp.records import METRICS, RunDirectory
from normexp.records.find import resolved
from normexp.report.commands.runs import draw
from normexp.report.frames.frame import Frame
from normexp.report.frames.neighbours import latest, neighbours
from normexp.report.frames.options import Options
from normexp.report.frames.reading import folder_frame, frame_of
from normexp.report.metrics import drawn_unasked
from normexp.report.notes import without_record

MOST = 500  # runs whose table is made unasked


def after_sweep(runs: Mapping[Path, str], results: Path) -> tuple[str, list[str]]:
    """Return the table of a sweep that has ended, and the commands that look further.

    Without a table where no run can be read, or where there are so many that nobody wants to wait for them.

    Args:
        runs: run directory -> what the sweep calls it.
    """
    from normexp.report.tables.formats import markdown
    from normexp.report.tables.runs import table

    words = ["--last-sweep"] if results == Path("results") else [quote(as_argument(results)), "--last-sweep"]
    if len(runs) > MOST:
        return "", [f"normexp {verb} {' '.join(words)}" for verb in ("table", "plot")]
    begun = [run for run in runs if RunDirectory(run).has_begun]
    if not begun:
        return "", []
    try:
        frame = frame_of(begun)
        frame = replace(frame, left_out=(*frame.left_out, *without_record(runs)))
        content = table(frame)
    except UserError:
        return "", []
    return markdown(content), _looks(frame, " ".join(words))


def _looks(frame: Frame, words: str) -> list[str]:
    """Return the commands that have something to show of these runs: a study has no curves that are drawn unasked."""
    from normexp.report.commands.best import swept

    if not (known := frame.metrics):
        return []
    asked = "" if drawn_unasked(known) else f" --metric {quote(known[0])}"
    best = [f"normexp best {words} --out best"] if swept(frame) and not {*MEASURES}.isdisjoint(known) else []
    return [f"normexp plot {words}{asked}", *best]


def compare(directory: RunDirectory) -> str:
    """Set a run beside the runs next to it that differ in nothing but norm and seed.

    Draws them into the run's own folder and returns their table. Of many it takes the latest, and says so. A damaged
    neighbour is named, not fatal: the run itself went well.
    """
    from normexp.report.figures.formats import USUAL, theme
    from normexp.report.tables.formats import markdown
    from normexp.report.tables.runs import table

    itself = RunDirectory(resolved(directory.path))  # as it is found among the others, whatever leads to it
    beside = neighbours(itself)
    near = latest(beside, itself)
    frame = folder_frame(near)
    runs = peers(itself, frame)
    left_out = "".join(f"- {line}\n" for line in frame.left_out)
    if older := len(beside) - len(near):
        left_out += f"- {older:,} older runs; `normexp table {quote(as_argument(directory.path.parent))}` reads all\n"
    if not runs:  # it is its own peer, so its own record is damaged
        return left_out
    compared = folder_frame(runs)
    content = f"{markdown(table(compared))}{left_out}\n"
    try:
        return f"{content}figure: {draw(compared, directory.path / 'curves', None, theme(), USUAL)[0]}"
    except UserError as error:  # a folder that is read-only, a disk that is full
        return f"{content}no figure: {error}"


def peers(directory: RunDirectory, frame: Frame) -> list[RunDirectory]:
    """Return the finished runs that differ from one in norm and seed alone, itself among them.

    Options are those of the frame, which names files and classes of one name apart.
    """
    given = {record.directory.path: _without_norm(record.options) for record in frame.records if record.options}
    finished = [record for record in frame.records if record.finished and record.options]
    return [each.directory for each in finished if given[each.directory.path] == given.get(directory.path)]


def _without_norm(options: Options) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.partition(".")[0] != "norm"}


def study_results(directory: RunDirectory) -> str:
    """Return what a study measured, one line per metric, and the further files it wrote."""
    rows = directory.rows(METRICS)
    about: dict[str, str] = option("study", directory.config["_choices_"]["study"])["_metrics_"]
    width = max(map(len, about))
    last = [f"{name:{width}}  {rows[-1][name]:>24}  {text}" for name, text in about.items()]
    tables = [directory.path / name for name in directory.names() if name.endswith(".csv") and name != METRICS]
    counted = [f"{len(rows)} rows in {directory.path / METRICS}; the last:"] if len(rows) > 1 else []
    return "\n".join([*counted, *last, *map(str, tables)])
