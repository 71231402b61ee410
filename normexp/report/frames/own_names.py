"""Classes of one name in two modules: each goes by as much of its path as tells it from the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from normexp.config.own import GROUPS, target_key
from normexp.report.frames.options import Options, parts_of
from normexp.report.frames.record import Record


def with_names_apart(records: Sequence[Record]) -> list[Record]:
    """Return the records; a class of one's own that has the name of another, or of an option, has its module's, too."""
    parts = {part: None for record in records for part in parts_of(record.options or ())}
    for group in (*GROUPS, *parts):
        given = {_path(record.options, group) for record in records if record.options}
        if len({path.rpartition(".")[2] for path in given}) < len(given):
            records = [_renamed(record, group, given) for record in records]
    return list(records)


def shortest(path: str, others: Collection[str]) -> str:
    """Return the end of a dotted path that ends none of the others, its last name at least; the whole where all do."""
    names = path.split(".")
    ends = [".".join(names[start:]) for start in range(len(names) - 1, 0, -1)]
    apart = (end for end in ends if not any(f".{other}".endswith(f".{end}") for other in others if other != path))
    return next(apart, path)


def _path(options: Options, group: str) -> str:
    """Return the path of a class of somebody's own, and the name of an option."""
    key = target_key(group)
    return options[key] if key in options.changed else options.get(group, "")


def _renamed(record: Record, group: str, given: Collection[str]) -> Record:
    options = record.options
    if options is None or target_key(group) not in options.changed:
        return record
    name = shortest(_path(options, group), given)
    return replace(record, known_options=Options({**options, group: name}, options.seed, options.changed))
