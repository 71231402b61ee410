"""Where the numbers of a table are from: for every cell its runs, code, machine, data and command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from normexp.config.recipe import KEY, NONE
from normexp.evidence.curves import Made, short_commit
from normexp.records import CONFIG, RunDirectory
from normexp.records.ranges import ranges
from normexp.report.frames.record import Record
from normexp.report.page.elements import plain_rows

HEADS = ("cell", "seeds", "status", "command of the first seed", "commit", "torch", "processor", "data (sha256)")
PROGRAM = "normexp run"


def origins(records: Sequence[Record], label: str) -> str:
    """Return a table with one row for every cell that has runs."""
    cells: dict[str, list[Record]] = {}
    for record in records:
        if record.finished:
            cells.setdefault(str(record.cell), []).append(record)
    return plain_rows(HEADS, [_row(cell, runs) for cell, runs in cells.items()], label)


def _row(cell: str, runs: Sequence[Record]) -> list[str]:
    about = [run.directory.environment for run in runs]
    data: list[dict[str, Any]] = [each.get("data") or {} for each in about]
    return [
        cell,
        ranges([run.seed for run in runs if run.seed is not None]),
        _counts(run.state for run in runs),
        _command(runs[0].directory),
        _all(short_commit(each.get("commit")) for each in about),
        _all(str((each.get("packages") or {}).get("torch", "?")) for each in about),
        _all(Made.of(each).processor or "?" for each in about),
        _all(" ".join(filter(None, (str(each.get("sha256", ""))[:12], each.get("note")))) for each in data) or "drawn",
    ]


def _command(run: RunDirectory) -> str:
    """Return what trains a run again. Records from before there were recipes do not say that they had none."""
    command = run.first_line(CONFIG).removeprefix("# ").strip()
    return command if f" {KEY}=" in command else command.replace(PROGRAM, f"{PROGRAM} {KEY}={NONE}", 1)


def _all(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values) - {""}))


def _counts(states: Iterable[str]) -> str:
    listed = list(states)
    return ", ".join(f"{listed.count(state)} {state}" for state in sorted(set(listed)))
