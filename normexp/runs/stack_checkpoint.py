"""Checkpoints of the runs of a stack: all of one step, however a save was cut off."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from normexp.records import CHECKPOINT
from normexp.records.files import is_there
from normexp.runs.checkpoint import step_of
from normexp.runs.trainer import Trainer

NEXT = f".{CHECKPOINT}.next"  # of a save that is not yet one of all runs


def save_together(runs: Sequence[Trainer]) -> None:
    """Save all runs, first beside what they have; only when all are written do they take its place."""
    for run in runs:
        run.recorder.flush()
        run.checkpointer.save(run.position, run.accumulator, _next(run.recorder.directory.path))
    for run in runs:
        os.replace(_next(run.recorder.directory.path), run.checkpointer.path)


def settle(folders: Sequence[Path]) -> None:
    """End a save that was cut off when all runs were written, take back one that was cut off before."""
    begun = {folder: step_of(_next(folder)) for folder in folders if is_there(_next(folder))}
    step = max((step for step in begun.values() if step is not None), default=None)
    reached = [begun.get(folder) or step_of(folder / CHECKPOINT) for folder in folders]
    for folder in begun:
        if step is not None and all(each == step for each in reached):
            os.replace(_next(folder), folder / CHECKPOINT)
        else:
            _next(folder).unlink()


def _next(folder: Path) -> Path:
    return folder / NEXT
