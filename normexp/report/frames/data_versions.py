"""Runs on files of one name with other contents: the name gets the beginning of the data's sha256."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from normexp.config.identity import PATH_KEYS
from normexp.errors import UserError
from normexp.report.frames.options import NOTE, Options
from normexp.report.frames.record import Record


def with_data_versions(records: Sequence[Record]) -> list[Record]:
    """Return the records; where those of equal options saw different files, the options say which.

    What a file's data were said to be, missing values for example, is no option: it follows from the file.
    """
    alike: dict[frozenset[tuple[str, str]], list[Record]] = {}
    for record in records:
        if record.options is not None:
            alike.setdefault(frozenset(item for item in record.options.items() if item[0] != NOTE), []).append(record)
    differing = {id(record) for some in alike.values() if _differ(some) for record in some}
    return [_with_sha256(record) if id(record) in differing else record for record in records]


def _differ(records: Sequence[Record]) -> bool:
    """Tell whether runs on a file that somebody named, which is the same for every seed, saw different data."""
    named = any(record.options and record.options.changed.intersection(PATH_KEYS) for record in records)
    return named and len({_sha256(record) for record in records} - {""}) > 1


def _sha256(record: Record) -> str:
    """Return the beginning of the sha256 of a run's data; nothing where there is no record of it."""
    try:
        return str(record.directory.data.get("sha256") or "")[:8]
    except UserError:
        return ""


def _with_sha256(record: Record) -> Record:
    options = record.options
    assert options is not None
    key = next((key for key in PATH_KEYS if key in options and key in options.changed), NOTE)
    name = " ".join(filter(None, (options[key], f"({_sha256(record)})")))
    return replace(record, known_options=Options({**options, key: name}, options.seed, options.changed))
