"""Packing finished run directories into `records.zip`. Whatever kills it, every record is in a folder or an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath

from normexp.errors import Busy, UserError
from normexp.records.archive import MOST_BYTES as READABLE
from normexp.records.archive import open_archive, packed
from normexp.records.files import make_folder, remove_empty, sweep_temporaries, too_large, write_atomically
from normexp.records.find import archives_below, check_seen, runs_below
from normexp.records.locks import locked, release
from normexp.records.names import ARCHIVE, CHECKPOINT, FINISHED, STATUS, archive_name
from normexp.records.portable import without_folders
from normexp.records.run import MOST_BYTES, RunDirectory

LARGEST = 4 * 2**20  # bytes of one archive; where it would have more, every arm has its own, or several

Contents = dict[str, bytes]


@dataclass
class Packing:
    """What was packed, and which run directories were left as they are, with the reason."""

    runs: int = 0
    archives: list[Path] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def pack(folder: Path) -> Packing:
    """Pack the finished run directories below a folder, over what is packed there already, and remove them.

    Weights are not packed: a checkpoint stays where it is. Raises: UserError for an archive that is damaged, and for a
    folder that is not looked into (`check_seen`), Busy while another process packs.
    """
    with locked(folder):
        try:
            check_seen(folder)
            return _pack(folder)
        finally:
            release(folder)


def _pack(folder: Path) -> Packing:
    done = Packing()
    fresh = {run.path: contents for run in runs_below(folder) if (contents := _contents(run, done)) is not None}
    old = archives_below(folder)
    own = {path.relative_to(folder).as_posix(): contents for path, contents in fresh.items()}
    everything = {name: data for name, data in _unpacked(folder, old).items() if name.rpartition("/")[0] not in own}
    everything |= {f"{inside}/{name}": data for inside, files in own.items() for name, data in files.items()}
    if not everything:
        raise UserError(f"{folder}: holds no finished run to pack")
    done.archives = _write(folder, without_folders(everything))
    for path in {folder / ARCHIVE, *old, *done.archives}:
        sweep_temporaries(path.parent, of=path.name)
    for path in set(old) - set(done.archives):
        path.unlink(missing_ok=True)
    done.runs = sum(name.endswith(f"/{STATUS}") for name in everything)
    done.left += [line for path, contents in fresh.items() if (line := _remove(folder, path, contents))]
    return done


def _contents(run: RunDirectory, done: Packing) -> Contents | None:
    """Return the files of a finished, sound run; None, and a line why not, for another."""
    try:
        status = run.status["status"]
        if status in FINISHED:
            run.check_sums(without=[CHECKPOINT])
            _ = run.config
            return run.contents(weights=False)
        done.left.append(f"{run.path}: {status}")
    except (UserError, OSError) as error:
        done.left.append(str(error))
    return None


def _unpacked(folder: Path, archives: list[Path]) -> Contents:
    """Return {path below the folder: content} of all archives."""
    contents: Contents = {}
    for path in archives:
        archive, above = open_archive(path), path.parent.relative_to(folder)
        contents |= {(above / name).as_posix(): archive.read(name, MOST_BYTES) for name in archive.names}
    return contents


def _write(folder: Path, contents: Contents) -> list[Path]:
    """Write the archives and read them back; return their paths.

    Among the parts of an arm a run may move from one file to another, so meanwhile all runs are in one archive, too.
    """
    whole, archives = folder / ARCHIVE, {folder / inside: data for inside, data in _archives(contents).items()}
    for path, data in archives.items():
        if len(data) > READABLE:
            raise too_large(path, len(data), READABLE)
    if moves := any(path.name != ARCHIVE for path in archives):
        write_atomically(whole, packed(contents))
    paths = sorted(archives, key=lambda path: path == whole)
    for path in paths:
        make_folder(path.parent)
        write_atomically(path, archives[path])
    if _unpacked(folder, paths) != contents:
        raise UserError(f"{', '.join(map(str, paths))}: read back otherwise than written")
    if moves and whole not in archives:
        whole.unlink()
    return paths


def _archives(contents: Contents) -> Mapping[str, bytes]:
    """Return {path: archive}: one, or those of every arm (KIND/ARM) where that would be large."""
    if len(whole := packed(contents)) <= LARGEST:
        return {ARCHIVE: whole}
    arms: dict[str, Contents] = {}
    for name, data in contents.items():
        parts = PurePosixPath(name).parts
        inside = "/".join(parts[: min(2, len(parts) - 2)])
        arms.setdefault(inside, {})[name.removeprefix(f"{inside}/")] = data
    return {
        str(PurePosixPath(inside, archive_name(number))): data
        for inside, own in arms.items()
        for number, data in enumerate(_parts(own), start=1)
    }


def _parts(contents: Contents) -> list[bytes]:
    """Return the archives of an arm: as few as are not large, of about as many runs each; a run is never parted."""
    runs: dict[str, Contents] = {}
    for name in sorted(contents):
        runs.setdefault(name.rpartition("/")[0], {})[name] = contents[name]
    each, parts = list(runs.values()), [packed(contents)]
    while max(map(len, parts)) > LARGEST and len(parts) < len(each):
        number = len(parts) + 1
        ends = [len(each) * i // number for i in range(number + 1)]
        parts = [packed(_joined(each[start:end])) for start, end in pairwise(ends)]
    return parts


def _joined(runs: Iterable[Contents]) -> Contents:
    return {name: data for run in runs for name, data in run.items()}


def _remove(folder: Path, path: Path, contents: Contents) -> str:
    """Remove a run directory that is as it was packed; return why it stays otherwise."""
    run = RunDirectory(path)
    try:
        with run.lock():
            if run.contents(weights=False) != contents:
                return f"{path}: changed meanwhile"
            for name in sorted(contents, key=lambda name: name != STATUS):  # without a status it is no run
                (path / name).unlink()
            release(path)
    except Busy as error:
        return str(error)
    remove_empty(_up_to(path, folder))
    return ""


def _up_to(path: Path, folder: Path) -> Iterator[Path]:
    while path != folder:
        yield path
        path = path.parent
