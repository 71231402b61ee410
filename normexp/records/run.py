"""One run directory, in a folder or in an archive: what it says, read with suspicion and written whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from normexp.errors import UserError
from normexp.records.fences import check_fence
from normexp.records.files import (
    MOST_ROWS,
    MOST_TABLE,
    MOST_TEXT,
    ORDINARY,
    Damaged,
    damaged,
    sha256_of,
    sweep_temporaries,
    write_atomically,
)
from normexp.records.forms import check_config, check_environment, check_rows, check_status
from normexp.records.locks import is_locked, locked
from normexp.records.names import ASIDE, CHECKPOINT, CONFIG, ENVIRONMENT, LOCK, STATUS
from normexp.records.parsing import csv_rows, decoded, json_object, yaml_mapping
from normexp.records.public_names import with_public_names
from normexp.records.sources import Folder, Held, Source, source_of

FIRST = 4096  # bytes of a file that a glance takes
MOST_BYTES = 2**36  # of a file that is only hashed, and of a checkpoint
OTHER_SUM = "it does not have the checksum of the finished run"

Mappings = dict[str, Any]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RunDirectory:
    """One run's files.

    Args:
        path: where the run is, or would be if it were not packed.
        given: where its files are; by default a folder at `path`, else an archive above it.
    """

    path: Path
    given: Source | None = field(default=None, repr=False)

    def __fspath__(self) -> str:
        """Let whatever takes a path take a run."""
        return str(self.path)

    @property
    def source(self) -> Source:
        """Where its files are now: as given, unless they were packed, or moved, since."""
        return source_of(self.path) if self.given is None or self.given.is_gone() else self.given

    @property
    def is_packed(self) -> bool:
        return self.source.is_packed

    @property
    def has_begun(self) -> bool:
        """Whether there is anything of it, in a folder or packed."""
        return os.path.lexists(self.path) or self.has(STATUS)

    def has(self, name: str) -> bool:
        return self._asked(lambda source: source.has(name))

    def names(self) -> list[str]:
        """Return the names of its files, sorted."""
        return self._asked(lambda source: source.names())

    def read(self, name: str, most: int = MOST_ROWS) -> bytes:
        """Return a file's content. Raises FileNotFoundError, or UserError where it is damaged or too large."""
        return self._asked(lambda source: self._read(source, name, most))

    def _asked(self, ask: Callable[[Source], Answer]) -> Answer:
        """Return what its files answer. Where they are packed while they do, they are asked again."""
        while True:
            source = self.source
            try:
                answer = ask(source)
            except (FileNotFoundError, UserError):
                if self.source == source:
                    raise
            else:
                if self.source == source:
                    return answer

    def _read(self, source: Source, name: str, most: int) -> bytes:
        data = source.read(name, most)
        if _has_sum(name) and not source.is_packed:
            self._check_sum(name, data, self._known_sums if self.given else self._recorded_sums())
        return data

    def text(self, name: str, most: int = MOST_ROWS) -> str:
        return self._parsed(name, self.read(name, most), decoded)

    def first_line(self, name: str) -> str:
        """Return the beginning of a file up to its first line break; nothing where there is no file."""
        try:
            beginning = self._asked(lambda source: source.beginning(name, FIRST))
        except FileNotFoundError:
            return ""
        return beginning.partition(b"\n")[0].decode("utf-8", errors="replace")

    def rows(self, name: str, most: int = MOST_ROWS) -> list[dict[str, str]]:
        """Return the rows of a CSV file that end in a line break, as text; none where there is no file.

        Raises: UserError where it is damaged, or lacks what is read of it by name.
        """
        try:
            data = self.read(name, most)
        except FileNotFoundError:
            return []
        rows = self._parsed(name, data, csv_rows)
        self._parsed(name, rows, partial(check_rows, name))
        return rows

    @property
    def status(self) -> Mappings:
        """Return status.json, or `{"status": "new"}` where there is none. Raises UserError on a damaged file."""
        return self._mapping(STATUS, json_object, check_status) or {"status": "new"}

    @cached_property
    def environment(self) -> Mappings:
        return self._mapping(ENVIRONMENT, json_object, check_environment) or {}

    @property
    def data(self) -> Mappings:
        """Return what environment.json says of the data; a study that loads none has nothing there."""
        return self.environment.get("data", {})

    @cached_property
    def config(self) -> Mappings:
        """Return the resolved options (nested) plus `_choices_` (group: option) and `_changes_` (key: value)."""
        loaded = self._mapping(CONFIG, yaml_mapping, check_config)
        if loaded is None:
            raise Damaged(f"{self.path / CONFIG}: damaged or missing (no such file)")
        return {key: with_public_names(value) for key, value in loaded.items()}

    def write_status(self, status: str, **facts: object) -> None:
        write_atomically(self.path / STATUS, json.dumps({"status": status, **facts}, indent=2) + "\n")

    def finish(self, status: str, **facts: object) -> None:
        """Write the status of a finished run, with the checksums of what it has written."""
        self.write_status(status, **facts, sha256=dict(self._sums()))

    def write_environment(self, environment: Mappings) -> None:
        write_atomically(self.path / ENVIRONMENT, json.dumps(environment, indent=2) + "\n")

    def check_sums(self, without: Collection[str] = ()) -> None:
        """Raise UserError for the first file that is not as it was when the run finished; older runs have no sums.

        A checkpoint may be gone: archives hold no weights, and what was unpacked from one is whole without them.
        """
        self._asked(lambda _: self._check_sums(without))

    def _check_sums(self, without: Collection[str]) -> None:
        for name, known in self._recorded_sums().items():
            if name in without:
                continue
            try:
                found = sha256_of(self.path / name, _most(name))
            except FileNotFoundError:
                if name == CHECKPOINT:
                    continue
                raise damaged(self.path / name, "it is missing") from None
            if found != known:
                raise damaged(self.path / name, OTHER_SUM)

    def contents(self, weights: bool = True) -> dict[str, bytes]:
        """Return the files of one moment: where the run is saved or ends while they are read, they are read again.

        Args:
            weights: the checkpoint, too.
        """
        return self._asked(lambda source: self._contents(source, weights))

    def _contents(self, source: Source, weights: bool) -> dict[str, bytes]:
        while True:
            status, names = self._read(source, STATUS, MOST_TEXT), source.names()
            kept = [name for name in names if weights or not name.startswith("checkpoint.")]
            files = {name: self._read(source, name, _most(name)) for name in kept if name != STATUS}
            if self._read(source, STATUS, MOST_TEXT) == status:
                return {STATUS: status, **files}

    def read_already(self, files: Mapping[str, bytes]) -> RunDirectory:
        """Return the run with its contents, of which what is small stays in memory, and is not read again."""
        small = {name: data for name, data in files.items() if len(data) <= ORDINARY}
        return RunDirectory(self.path, Held(self.source, small))

    def set_aside(self) -> Path | None:
        """Move a damaged run directory, which this process holds, out of the way; return where to.

        None where it is in an archive: the run then begins in the folder, which counts before what was packed.
        """
        aside = None
        packed = self.is_packed
        if set(os.listdir(self.path)) - {LOCK}:
            aside = free_name(self.path)
            check_fence()
            self.path.rename(aside)
        if packed:
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_status("interrupted", step=0, cause="what was packed of it is damaged")
        return aside

    def is_locked(self) -> bool:
        """Tell whether a living process is running this. Writes nothing: the folder may be read-only."""
        return is_locked(self.path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the directory for this process, and clear away what a killed one left half-written."""
        with locked(self.path):
            sweep_temporaries(self.path)
            yield

    @cached_property
    def _known_sums(self) -> Mapping[str, str]:
        return self._recorded_sums()

    def _recorded_sums(self) -> Mapping[str, str]:
        """Return {file: checksum} of a finished run in a folder; an archive checks its members itself."""
        sums: dict[str, str] = {} if self.is_packed else self.status.get("sha256", {})
        return {name: known for name, known in sums.items() if _has_sum(name)}

    def _check_sum(self, name: str, data: bytes, sums: Mapping[str, str]) -> None:
        if name in sums and hashlib.sha256(data).hexdigest() != sums[name]:
            raise damaged(self.path / name, OTHER_SUM)

    def _sums(self) -> Iterator[tuple[str, str]]:
        for name in filter(_has_sum, Folder(self.path).names()):
            yield name, sha256_of(self.path / name, MOST_BYTES)

    def _mapping(
        self, name: str, parse: Callable[[bytes], Mappings], check: Callable[[Mapping[str, Any]], None]
    ) -> Mappings | None:
        """Return what a file holds, None where there is none. Raises UserError for another form than it has."""
        try:
            data = self.read(name, MOST_TEXT)
        except FileNotFoundError:
            return None
        loaded = self._parsed(name, data, parse)
        self._parsed(name, loaded, check)
        return loaded

    def _parsed(self, name: str, data: Any, parse: Callable[[Any], Any]) -> Any:
        try:
            return parse(data)
        except ValueError as error:
            raise damaged(self.path / name, error) from None


def _most(name: str) -> int:
    """Return how many bytes a file may have where it is taken as a whole."""
    return MOST_BYTES if name == CHECKPOINT else MOST_TABLE


def _has_sum(name: str) -> bool:
    """Tell whether a run writes a file of this name. Its figure is drawn again whenever another run is beside it."""
    return name in (CONFIG, ENVIRONMENT, CHECKPOINT) or (name.endswith(".csv") and not name.startswith("."))


def free_name(path: Path) -> Path:
    """Return the name under which a damaged run directory is set aside: none that is there already."""
    return next(aside for n in count(1) if not (aside := Path(f"{path}{ASIDE}{n}")).exists())


def read_rows(path: Path, most: int = MOST_ROWS) -> list[dict[str, str]]:
    """Return the rows of a run directory's CSV file that end in a line break; none where there is no file."""
    return RunDirectory(path.parent).rows(path.name, most)


def environment_before(directory: RunDirectory) -> Mappings:
    """Return environment.json as the attempt before left it; nothing where it is damaged. Raises Unreadable."""
    try:
        return RunDirectory(directory.path, directory.given).environment  # the directory itself keeps what it has read
    except Damaged:
        return {}
