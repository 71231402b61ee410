"""The run directories at or below a path, in folders and in archives. Linear in their number."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from normexp.errors import UserError, did_you_mean, nearest_path
from normexp.records.archive import Archive, Foreign, Signatures, open_archive, signatures
from normexp.records.names import ARCHIVE, ASIDE, STATUS, is_archive
from normexp.records.printable import printable
from normexp.records.run import RunDirectory
from normexp.records.sources import Broken, Folder, Packed, archives_above, archives_in
from normexp.records.waiting import Waiting

COMMITTED = Path(__file__).resolve().parents[2] / "results"  # of a clone; an installed wheel has none
LINK = "links are not followed; give the folder that it leads to, or move that here"


def find_runs(
    paths: Iterable[str | Path], may_lack: bool = False, unseen: list[str] | None = None
) -> list[RunDirectory]:
    """Return every run directory at or below the paths, sorted, each once.

    A path is a folder, an archive, or a folder of an archive. A folder counts before an archive that holds the same
    run. One that was set aside as damaged is returned only where it is named; an archive that cannot be read is
    returned as one damaged run.

    Args:
        may_lack: a path may have no run.
        unseen: collects a line on each folder below the paths that is not looked into.

    Raises: UserError for a path without any.
    """
    found: dict[Path, RunDirectory] = {}
    for path in map(Path, paths):
        here = _at(resolved(path), unseen)
        if not (here or may_lack):
            raise _without_runs(path)
        for run in here:
            found.setdefault(run.path, run)
    return [found[path] for path in sorted(found)]


def _without_runs(path: Path) -> UserError:
    if not os.path.lexists(path):
        hint = _near(path)
        is_setting = "=" in path.parts[0] and not hint
        why = "is a setting, and paths alone are taken here" if is_setting else f"no such file or folder{hint}"
        return UserError(f"{printable(path)}: {why}")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        return UserError(f"{printable(path)}: cannot be read ({os.strerror(errno.EACCES)})")
    return UserError(f"{printable(path)}: holds no run directory (none with a {STATUS}); {_instead(path)}")


def _near(path: Path) -> str:
    """Propose the clone's own records where their path was typed in another folder; else the nearest path, if any."""
    there = COMMITTED.parent / path
    is_committed = COMMITTED.is_dir() and path.parts[:1] == (COMMITTED.name,)
    if is_committed and _at(resolved(there), None):  # packed ones, too
        return did_you_mean(shlex.quote(str(there)))
    return nearest_path(path) or (nearest_path(there) if is_committed else "")


def _instead(folder: Path) -> str:
    """Return what to do about a path without runs: name the folder of a file, the link to elsewhere, or start a run."""
    beside = (folder.parent / name for name in (STATUS, ARCHIVE, "runs/"))  # of a run; of an experiment, its table
    if not folder.is_dir() and any(map(os.path.lexists, beside)):
        return f"name its folder, {printable(folder.parent)}"
    linked = sorted(each for each in folder.glob("*") if each.is_symlink() and each.is_dir())
    return f"links are not followed: name {printable(linked[0])}" if linked else "start one with `normexp run`"


def resolved(path: Path) -> Path:
    """Return the path without links. Raises UserError for a loop of links, and for what the system does not read."""
    try:
        return path.resolve(strict=os.path.lexists(path))
    except ValueError:  # a name that no file could have
        raise UserError(f"{printable(path)}: no such file or folder") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        reason = getattr(error, "strerror", None) or os.strerror(errno.ELOOP)
        raise UserError(f"{printable(path)}: cannot be read ({reason})") from None


def from_here(path: Path) -> Path:
    """Return a path without links as one writes it in the current folder: relative where it lies in that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def find_run(path: str | Path, who: str) -> RunDirectory:
    """Return the one run directory at or below a path. Raises UserError where there is none, or more than one.

    Args:
        who: what asks for it, the beginning of the error.
    """
    runs = find_runs([path])
    if len(runs) != 1:
        raise UserError(f"{who} holds {len(runs)} runs; name one run directory")
    return runs[0]


@dataclass
class Look:
    """What a walk through folders comes by, besides runs.

    Args:
        folders: that were looked into.
        archives: that were met.
        unseen: a line on each folder that is not looked into.
        signed: the archives as they were when all folders had been looked into, before any was opened.
    """

    folders: list[Path] = field(default_factory=list)
    archives: list[Path] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    signed: Signatures = field(default_factory=dict)

    def now(self, path: Path) -> Signatures:
        """Return the archives as they are now, and those that have come to these folders, or above the path."""
        came = (archive for folder in self.folders for archive in _seen_in(folder))
        return signatures([*self.signed, *came, *(archive for archive, _ in archives_above(path))])


def _at(path: Path, unseen: list[str] | None) -> list[RunDirectory]:
    """Return the runs at a path, of one moment: what is packed while it is looked for is looked for again."""
    before: Signatures | None = None
    while True:
        look = Look()
        runs = list(_found(path, look))
        now = look.now(path)
        if now in (look.signed, before):
            if unseen is not None:
                unseen += look.unseen
            return runs
        before = now


def _found(path: Path, look: Look) -> Iterator[RunDirectory]:
    """Yield the runs at a path: what is on the disk first, then what is packed below or above."""
    if path.suffix == ".zip" and path.is_file():
        look.signed = signatures([path])
        yield from _packed(path, "", named=True)
        return
    if os.path.lexists(path / STATUS):
        yield RunDirectory(path, Folder(path))
        return
    yield from runs_below(path, look)
    archives = [*((archive, "") for archive in sorted(look.archives, reverse=True)), *archives_above(path)]
    look.signed = signatures(archive for archive, _ in archives)
    for archive, inside in archives:
        yield from _packed(archive, inside)


def check_seen(folder: Path) -> None:
    """Raise UserError where something below a folder is not looked into: a linked folder, one that cannot be read.

    Whoever writes there would take the runs in it for missing.
    """
    if unseen := _walked(folder).unseen:
        raise UserError(min(unseen))


def archives_below(folder: Path) -> list[Path]:
    """Return the archives in a folder and its folders, sorted."""
    return sorted(_walked(folder).archives)


def _walked(folder: Path) -> Look:
    look = Look()
    for _ in runs_below(folder, look):
        pass
    return look


def runs_below(folder: Path, look: Look | None = None) -> Iterator[RunDirectory]:
    """Yield the run directories on the disk below a folder. Links are not followed.

    Args:
        look: collects what else is met.
    """
    look, left, waiting = look or Look(), [folder], Waiting()
    while left:
        look.folders.append(left.pop())
        looked = f"{len(look.folders):,}"
        waiting.at(f"looking for runs in {printable(folder)}, folders so far: {looked}; name the one of your runs")
        for entry in _entries(look.folders[-1], look.unseen):
            if is_archive(entry.name) and not os.path.isdir(entry.path):
                look.archives.append(Path(entry.path))
            elif ASIDE in entry.name or entry.name.startswith("."):
                continue
            elif entry.is_symlink():
                if not os.path.isfile(entry.path):
                    look.unseen.append(f"{printable(entry.path)}: {LINK}")
            elif entry.is_dir(follow_symlinks=False):
                path = Path(entry.path)
                if os.path.lexists(path / STATUS):
                    yield RunDirectory(path, Folder(path))
                else:
                    left.append(path)


def _seen_in(folder: Path) -> Iterator[Path]:
    """Yield the parts of a folder's archive; none where it cannot be looked into, of which there is a line already."""
    with suppress(UserError):
        yield from archives_in(folder)


def _entries(folder: Path, unseen: list[str]) -> list[os.DirEntry[str]]:
    """Return what stands in a folder; nothing of one that has gone, or that cannot be read, of which it adds a line."""
    try:
        return list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        unseen.append(f"{printable(folder)}: cannot be read ({error.strerror})")
        return []


def _packed(archive: Path, inside: str, named: bool = False) -> Iterator[RunDirectory]:
    """Yield the runs of an archive at or below one of its folders, each where it would be unpacked.

    Of somebody else's zip file only where it was named.
    """
    root = archive.parent if is_archive(archive.name) else archive
    try:
        opened: Archive = open_archive(archive)
    except FileNotFoundError:  # moved just now
        return
    except UserError as error:
        if named or not isinstance(error, Foreign):
            yield RunDirectory(archive, Broken(error))
        return
    for name in opened.runs(inside):
        if ASIDE not in name or name == inside:
            yield RunDirectory(root / name, Packed(opened, name))
