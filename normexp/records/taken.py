"""`taken` in frozen.json: which runs beside it are copies of which others, since what it declares came after them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from normexp.records.files import damaged
from normexp.records.names import STATUS
from normexp.records.plain import plain_json
from normexp.records.run import RunDirectory

TAKEN = "taken"


def taken_of(record: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Return {run below the folder of the record: run that it is a copy of} of those that are there.

    They are named before they are copied: where that was stopped, others are named, too.

    Args:
        path: of the record. Raises UserError for one that says it in another form.
    """
    taken = record.get(TAKEN, {})
    if not (isinstance(taken, dict) and all(isinstance(run, str) for run in taken.values())):
        raise damaged(path, f"its {TAKEN} does not name runs")
    return {run: source for run, source in taken.items() if RunDirectory(path.parent / run).has(STATUS)}


def with_taken(record: Mapping[str, Any], taken: Mapping[str, str]) -> str:
    """Return the content of frozen.json with these runs, if any; what it declares, the long part, stays last."""
    long = {key: record[key] for key in ("sha256", "declared") if key in record}
    short = {key: value for key, value in record.items() if key not in (TAKEN, *long)}
    return plain_json({**short, **({TAKEN: taken} if taken else {}), **long})
