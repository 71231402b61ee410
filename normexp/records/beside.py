"""What lies beside runs and is made of none: what an experiment declared before them, and chose by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from normexp.errors import UserError
from normexp.records.files import MOST_ROWS, read_json, read_regular
from normexp.records.names import CHOSEN, FROZEN, JOURNAL
from normexp.records.taken import TAKEN, taken_of, with_taken

BESIDE = (FROZEN, CHOSEN, JOURNAL)


class Contradiction(Exception):
    """Two records of one thing say different things."""


def beside(roots: Sequence[Path], runs: Iterable[str]) -> tuple[dict[str, bytes], list[str]]:
    """Return {path below a root: content} of the files beside these runs, and a line on each that cannot be joined.

    Of two records of one declaration the earlier counts, or the one that says that it came too late; it names the runs
    that were taken for either.

    Args:
        roots: folders of one layout; what lies above them is nobody's.
        runs: their runs, by their path below a root.

    Raises: Contradiction, with a line on both, where two say different things.
    """
    taken, left = dict[str, bytes](), list[str]()
    for name in _names(runs):
        try:
            found = {path: read_regular(path, MOST_ROWS) for root in roots if (path := root / name).is_file()}
            if found:
                taken[name] = _joined(name, found)
        except UserError as error:
            left.append(str(error))
    return taken, left


def _names(runs: Iterable[str]) -> Iterator[str]:
    folders = {folder for run in runs for folder in PurePosixPath(run).parents}
    yield from (str(folder / name) for folder in sorted(folders) for name in BESIDE)


def _joined(name: str, found: Mapping[Path, bytes]) -> bytes:
    """Return the content that counts. Raises UserError where none does, and Contradiction."""
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    paths = " and ".join(map(str, found))
    if not name.endswith(FROZEN):
        raise UserError(f"{paths}: not the same; `normexp reproduce` makes it from the runs")
    records = {path: read_json(path) for path in found}
    first, *others = (record.get("declared") for record in records.values())
    if any(other != first for other in others):
        raise Contradiction(f"{name}: {paths} declare different things; remove the one that does not count")
    taken = {path: taken_of(record, path) for path, record in records.items()}
    counts = min(records, key=lambda path: _rank(records[path], taken[path]))
    every = {run: source for each in taken.values() for run, source in each.items()}
    is_whole = every == records[counts].get(TAKEN, {})
    return found[counts] if is_whole else with_taken(records[counts], every).encode()


def _rank(record: Mapping[str, Any], taken: Mapping[str, str]) -> tuple[bool, str]:
    return not (record.get("runs") or taken), str(record.get("date"))
