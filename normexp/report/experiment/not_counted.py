"""Runs that lie where an experiment's runs do and count for nothing: how many, and what may become of them."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path
from shlex import quote

from normexp.config.text import amount
from normexp.experiments.command import command
from normexp.experiments.experiment import Experiment
from normexp.records import find_runs
from normexp.records.find import resolved
from normexp.report.frames.measured import Measured
from normexp.report.frames.reading import RUNS


def not_counted(experiment: Experiment, measured: Measured, results: Path) -> str:
    """Return a line on runs made with other settings than the experiment has today, or of no arm or point of it.

    Nothing where there are none.
    """
    folder = experiment.folder(results) / RUNS
    stale, gone, found = measured.stale, _gone(measured, folder), []
    if stale:
        found.append(f"{_are(stale)} stale ({stale[0].run}: {stale[0].unreadable.removeprefix('stale, ')})")
    if gone:
        found.append(f"{_are(gone)} of no arm or point that it has today ({gone[0]})")
    if not found:
        return ""
    again = f"`{command(experiment)} --force` trains all again, " if stale else ""
    ways = f"{again}`normexp table {quote(str(folder))}` shows all, deleting their folders removes them"
    return f"{experiment.name}, scale {experiment.scale}: left out: {'; '.join(found)}; {ways}"


def _gone(measured: Measured, folder: Path) -> list[Path]:
    """Return the runs of arms, seeds or values that the experiment does not have any more, below its folder of runs."""
    known = {record.directory.path.relative_to(folder) for record in measured.records}
    inside = resolved(folder)  # the folder, or one above it, may be a link
    found = (run.path for run in find_runs([folder], may_lack=True))
    below = (path.relative_to(inside) for path in found if path.is_relative_to(inside))  # a damaged archive is above
    return [path for path in below if path not in known]


def _are(runs: Sized) -> str:
    return f"{amount(len(runs), 'run')} {'is' if len(runs) == 1 else 'are'}"
