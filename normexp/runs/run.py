"""One configuration -> one run directory: skip what is finished, continue what is not, train the rest.

Imports nothing heavy: a finished run is skipped, and a mistake is found, before torch is imported.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from normexp.config import Config, flat
from normexp.config.identity import staleness
from normexp.config.instantiate import own_parts
from normexp.config.text import amount, shortened
from normexp.data.base import Data
from normexp.data.loading import Loader
from normexp.errors import UserError, kind_and_line
from normexp.records import (
    CHECKPOINT,
    CONFIG,
    FINISHED,
    METRICS,
    MOST_TABLE,
    STATUS,
    TIMING,
    Damaged,
    RunDirectory,
    damaged,
)
from normexp.records.locks import made_and_locked
from normexp.runs.own_code import changed_code, with_another
from normexp.runs.place import check_data, default_run_dir, why_new, with_content
from normexp.runs.progress import NullProgress, Progress, format_duration

ADVICE = "where it should not diverge, a smaller optim.lr, clip_norm=1 or another norm may help"
SCALED = 100.0  # targets of a regression that are larger were hardly meant to be learned as they are
logger = logging.getLogger("normexp")


def run(
    config: Config,
    force: bool = False,
    progress: Progress = NullProgress,
    path: Path | None = None,
    loader: Loader | None = None,
    notes: Sequence[str] = (),
) -> RunDirectory:
    """Train one configuration unless that is done already; return its run directory.

    What the user should know is logged (logger `normexp`, level INFO).

    Args:
        force: train again from the start, over the old record.
        progress: what shows the progress.
        path: the run directory; by default results_dir/runs/NAME.
        loader: loads the data; runs that share it share equal data.
        notes: logged before it trains, once nothing is left that could refuse it.

    Raises: UserError for anything the user can mend, `Interrupted` after Ctrl-C.
    """
    config = with_content(config)
    directory = RunDirectory(path or default_run_dir(config))
    status = _status(directory)
    ended = status["status"] in FINISHED and not force
    if not ended:
        check_writable(directory.path)
    if status["status"] != "new" and not force:
        check_stale(directory, config)
    reason = why_new(config) if status["status"] == "new" and path is None else ""
    if ended:
        _leave(config, directory, status)
    elif config.choices["study"] != "none":
        from normexp.runs.study_run import run_study

        run_study(config, directory, force, alone=path is None)
        if reason:
            logger.info(reason)
    else:
        said = [*notes, *[reason] * bool(reason)]
        loader = loader or Loader()
        if path is None and (force or status["status"] == "new"):  # a sweep has tried its own
            _try_own_parts(config, loader)
        _train(config, directory, {} if force else status, force, progress, loader, said)
    return directory


def _leave(config: Config, directory: RunDirectory, status: Mapping[str, Any]) -> None:
    """Check that a finished run is whole and of the same data, and say that it is not trained again."""
    check_complete(directory)
    check_data(directory, config)
    logs = f", so logger={','.join(config['logger'])} gets no curves" if config["logger"] else ""
    changed = changed_code(config, directory)
    code = f", {with_another(changed)} there is now" if changed else ""
    logger.info(f"{status['status']} already (step {status.get('step', 0)}){code}{logs}; --force trains it again")


def _train(
    config: Config,
    directory: RunDirectory,
    status: Mapping[str, Any],
    force: bool,
    progress: Progress,
    loader: Loader,
    notes: Sequence[str],
) -> None:
    """Load the data, estimate what is left after `status`, train; say why it diverged if it did."""
    data = loader.load(config)
    notes = [*notes, *_notes(config, data)]
    from normexp.runs.trainer import train

    if progress.estimates and not config["compile"]:  # compiling twice would cost more than it tells
        notes.append(duration(config, status, loader))
    if train(config, data, directory, force, progress, loader.examples, notes) == "diverged":
        _explain_divergence(directory.status, data)


def _try_own_parts(config: Config, loader: Loader) -> None:
    """Raise UserError for what parts of the user's own would fail with in the first step."""
    if own_parts(config):
        from normexp.runs.parts import check_parts

        check_parts(config, loader)


def _notes(config: Config, data: Data) -> Iterator[str]:
    """Say what the user may not expect of a training that is about to begin."""
    from normexp.training.bfloat16 import has_bfloat16_kernels
    from normexp.training.machine.hardware import choose_device

    if data.note:
        yield f"data: {data.note}"
    if config["precision"] == "bf16" and not has_bfloat16_kernels(choose_device(config["device"])):
        yield "precision=bf16: this processor multiplies bfloat16 numbers in float32, no faster than precision=fp32"
    if (batch_size := config["batch_size"]) > len(data.train):
        yield f"batch_size={batch_size}: {amount(len(data.train), 'training example')} in all, every step sees them"


def duration(config: Config, status: Mapping[str, Any], loader: Loader) -> str:
    """Say how long the training will take, or what is left of it."""
    from normexp.runs.estimate import estimate_seconds

    try:
        seconds = fraction_left(status) * estimate_seconds(config, loader)
    except UserError:
        raise
    except Exception as error:  # of somebody's own part, say: the run will end in it, and record it
        return f"how long it takes is not known: {kind_and_line(error)}"
    return f"about {format_duration(seconds)} on this machine as it is now"


def fraction_left(status: Mapping[str, Any]) -> float:
    """Return the fraction of its steps that a run has still to do: all where its status does not say how many."""
    return 1 - status.get("step", 0) / status["steps"] if status.get("steps") else 1.0


def _explain_divergence(ended: Mapping[str, Any], data: Data) -> None:
    origin = f"; not finite first: {ended['first_nonfinite']}" if ended.get("first_nonfinite") else ""
    logger.info(f"diverged at step {ended['step']}: {ended['cause']}{origin} (a result: it is recorded)")
    logger.info(_advice(data))


def _advice(data: Data) -> str:
    """Say what may help against divergence: first of all targets that are no larger than a network's outputs."""
    if data.task == "regression" and (largest := float(abs(data.train.y).max())) > SCALED:
        return f"targets are as large as {largest:.3g}: dataset.standardize_target=true makes their deviation 1"
    return ADVICE


def check_writable(path: Path, key: str = "results_dir") -> None:
    """Raise UserError if a folder cannot be made at `path`, without making anything.

    Args:
        key: what gave the path.
    """
    try:
        nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    except OSError as error:  # a name that is too long
        raise UserError(f"{key}: {shortened(str(path))}: {error.strerror}") from None
    if (
        below := next((at for at in (path, *path.absolute().parents) if at.is_symlink() and not at.exists()), None)
    ) is not None:
        raise UserError(f"{key}: {below} is a link that leads nowhere")
    if not nearest.is_dir():
        raise UserError(f"{key}: {nearest} is a file, not a folder")
    if not os.access(nearest, os.W_OK | os.X_OK) or os.statvfs(nearest).f_flag & os.ST_RDONLY:
        raise UserError(f"{key}: {nearest} is not writable; choose another {key}")


def _status(directory: RunDirectory) -> dict[str, Any]:
    """Return the status of an earlier attempt; quarantine a damaged run directory and say so.

    Raises: Unreadable where the record may be sound, Busy where another process trains what is damaged.
    """
    try:
        return read_status(directory)
    except Damaged:
        check_writable(directory.path)
    with made_and_locked(directory.path):
        try:
            return read_status(directory)  # again: another process may have begun anew meanwhile
        except Damaged as error:
            aside = directory.set_aside()
            logger.info(f"{error}; {f'set aside as {aside}, ' if aside else ''}starting again")
            return directory.status


def read_status(directory: RunDirectory) -> dict[str, Any]:
    """Return the status of an earlier attempt. Raises Damaged, and Unreadable where its record may be sound."""
    status = directory.status
    if status["status"] == "new" and directory.has(TIMING):  # a training writes its status before anything else
        raise damaged(directory.path / STATUS, "it is missing")
    seen = RunDirectory(directory.path, directory.source)  # as it is now: its checksums are read once
    if status["status"] in FINISHED or directory.has(CONFIG):
        _ = seen.config
    if status["status"] in FINISHED:
        seen.check_sums(without=[CHECKPOINT])  # nobody continues from it, and it may be large
    return status


def check_complete(directory: RunDirectory) -> None:
    """Raise UserError if a finished run has lost its curves: a plausible half is worse than none."""
    status, rows = directory.status, directory.rows(METRICS, MOST_TABLE)
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
    if stale := staleness(flat(RunDirectory(directory.path, directory.source).config), flat(config.values)):
        raise UserError(f"{directory.path}: {stale}; --force trains it again, or set the key")
