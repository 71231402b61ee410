"""The run directory: the only interface between training and reporting.

    config.yaml             resolved options, with the chosen option of every group
    status.json             running | done | diverged | failed | interrupted, with cause and step
    metrics.csv             one row per evaluation; equal configs give equal bytes
    timing.csv              seconds spent training, images per second, peak memory
    probes.csv              step, probe, layer, statistic, value (header only under probe=none)
    environment.json        versions, commit, hardware, threads, sha256 of the data
    checkpoint.safetensors  everything that a killed run needs to go on

Nothing that is read back can execute code.
"""

from __future__ import annotations

import csv
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from normexp.errors import Busy, UserError

CONFIG, STATUS, METRICS, TIMING = "config.yaml", "status.json", "metrics.csv", "timing.csv"
PROBES = "probes.csv"
ENVIRONMENT, CHECKPOINT, TRACEBACK = "environment.json", "checkpoint.safetensors", "traceback.txt"
STATUSES = ("running", "done", "diverged", "failed", "interrupted")
LOCK = ".lock"
LOOKING = 0.25  # seconds after which it is no onlooker who holds a lock: those need microseconds
FINISHED = ("done", "diverged")
ASIDE = ".damaged-"  # a run directory NAME that cannot be read is set aside as NAME.damaged-1, -2, ...


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write under a temporary name, flush to the disk, rename: a killed process leaves the old file or the new.

    A folder that cannot be written is a UserError, unless the file is there already with this content.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        if path.is_file() and path.read_bytes() == data:
            return
        raise UserError(f"{path}: cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def cell(value: object) -> str:
    """Format one CSV value so that it reads back to exactly the same number; None is an empty cell."""
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


class CurveFile:
    """A CSV file with fixed columns, one row per evaluation, flushed row by row."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, list(columns)

    def start(self, keep_until: int) -> None:
        """Create the file, or keep the rows up to step `keep_until` of the one that is there."""
        rows = [row for row in self._rows() if int(row["step"]) <= keep_until]
        lines = [",".join(self.columns)] + [",".join(row[name] for name in self.columns) for row in rows]
        write_atomically(self.path, "\n".join(lines) + "\n")

    def append(self, row: Mapping[str, object]) -> None:
        with self.path.open("a") as file:
            file.write(",".join(cell(row.get(name)) for name in self.columns) + "\n")

    def _rows(self) -> list[dict[str, str]]:
        """Return the complete rows of an existing file with these columns (a killed run may leave half a row)."""
        whole = [row for row in read_rows(self.path) if list(row) == self.columns and None not in row.values()]
        return [row for row in whole if row["step"].isdecimal()]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file that end in a line break, as text; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(line for line in file if line.endswith("\n")))


@dataclass(frozen=True)
class RunDirectory:
    """One run's files."""

    path: Path

    @property
    def status(self) -> dict[str, Any]:
        """Return status.json, or `{"status": "new"}` where there is none. Raises UserError on a damaged file."""
        loaded = _read_json(self.path / STATUS)
        if loaded is not None and loaded.get("status") not in STATUSES:
            raise UserError(f"{self.path / STATUS}: damaged (no status)")
        return loaded or {"status": "new"}

    def write_status(self, status: str, **facts: object) -> None:
        write_atomically(self.path / STATUS, json.dumps({"status": status, **facts}, indent=2) + "\n")

    def write_environment(self, environment: dict[str, Any]) -> None:
        write_atomically(self.path / ENVIRONMENT, json.dumps(environment, indent=2) + "\n")

    @cached_property
    def environment(self) -> dict[str, Any]:
        return _read_json(self.path / ENVIRONMENT) or {}

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return the resolved options (nested) plus `_choices_` (group: option) and `_changes_` (key: value)."""
        try:
            loaded = yaml.load((self.path / CONFIG).read_text(), Loader=_LOADER)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise UserError(f"{self.path / CONFIG}: damaged or missing ({type(error).__name__})") from None
        if not isinstance(loaded, dict) or "_choices_" not in loaded:
            raise UserError(f"{self.path / CONFIG}: damaged (not the config of a run)")
        return {key: with_public_names(value) for key, value in loaded.items()}

    def is_locked(self) -> bool:
        """Tell whether a living process is running this. Writes nothing: the folder may be read-only."""
        try:
            with (self.path / LOCK).open() as file:
                return not _lock(file.fileno(), exclusive=False)
        except OSError:  # no lock, or one that is not ours to look at
            return False

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the directory for this process. The system frees the lock of a dead process by itself."""
        with (self.path / LOCK).open("w") as file:
            until = time.monotonic() + LOOKING
            while not _lock(file.fileno(), exclusive=True):
                if time.monotonic() > until:
                    raise Busy(f"{self.path}: another normexp process is running this right now")
                time.sleep(LOOKING / 50)
            yield


_MOVED = {
    "normexp.init.": "normexp.models.init.",
    "normexp.inputs.": "normexp.data.inputs.",
    "normexp.schedules.": "normexp.training.schedules.",
}
_PUBLIC = ("norms", "models.init", "models", "data.inputs", "data", "probes", "studies")


def public_name(target: str) -> str:
    """Return today's name of what a record calls `target`: older records name the file that a class stood in."""
    for old, new in _MOVED.items():
        if target.startswith(old):
            target = new + target.removeprefix(old)
    for package in _PUBLIC:
        if target.startswith(f"normexp.{package}."):
            return f"normexp.{package}.{target.rpartition('.')[2]}"
    return target


def with_public_names(node: Any) -> Any:
    """Return a part of a recorded configuration in which every `_target_` has today's name."""
    if not isinstance(node, dict):
        return node
    return {k: public_name(str(v)) if k == "_target_" else with_public_names(v) for k, v in node.items()}


def find_runs(paths: Iterable[str | Path]) -> list[RunDirectory]:
    """Return every run directory at or below the paths, sorted, each once. Raises UserError where there is none.

    One that was set aside as damaged is returned only where it is named.
    """
    found: set[Path] = set()
    for path in map(Path, paths):
        if not path.exists():
            raise UserError(f"{path}: no such file or directory")
        below = (status.parent for status in path.rglob(STATUS))
        here = [path] if (path / STATUS).exists() else [run for run in below if ASIDE not in run.name]
        if not here:
            raise UserError(f"{path}: holds no run directory (none with a {STATUS}); start one with `normexp run`")
        found.update(directory.resolve() for directory in here)
    return [RunDirectory(path) for path in sorted(found)]


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        loaded = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise UserError(f"{path}: damaged (not JSON)") from None
    if not isinstance(loaded, dict):
        raise UserError(f"{path}: damaged (not an object)")
    return loaded


def _lock(descriptor: int, exclusive: bool) -> bool:
    """Take the lock until the file is closed; tell whether it was free. Many may share one, to look at it."""
    try:
        import fcntl
    except ImportError:  # Windows: one process per run directory is then the user's own care
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
