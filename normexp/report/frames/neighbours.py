"""Which of the runs in a folder may be compared with one: told by the first line of each record, without parsing it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from normexp.config.identity import PATH_KEYS
from normexp.errors import UserError
from normexp.records import CONFIG, STATUS, RunDirectory, find_runs
from normexp.report.frames.options import SAME_ARM

COMMAND = "# normexp run"
ALIKE = (*SAME_ARM, *PATH_KEYS, "recipe")  # the same data and runs, whatever path leads to them
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")  # of a shell; shlex takes ten times as long
MOST = 100  # runs that one is set beside: a table of thousands would cost every new run of a folder seconds


def neighbours(directory: RunDirectory) -> list[RunDirectory]:
    """Return the runs beside one whose commands differ in norm, seed and places (of run and data) alone, and itself.

    Thousands of runs in one folder cost a new one no more than a glance at each. A record without a command, or one
    that cannot be read, may be anything and is returned.
    """
    told = _told(directory)
    beside = find_runs([Path(directory.path).parent])
    return [run for run in beside if told is None or _told(run) in (None, told)]


def latest(runs: Sequence[RunDirectory], directory: RunDirectory) -> list[RunDirectory]:
    """Return a run and those that were trained last, at most MOST, in the order in which they are given."""
    by_age = sorted(runs, key=lambda run: (run.path != directory.path, -_changed(run)))
    chosen = {run.path for run in by_age[:MOST]}
    return [run for run in runs if run.path in chosen]


def _changed(run: RunDirectory) -> float:
    try:
        return (run.path / STATUS).stat().st_mtime
    except OSError:  # packed, or half-made
        return 0.0


def _told(run: RunDirectory) -> frozenset[str] | None:
    """Return the words of a record's command that make more than its norm, seed and places; None without a command."""
    try:
        line = run.first_line(CONFIG)
    except UserError:
        return None
    if not line.startswith(COMMAND):
        return None
    keys = ((word, word.lstrip("'").partition("=")[0]) for word in _WORD.findall(line))
    return frozenset(word for word, key in keys if key not in ALIKE and key.partition(".")[0] != "norm")
