"""`normexp diff A B`: in what two runs differ, and from which step their curves part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from normexp.config import flat
from normexp.config.defaults import with_defaults
from normexp.config.text import shown
from normexp.records import METRICS, RunDirectory, find_run, from_here, printable

ABSENT = "-"  # a key, a column or a value that one of the two does not have
LONGEST = 60  # characters of a value
MOMENTARY = ("load", "load_at_end", "cpu.flags")  # no result depends on these, or a digest stands for them


def diff(first: str, second: str) -> str:
    """Return the differences of two runs as text: configuration, environment, data, status, curves.

    Raises: UserError where a path holds no run, or more than one, or a record is damaged.
    """
    a, b = (find_run(path, f"diff: {printable(path)}") for path in (first, second))
    sections = {
        "configuration": _rows(_options(a), _options(b)),
        "environment": _rows(_environment(a), _environment(b)),
        "data": _rows(_data(a), _data(b)),
        "status": _rows(*({key: run.status.get(key) for key in ("status", "step")} for run in (a, b))),
    }
    lines = [f"{name}  {printable(from_here(run.path))}" for name, run in (("A", a), ("B", b))]
    for name, rows in sections.items():
        lines += [f"{name}: equal"] if not rows else [f"{name}:", *rows]
    return "\n".join([*lines, *_curves(a, b)]) + "\n"


def _options(run: RunDirectory) -> dict[str, Any]:
    config = with_defaults(run.config)
    leaves = flat({key: value for key, value in config.items() if key not in ("_choices_", "_changes_", "results_dir")})
    return {**config["_choices_"], **{key: value for key, value in leaves.items() if not key.endswith("_target_")}}


def _environment(run: RunDirectory) -> dict[str, Any]:
    facts = flat({key: value for key, value in run.environment.items() if key != "data"})
    return {key: value for key, value in facts.items() if key not in MOMENTARY}


def _data(run: RunDirectory) -> dict[str, Any]:
    return flat(run.data)


def _rows(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return a line `key  A's value | B's value` for every key in which the two differ."""
    keys = [key for key in dict.fromkeys([*a, *b]) if a.get(key, ABSENT) != b.get(key, ABSENT)]
    width = max(map(len, keys), default=0)
    return [f"  {key:{width}}  {_shown(a.get(key, ABSENT))} | {_shown(b.get(key, ABSENT))}" for key in keys]


def _shown(value: Any) -> str:
    text = printable(shown(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _curves(a: RunDirectory, b: RunDirectory) -> Iterator[str]:
    """Yield whether metrics.csv is equal, else the last common step and the first values that differ."""
    first, second = a.rows(METRICS), b.rows(METRICS)
    shared = [column for column in (first or [{}])[0] if column in (second or [{}])[0]]
    columns = [column for column in shared if column != "lr"]  # which is set, not measured
    if not columns:
        yield "curves: nothing to compare"
        return
    last = None
    for one, other in zip(first, second, strict=False):
        parted = [column for column in columns if one[column] != other[column]]
        if parted:
            before = "from the first evaluation on" if last is None else f"equal until step {last}, then"
            yield f"curves: {before}, at step {one['step']} | {other['step']}:"
            yield from _rows({c: one[c] for c in parted}, {c: other[c] for c in parted})
            return
        last = one["step"]
    yield f"curves: equal until step {last}" + (
        "" if len(first) == len(second) else f", then one goes on ({len(first)} | {len(second)} evaluations)"
    )
