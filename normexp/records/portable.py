"""Records that leave their machine: an archive does not say in which folders somebody's data lay."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath

from normexp.records.names import CONFIG, STATUS

_COMMAND = "# "  # how the first line of config.yaml begins


def without_folders(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return {path: content} of run directories, the absolute paths in their commands cut to the files' last names.

    The checksums in their status are those of what is returned. The values below the command have last names already.
    """
    portable = dict(contents)
    for name, data in contents.items():
        above, _, last = name.rpartition("/")
        if last == CONFIG and (cut := _cut(data)) != data:
            portable[name] = cut
            status = f"{above}/{STATUS}" if above else STATUS
            if status in contents:
                portable[status] = _with_sum(contents[status], cut)
    return portable


def _cut(config: bytes) -> bytes:
    line, end, rest = config.partition(b"\n")
    if not set(b"/\\").intersection(line):  # no path at all; splitting a command takes long
        return config
    try:
        words = shlex.split(line.decode().removeprefix(_COMMAND))
    except ValueError:  # not a command of ours
        return config
    shorter = [_by_last_name(word) for word in words]
    return config if shorter == words else f"{_COMMAND}{shlex.join(shorter)}".encode() + end + rest


def _by_last_name(word: str) -> str:
    key, equals, value = word.partition("=")
    for path in (PurePosixPath(value), PureWindowsPath(value)):
        if path.is_absolute() and path.name:
            return f"{key}{equals}{path.name}"
    return word


def _with_sum(status: bytes, config: bytes) -> bytes:
    told = json.loads(status)
    if CONFIG not in told.get("sha256", {}):
        return status
    told["sha256"][CONFIG] = hashlib.sha256(config).hexdigest()
    return (json.dumps(told, indent=2) + "\n").encode()
