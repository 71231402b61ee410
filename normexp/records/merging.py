"""Joining the records of two machines. What contradicts is refused before anything is written."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from shlex import quote
from typing import Any

from normexp.errors import UserError
from normexp.records.archive import packed
from normexp.records.beside import Contradiction, beside
from normexp.records.files import (
    MOST_TABLE,
    Damaged,
    condition,
    damaged,
    make_folder,
    sweep_temporaries,
    write_atomically,
)
from normexp.records.find import check_seen, find_runs, resolved
from normexp.records.locks import made_and_locked, release
from normexp.records.names import ARCHIVE, CHECKPOINT, FINISHED, METRICS, UNREADABLE, is_archive
from normexp.records.portable import without_folders
from normexp.records.run import MOST_BYTES, RunDirectory, free_name
from normexp.records.sources import Folder

_HALF = ".merge-"
ABANDONED = 3600.0  # seconds after which another process's half-written archive belongs to nobody
NAMED = 10  # contradictions in one error
_PACKED = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z")  # ends the name of somebody's archive

Runs = dict[str, RunDirectory]


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


def _merge(sources: Mapping[Path, Runs], target: Path, there: Runs, ignored: set[str]) -> Merging:
    chosen: Runs = {}
    left, contradictions = [], []
    for name, run in (item for source in (there, *sources.values()) for item in source.items()):
        try:
            _check_whole(run)
            chosen[name] = _better(chosen[name], run, ignored) if name in chosen else run
        except Contradiction as what:
            contradictions.append(f"{name}: {what}")
        except UserError as error:
            if run is there.get(name) and (target.suffix == ".zip" or condition(error) == UNREADABLE):
                raise  # an archive is written anew, and would lose what it holds of this run; another may be sound
            left.append(str(error))
    place = _place(target)
    try:
        declared, apart = beside(list(dict.fromkeys([*filter(None, [place]), *sources])), chosen)
    except Contradiction as what:
        contradictions.append(str(what))
    if contradictions:
        more = f"\nand {len(contradictions) - NAMED} more" if len(contradictions) > NAMED else ""
        raise UserError("\n".join(f"contradicts: {line}" for line in contradictions[:NAMED]) + more)
    if target.suffix == ".zip":
        unfinished = [name for name, run in chosen.items() if run.status["status"] not in FINISHED]
        left += [f"{chosen.pop(name).path}: not finished, only a folder can take it" for name in unfinished]
    fresh = {name: run for name, run in chosen.items() if run is not there.get(name)}
    left += apart if place else [f"{name}: only a folder can take it" for name in declared]
    if place:
        _write_beside(place, declared)
    if target.suffix == ".zip":
        write_atomically(target, packed(_members(chosen)))
        sweep_temporaries(target.parent, ABANDONED, of=target.name)
        copied = len(fresh)
    else:
        copied = _write_folders(target, fresh, ignored)
    return Merging(copied, len(chosen) - copied, list(dict.fromkeys(left)))


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


def _check_whole(run: RunDirectory) -> None:
    """Raise UserError for a run of which a file is damaged, or missing: it is no reason to drop the other record."""
    run.check_sums()
    files, _ = run.contents(weights=False), run.config
    if run.status["status"] in FINISHED and METRICS not in files:
        raise damaged(run.path / METRICS, "it is missing")


def _better(one: RunDirectory, other: RunDirectory, ignored: set[str]) -> RunDirectory:
    """Return the record that counts. Raises Contradiction."""
    states = [(one, one.status), (other, other.status)]
    if _told(one.config, ignored) != _told(other.config, ignored):
        raise Contradiction(f"{one.path} and {other.path} have different configurations")
    finished = [(run, status["status"]) for run, status in states if status["status"] in FINISHED]
    if len({(ended, run.read(METRICS, MOST_TABLE)) for run, ended in finished}) > 1:
        told = f"{one.path} and {other.path} have different results ({METRICS})"
        raise Contradiction(f"{told}; move away the one that is not to count")
    if finished:
        return finished[0][0]
    return max(states, key=lambda state: state[1].get("step", 0))[0]


def _told(config: Mapping[str, Any], ignored: set[str]) -> dict[str, Any]:
    """Return what two records of one run agree in."""
    changes = {key: value for key, value in (config.get("_changes_") or {}).items() if key not in ignored}
    return {**{key: value for key, value in config.items() if key not in ignored}, "_changes_": changes}


def _weights(run: RunDirectory) -> dict[str, bytes]:
    """Return the checkpoint that an archive left where the run was trained, if it is still that of the record."""
    beside = Folder(run.path)
    if not (run.is_packed and beside.has(CHECKPOINT)):
        return {}
    data, known = beside.read(CHECKPOINT, MOST_BYTES), run.status.get("sha256", {})
    return {CHECKPOINT: data} if hashlib.sha256(data).hexdigest() == known.get(CHECKPOINT) else {}


def _members(chosen: Runs) -> dict[str, bytes]:
    """Return what an archive of these runs holds; weights stay where they are."""
    members = {
        f"{name}/{file}": data for name, run in chosen.items() for file, data in run.contents(weights=False).items()
    }
    return without_folders(members)


def _write_beside(place: Path, declared: Mapping[str, bytes]) -> None:
    for name, data in declared.items():
        make_folder((place / name).parent)
        write_atomically(place / name, data)


def _write_folders(target: Path, fresh: Runs, ignored: set[str]) -> int:
    """Copy run by run, each of which appears whole, or not at all; return how many still counted."""
    for half in target.glob(f"{_HALF}*"):  # of a merge that was killed
        shutil.rmtree(half)
    return sum(_copy(run, target, target / name, ignored) for name, run in fresh.items())


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
            destination.rename(free_name(destination))
            half.rename(destination)
    return True


def _is_better(run: RunDirectory, there: RunDirectory, ignored: set[str]) -> bool:
    """Tell whether a run counts and not what is there, which may be damaged, or another than when it was looked at."""
    try:
        _check_whole(there)
        return _better(there, run, ignored) is run
    except Damaged:
        return True
    except Contradiction as what:
        raise UserError(f"contradicts: {what}") from None
