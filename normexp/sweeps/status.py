"""`normexp status`: what has been done, what is running, what stopped; from status.json alone, so it is quick."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from normexp.config.text import amount
from normexp.errors import UserError
from normexp.records import DAMAGED, FINISHED, STATUSES, UNREADABLE, RunDirectory, condition, find_runs, printable
from normexp.sweeps.shared import SharedSweep, is_shared_sweep


def overview(path: str | Path) -> str:
    """Return one line of counts and one line for every run that is not finished."""
    found = summary(path)
    counts = ", ".join(f"{count} {name}" for name, count in found["counts"].items())
    lines = [f"{amount(found['runs'], 'run')}: {counts}"]
    lines += [f"  {run['state']:11} {printable(run['path'])}  {run['detail']}" for run in found["unfinished"]]
    return "\n".join([*lines, *(f"  not looked into: {line}" for line in found["not_looked_into"])]) + "\n"


def summary(path: str | Path) -> dict[str, Any]:
    """Return the number of runs, how many are in each state, and what is not finished or not looked into, as data."""
    unseen: list[str] = []
    states = [(run, *state(run)) for run in _runs(Path(path), unseen)]
    counts = Counter(name for _, name, _ in states)
    unfinished = [
        {"path": run.path, "state": name, "detail": detail} for run, name, detail in states if name not in FINISHED
    ]
    ordered = {name: counts[name] for name in (*STATUSES, "stopped", DAMAGED, UNREADABLE) if counts[name]}
    return {"runs": len(states), "counts": ordered, "unfinished": unfinished, "not_looked_into": unseen}


def _runs(path: Path, unseen: list[str]) -> list[RunDirectory]:
    """Return the runs at or below a path; of a shared sweep those that have begun."""
    if not is_shared_sweep(path):
        return find_runs([path], unseen=unseen)
    sweep = SharedSweep(path)
    planned = (sweep.directory(cell) for cell in range(len(sweep)))
    return [RunDirectory(run) for run in sorted(planned) if run.exists()]


def state(run: RunDirectory) -> tuple[str, str]:
    """Return a run's state and what to know of it. A `running` run whose process is gone is `stopped`."""
    try:
        status = run.status
    except UserError as error:
        return condition(error), str(error)
    name = status["status"]
    if name == "running" and not run.is_locked():
        name = "stopped"
    progress = f"step {status['step']}/{status['steps']} " if {"step", "steps"} <= set(status) else ""
    return name, printable(progress + status.get("cause", "").partition("\n")[0]).rstrip()
