"""`normexp verify records`: checksums, form, completeness and age of every record, in folders and archives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from normexp.config import Config, compose
from normexp.config.identity import PATH_KEYS
from normexp.config.own import GROUPS, PLUGINS, target_key
from normexp.config.text import amount, override_text
from normexp.errors import UserError
from normexp.records import (
    CHECKPOINT,
    FINISHED,
    METRICS,
    MOST_TABLE,
    RunDirectory,
    condition,
    find_runs,
    printable,
)
from normexp.runs.run import check_complete, check_stale

OWN_CODE = (PLUGINS, *map(target_key, GROUPS))  # never composed from a record: that could name code
UNCHECKED = "unchecked"


def verify_records(path: Path, say: Callable[[str], None]) -> int:
    """Check every record at or below a path and say what is wrong, one line each; return 1 if anything is.

    Of sound records that name code of somebody's own is said at the end how many there are.
    """
    runs = find_runs([path])
    counts: Counter[str] = Counter()
    for run in runs:
        findings = list(record_findings(run))
        counts.update(kind for kind, _ in findings)
        for kind, text in findings:
            if kind != UNCHECKED:
                say(f"{kind}: {printable(text)}")
    unchecked = counts.pop(UNCHECKED, 0)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    say(f"{amount(len(runs), 'record')}: {told or 'all sound'}{_of_own_code(unchecked)}")
    return 1 if counts else 0


def _of_own_code(count: int) -> str:
    names = "names" if count == 1 else "name"
    unknown = f"of {count}, which {names} code of your own, it is not known whether today's defaults make the same run"
    return f"; {unknown}" if count else ""


def record_findings(run: RunDirectory) -> Iterator[tuple[str, str]]:
    """Yield (damaged | unreadable | incomplete | stale | unchecked, what it is) for one record."""
    try:
        status = run.status
        run.check_sums(without=[CHECKPOINT] if run.is_packed else [])
        for name in run.names():
            _read(run, name)
        if status["status"] not in FINISHED:
            return
        _ = run.config, run.environment
        check_complete(run)
        if not run.rows(METRICS, MOST_TABLE):
            yield "incomplete", f"{run.path / METRICS}: no rows"
    except UserError as error:
        yield condition(error), str(error)
        return
    except FileNotFoundError as error:
        yield "incomplete", f"{run.path}: {error.filename or error} is missing"
        return
    yield from _age(run)


def _read(run: RunDirectory, name: str) -> None:
    """Read a file as what it is; an archive checks the sum of whatever is read."""
    if name.endswith(".csv"):
        run.rows(name, MOST_TABLE)
    elif name != CHECKPOINT:
        run.read(name, MOST_TABLE)


def _age(run: RunDirectory) -> Iterator[tuple[str, str]]:
    """Yield whether the run would be made otherwise under today's defaults."""
    changes: dict[str, Any] = run.config.get("_changes_") or {}
    if any(key in changes for key in OWN_CODE):
        yield UNCHECKED, ""  # of all together it is said at the end
        return
    try:
        check_stale(run, recomposed(changes))
    except UserError as error:
        yield "stale", f"{run.path}: {str(error).removeprefix(f'{run.path}: ')}"


def recomposed(changes: dict[str, Any]) -> Config:
    """Return the configuration that a record's changes make today. A file counts by its name and need not be there."""
    return compose([f"{key}={override_text(value)}" for key, value in changes.items() if key not in PATH_KEYS])
