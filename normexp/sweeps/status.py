"""`normexp status`: what has been done, what is running, what stopped; from status.json alone, so it is quick."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from normexp.errors import UserError
from normexp.records import FINISHED, STATUSES, RunDirectory, find_runs, printable


def overview(path: str | Path) -> str:
    """Return one line of counts and one line for every run that is not finished."""
    states = [(run, *state(run)) for run in find_runs([path])]
    counts = Counter(name for _, name, _ in states)
    order = [*STATUSES, "stopped", "damaged"]
    summary = ", ".join(f"{counts[name]} {name}" for name in order if counts[name])
    lines = [f"{len(states)} runs: {summary}"]
    lines += [f"  {name:11} {printable(run.path)}  {detail}" for run, name, detail in states if name not in FINISHED]
    return "\n".join(lines) + "\n"


def state(run: RunDirectory) -> tuple[str, str]:
    """Return a run's state and what to know of it. A `running` run whose process is gone is `stopped`."""
    try:
        status = run.status
    except UserError as error:
        return "damaged", str(error)
    name = status["status"]
    if name == "running" and not run.is_locked():
        name = "stopped"
    place = f"step {status['step']}/{status['steps']} " if {"step", "steps"} <= set(status) else ""
    return name, printable(place + status.get("cause", "").partition("\n")[0]).rstrip()
