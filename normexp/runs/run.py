"""One configuration -> one run directory: skip what is finished, continue what is not, train the rest.

Imports nothing heavy: a finished run is skipped, and a mistake is found, before torch is imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.config import Config, flat
from normexp.config.identity import ELSEWHERE, FILES
from normexp.data.loading import load
from normexp.errors import UserError
from normexp.records import CHECKPOINT, CONFIG, FINISHED, METRICS, RunDirectory, read_rows
from normexp.runs.place import check_data, usual_place, why_new, with_content
from normexp.runs.progress import Display, Silence

if TYPE_CHECKING:
    from normexp.data.base import Data  # imports NumPy

Say = Callable[[str], None]


def run(
    config: Config,
    say: Say,
    force: bool = False,
    display: Display = Silence,
    place: Path | None = None,
    load: Callable[[Config], Data] = load,
) -> RunDirectory:
    """Train one configuration unless that is done already; return its run directory.

    Args:
        say: receives one line per thing the user should know.
        force: train again from the start, over the old record.
        display: what shows the progress.
        place: the run directory; by default results_dir/runs/NAME.
        load: what loads the data.

    Raises: UserError for anything the user can mend, `Interrupted` after Ctrl-C.
    """
    config = with_content(config)
    directory = RunDirectory(place or usual_place(config))
    check_writable(directory.path)
    status = _status(directory, say)
    if status["status"] != "new" and not force:
        check_stale(directory, config)
    if status["status"] == "new" and place is None and (reason := why_new(config)):
        say(reason)
    if status["status"] in FINISHED and not force:
        check_complete(directory)
        check_data(directory, config)
        say(f"{status['status']} already (step {status.get('step')}); --force trains it again")
        return directory
    if config.choices["study"] != "none":
        from normexp.runs.study_run import perform

        perform(config, directory, force)
        return directory
    data = load(config)
    if config["batch_size"] > len(data.train):
        say(f"batch_size={config['batch_size']}: there are {len(data.train)} training examples, every step sees all")
    from normexp.runs.trainer import execute

    if status["status"] != "new" and not force:
        say(f"continuing a run that was {status['status']} at step {status.get('step')}")
    ended = execute(config, data, directory, force=force, display=display)
    if ended == "diverged":
        status = directory.status
        say(f"diverged at step {status['step']}: {status['cause']} (a result: it is recorded)")
    return directory


def check_writable(path: Path) -> None:
    """Raise UserError if a folder cannot be made at `path`, without making anything."""
    nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not nearest.is_dir():
        raise UserError(f"results_dir: {nearest} is a file, not a folder")
    if not os.access(nearest, os.W_OK | os.X_OK) or os.statvfs(nearest).f_flag & os.ST_RDONLY:
        raise UserError(f"results_dir: {nearest} is not writable; choose another with results_dir=PATH")


def _status(directory: RunDirectory, say: Say) -> dict[str, Any]:
    """Return the status of an earlier attempt; move a damaged run directory aside and say so."""
    try:
        return read_status(directory)
    except UserError as error:
        aside = directory.set_aside()
        say(f"{error}; {f'set aside as {aside}, ' if aside else ''}starting again")
        return directory.status


def read_status(directory: RunDirectory) -> dict[str, Any]:
    """Return the status of an earlier attempt. Raises UserError where its record is damaged."""
    status = directory.status
    if status["status"] in FINISHED or directory.has(CONFIG):
        _ = RunDirectory(directory.path).config
    if status["status"] in FINISHED:
        directory.check_sums(without=[CHECKPOINT])  # nobody continues from it, and it may be large
    return status


def check_complete(directory: RunDirectory) -> None:
    """Raise UserError if a finished run has lost its curves: a plausible half is worse than none."""
    status, rows = directory.status, read_rows(directory.path / METRICS)
    last = rows[-1]["step"] if rows else "none"
    if not rows or (status["status"] == "done" and last != str(status.get("step"))):
        raise UserError(
            f"{directory.path / METRICS}: damaged (its last step is {last}, the run ended at {status.get('step')}); "
            "--force trains it again"
        )


def check_stale(directory: RunDirectory, config: Config) -> None:
    """Raise UserError if the run was made, or begun, under other defaults than today's."""
    if not directory.has(CONFIG):
        return  # killed before anything was trained
    recorded, skipped = flat(RunDirectory(directory.path).config), {*ELSEWHERE, *FILES}
    for key, value in flat(config.values).items():
        if key in recorded and key not in skipped and recorded[key] != value:
            raise UserError(
                f"{directory.path}: stale, its {key} was {recorded[key]} and is {value} now; "
                "--force trains it again, or set the key"
            )
