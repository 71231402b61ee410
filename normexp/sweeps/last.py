"""Which runs were the cells of the last sweep in a results folder: `--last-sweep` looks at these alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.errors import UserError, nearest_path
from normexp.records import RunDirectory, write_atomically
from normexp.records.files import absolute, folder_above, make_folder, read_json
from normexp.records.locks import in_use, is_in_use
from normexp.records.printable import printable

if TYPE_CHECKING:
    from normexp.sweeps.plan import Plan

FILE = ".last-sweep.json"  # in the results folder; what looks for run directories passes hidden files by


@contextmanager
def remembered(plan: Plan) -> Iterator[None]:
    """Write which runs are the cells of a sweep, and what they are called; taken back if it cannot be started.

    While it lasts, `is_swept` is true.
    """
    results, path = plan.results, plan.results / FILE
    before = path.read_bytes() if path.is_file() else None
    names = {cell.path.relative_to(results).as_posix(): plan.name(cell) for cell in plan.cells}
    content = (json.dumps({"runs": names, **({"trial": plan.trial._asdict()} if plan.trial else {})}) + "\n").encode()
    if content != before:
        with suppress(OSError, UserError) if not plan.open else nullcontext():  # what has ended may be read-only
            make_folder(results)
            write_atomically(path, content)
    try:
        with in_use(path):
            yield
    except UserError:
        if content != before:
            _take_back(path, content, before)
        raise


def _take_back(path: Path, own: bytes, before: bytes | None) -> None:
    """Put back what was there before; not where another sweep has written since, or works by the same cells."""
    if not path.is_file() or path.read_bytes() != own or is_in_use(path):
        return
    if before is not None:
        write_atomically(path, before)
        return
    path.unlink(missing_ok=True)
    with suppress(OSError):  # holds others
        path.parent.rmdir()


def trial_at(folder: Path) -> tuple[int, int, int]:
    """Return at which trial the last sweep in a results folder is, of how many, and how many runs are ahead.

    Zeros for a sweep that is no search, and where the file is damaged.
    """
    try:
        known = read_json(folder / FILE).get("trial", {})
        return int(known["number"]), int(known["trials"]), max(0, int(known["ahead"]))
    except (UserError, OSError, KeyError, TypeError, ValueError):
        return 0, 0, 0


def is_swept(results: Path) -> bool:
    """Tell whether the last sweep in a results folder is still at work, also before its first run and between two."""
    return is_in_use(results / FILE)


def last_sweep(folder: Path) -> list[Path]:
    """Return the run directories that there are of the last sweep in a results folder, or in that of these runs.

    Raises: UserError where there is no such folder, or no run of it lies there; where no sweep is remembered, or what
        is remembered is damaged.
    """
    if not folder.exists():
        raise UserError(f"{printable(folder)}: no such file or folder{nearest_path(folder)}")
    return [path for path in below(folder) if RunDirectory(path).has_begun]


def below(folder: Path) -> dict[Path, str]:
    """Return the same with those that have not begun, and what the sweep called them.

    Raises: UserError where it has none there.
    """
    runs = planned(folder)
    there = {path: name for path, name in runs.items() if absolute(folder) in absolute(path).parents}
    if runs and not there:
        raise UserError(f"--last-sweep: {printable(folder)}: no run of the last sweep lies there")
    return there


def planned(folder: Path) -> dict[Path, str]:
    """Return all runs of the last sweep in a results folder, or in that of these runs, and what it called them.

    Raises: UserError where none is remembered.
    """
    results = next((each for each in (folder, folder_above(folder)) if (each / FILE).exists()), None)
    if results is None:
        raise UserError(f"--last-sweep: {printable(folder)} remembers no sweep; name the results_dir= of one")
    runs = read_json(results / FILE).get("runs")
    if isinstance(runs, list):  # written before runs had names
        runs = {run: Path(run).name for run in runs if isinstance(run, str)}
    if not (isinstance(runs, dict) and runs and all(map(lies_below, runs))):
        raise UserError(f"{printable(results / FILE)}: damaged; the next sweep writes it again")
    return {results / run: str(name) for run, name in runs.items()}


def lies_below(run: str) -> bool:
    """Tell whether a path is one that a run of a results folder can have there."""
    path = Path(run)
    return "\0" not in run and not path.is_absolute() and ".." not in path.parts
