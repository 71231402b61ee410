"""What makes two runs the same run: the choices that differ from the defaults, without folders and hardware."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

UNRECORDED = ("logger",)  # who else is told of a run: nothing of its record depends on that
IGNORED_KEYS = ("results_dir", "device", "threads", "plugins", *UNRECORDED)  # where and on what, not what
PATH_KEYS = ("dataset.archive", "dataset.path", "dataset.file")  # a moved file is still the same data
REPLACED = {"epochs": "steps", "evals_per_epoch": "eval_every"}  # key -> the one that a run takes where both are set
PUBLISHED = "published"  # the content of a download whose checksum its publisher states


def identity(changes: Mapping[str, Any], content: str | None = None) -> str:
    """Return 8 hexadecimal digits of the changes to the defaults.

    Because only changes count, a new key with a default leaves every old identity as it was.

    Args:
        content: sha256 of the data that the user brings, which then counts in place of the files' names; PUBLISHED
            or nothing where the data set's name says all; None where it was not looked at: a file counts by its name.
    """
    relevant = {key: value for key, value in changes.items() if key not in (*IGNORED_KEYS, *PATH_KEYS)}
    if content is None:
        relevant |= {key: last_name(changes[key]) for key in PATH_KEYS if key in changes}
    elif content not in ("", PUBLISHED):
        relevant["dataset.content"] = content
    text = json.dumps(relevant, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def staleness(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Say which setting of a run, by dotted key, is not the one that is wanted today; empty where none differs.

    One that another replaces in both, as `steps` does `epochs`, makes no difference.
    """
    idle = (key for key, other in REPLACED.items() if wanted.get(other) is not None and recorded.get(other) is not None)
    ignored = {*IGNORED_KEYS, *PATH_KEYS, *idle}
    for key, value in wanted.items():
        if key in recorded and recorded[key] != value and key not in ignored:
            return f"stale, its {key} was {recorded[key]} and is {value} now"
    return ""


def last_name(path: Any) -> Any:
    """Return the last part of a path, of each of a list; None as it is."""
    if isinstance(path, list):
        return [last_name(each) for each in path]
    return path if path is None else PurePath(str(path)).name
