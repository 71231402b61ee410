"""Joining the records of two machines. What contradicts is refused before anything is written."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePath
from shlex import quote

from normexp.errors import Several, UserError
from normexp.records.archive import packed
from normexp.records.beside import Contradiction, beside
from normexp.records.counting import Choice, Runs, better, whole
from normexp.records.exchange import exchange
from normexp.records.files import Damaged, is_older, make_folder, sweep_temporaries, write_atomically
from normexp.records.find import check_seen, find_runs, resolved
from normexp.records.locks import made_and_locked, release
from normexp.records.names import ARCHIVE, CHECKPOINT, FINISHED, STATUS, is_archive
from normexp.records.portable import without_folders
from normexp.records.printable import printable
from normexp.records.run import MOST_BYTES, RunDirectory, free_name
from normexp.records.sources import Folder

_HALF = ".merge-"
_RANDOM = "0" * 8  # as long as what ends the name of a file or a folder that is half written
ABANDONED = 3600.0  # seconds after which another process's half-written archive belongs to nobody
NAMED = 10  # contradictions in one error
_PACKED = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z")  # ends the name of somebody's archive


@dataclass(frozen=True)
class Merging:
    """What a merge did: runs copied, runs that were there already, and lines on what was left out."""

    copied: int
    there: int
    left: list[str] = field(default_factory=list)


def merge(first: Path, second: Path, into: Path | None, ignored: Iterable[str]) -> Merging:
    """Bring every run of both into `into`, by default into `first`. Neither source loses anything.

    A run in both counts once where its configuration and metrics.csv are equal; of an unfinished and a finished one,
    the finished one; of two unfinished ones, the one that is further. A damaged one is left out, and named, as is one
    that has no configuration. What was declared before the runs comes along (`beside`).

    Args:
        first, second: folders or archives, holding the same layout of run directories.
        into: a folder, or an archive (.zip).
        ignored: keys of a configuration that may differ: where and on what a run was computed.

    Raises: UserError where a run has other results in each, an experiment other declarations, a folder is not looked
        into (`check_seen`), or a run of the archive that is to be written is damaged, before anything is written; Busy
        while another process writes there.
    """
    if first.exists() and second.exists() and first.samefile(second):
        raise UserError(f"{first} {second}: one folder; give two")
    sources, target = {_root(path): _runs(path) for path in (first, second)}, into or first
    _check_name(target)
    _check_apart(first, second, target)
    _check_length(target, chain(*sources.values()))
    for path in (first, second, target):
        check_seen(path)
    folder = target.parent if target.suffix == ".zip" else target
    with made_and_locked(folder) as new:  # what is there is read and written: nobody else may write between
        try:
            there = {} if new or not target.exists() else _runs(target, may_lack=True)
            return _merge(sources, target, there, set(ignored))
        finally:
            release(folder)


def _check_name(target: Path) -> None:
    """Raise UserError for the name of another archive than a .zip: a folder would be made of it."""
    if target.suffix != ".zip" and target.suffix.lower() in _PACKED and not target.is_dir():
        meant = quote(str(target.with_suffix("")).removesuffix(".tar") + ".zip")
        raise UserError(f"{target}: the name of an archive ends in .zip; did you mean --into {meant}?")


def _check_apart(first: Path, second: Path, target: Path) -> None:
    """Raise UserError for a folder in another: the outer one has the runs of the inner one, too, in other places."""
    outer, inner = sorted(map(resolved, (first, second)), key=lambda path: len(path.parts))
    if outer in inner.parents and inner.is_dir():
        raise UserError(f"{first} {second}: one lies inside the other, so their runs do not have the same places")
    place = _place(target)
    if place and (around := next((path for path in (first, second) if _root(path) in place.parents), None)):
        raise UserError(f"{target}: lies inside {around}, whose runs would then be there twice; give another --into")


def _check_length(target: Path, runs: Iterable[str]) -> None:
    """Raise UserError where what is written of these runs has a longer path than the system takes."""
    written = f".{CHECKPOINT}.{_RANDOM}"
    below = [target / name / written for name in (*runs, f"{_HALF}{_RANDOM}")]
    for path in [target.with_name(f".{target.name}.{_RANDOM}")] if target.suffix == ".zip" else below:
        try:
            os.lstat(path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise UserError(f"{printable(target, 100)}: cannot be written ({error.strerror})") from None


def _merge(sources: Mapping[Path, Runs], target: Path, there: Runs, ignored: set[str]) -> Merging:
    every, choice = (there, *sources.values()), Choice(there, target.suffix == ".zip", ignored)
    for name in dict.fromkeys(chain(*every)):
        choice.choose(name, dict.fromkeys(runs[name] for runs in every if name in runs))
    place, left = _place(target), choice.left
    try:
        declared, apart = beside(list(dict.fromkeys([*filter(None, [place]), *sources])), choice.kept | choice.fresh)
    except Contradiction as what:
        choice.contradictions.append(str(what))
    if lines := choice.contradictions:
        more = f"\nand {len(lines) - NAMED} more" if len(lines) > NAMED else ""
        raise Several("\n".join(f"contradicts: {line}" for line in lines[:NAMED]) + more)
    left += apart if place else [f"{name}: only a folder can take it" for name in declared]
    if place:
        _write_beside(place, declared)
    copied = (_write_archive if choice.anew else _write_folders)(target, choice)
    return Merging(copied, len(choice.kept) + len(choice.fresh) - copied, list(dict.fromkeys(left)))


def _runs(path: Path, may_lack: bool = False) -> Runs:
    """Return the runs by their path below the folder; those of an archive by their path in it.

    A damaged archive, in the place of what it holds, may lie above the folder.
    """
    return {PurePath(os.path.relpath(run.path, _root(path))).as_posix(): run for run in find_runs([path], may_lack)}


def _root(path: Path) -> Path:
    """Return the folder that the runs at a path are named from."""
    packed_alone = path.suffix == ".zip" and path.is_file()
    return resolved(path.parent if is_archive(path.name) and packed_alone else path)


def _place(target: Path) -> Path | None:
    """Return the folder that takes what lies beside the runs; None for an archive under a name of its own."""
    if target.suffix != ".zip":
        return resolved(target)
    return resolved(target).parent if target.name == ARCHIVE else None


def _weights(run: RunDirectory) -> dict[str, bytes]:
    """Return the checkpoint that an archive left where the run was trained, if it is still that of the record."""
    beside = Folder(run.path)
    if not (run.is_packed and beside.has(CHECKPOINT)):
        return {}
    data, known = beside.read(CHECKPOINT, MOST_BYTES), run.status.get("sha256", {})
    return {CHECKPOINT: data} if hashlib.sha256(data).hexdigest() == known.get(CHECKPOINT) else {}


def _write_beside(place: Path, declared: Mapping[str, bytes]) -> None:
    for name, data in declared.items():
        make_folder((place / name).parent)
        write_atomically(place / name, data)


def _write_archive(target: Path, choice: Choice) -> int:
    """Write an archive of the runs that have ended, whose weights stay where they are; return how many are fresh."""
    for runs in (choice.kept, choice.fresh):
        for name in [name for name, run in runs.items() if run.status["status"] not in FINISHED]:
            choice.left.append(f"{runs.pop(name).path}: not finished, only a folder can take it")
    members = {
        f"{name}/{file}": data
        for name, run in (choice.kept | choice.fresh).items()
        for file, data in run.contents(weights=False).items()
    }
    write_atomically(target, packed(without_folders(members)))
    sweep_temporaries(target.parent, ABANDONED, of=target.name)
    return len(choice.fresh)


def _write_folders(target: Path, choice: Choice) -> int:
    """Copy run by run, each of which appears whole, or not at all; return how many still counted."""
    _sweep_halves(target)
    return sum(_copy(run, target, target / name, choice.ignored) for name, run in choice.fresh.items())


def copy_run(run: RunDirectory, destination: Path, ignored: Iterable[str]) -> None:
    """Copy a run to where nothing is; it appears there whole, or not at all. Raises UserError for a damaged one.

    Args:
        ignored: keys of a configuration that may differ from those of a run that has come there meanwhile.
    """
    _sweep_halves(destination.parent, ABANDONED)  # no lock is held: a younger one may be somebody's who still copies
    _copy(run, destination.parent, destination, set(ignored))


def _sweep_halves(folder: Path, older: float = 0.0) -> None:
    """Remove what a process that was killed had half copied, if that is some seconds old."""
    for half in folder.glob(f"{_HALF}*"):
        with suppress(FileNotFoundError):  # whoever copied it has renamed it by now
            if is_older(half, older):
                shutil.rmtree(half)


def _copy(run: RunDirectory, target: Path, destination: Path, ignored: set[str]) -> bool:
    """Bring a run to its place; tell whether it still counted there."""
    make_folder(destination.parent)
    half = target / f"{_HALF}{secrets.token_hex(4)}"
    half.mkdir()
    try:
        for file, data in (run.contents() | _weights(run)).items():
            write_atomically(half / file, data)
        return _put(half, run, destination, ignored)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _put(half: Path, run: RunDirectory, destination: Path, ignored: set[str]) -> bool:
    """Rename the whole copy of a run into place, unless what is there by now counts; else that is kept beside it."""
    try:
        half.rename(destination)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        with RunDirectory(destination).lock():
            if not _is_better(run, RunDirectory(destination), ignored):
                return False
            aside = free_name(destination)
            half.rename(aside)  # killed here, nothing is lost: what is there still counts
            exchange(aside, destination, between=free_name(destination))
    return True


def _is_better(run: RunDirectory, there: RunDirectory, ignored: set[str]) -> bool:
    """Tell whether a run counts and not what is there, which may be damaged, or another than when it was looked at.

    A folder without a status is no run yet: whoever began it was killed, since it is locked.
    """
    try:
        return not there.has(STATUS) or better(whole(there), run, ignored) is run
    except Damaged:
        return True
    except Contradiction as what:
        raise UserError(f"contradicts: {what}") from None
