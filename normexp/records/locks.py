"""One process per run directory, on one machine and on several that share a file system.

The lock is `flock` on the file `.lock`, which the system frees when its process dies. Some network mounts let every
`flock` succeed, so whoever holds the lock also writes who it is (host, process) into the file and touches it every few
seconds: a second process that gets the lock although the owner is alive refuses. Where there is no `flock` at all the
run is refused with a way out: `NORMEXP_LOCKS=owner` trusts the owner's name and heartbeat alone.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from normexp.errors import Busy, UserError, check_system
from normexp.records.files import is_full, made_folder, open_regular, unwritable
from normexp.records.names import LOCK
from normexp.records.parsing import json_object
from normexp.records.printable import printable

LOOKING = 0.25  # seconds after which it is no onlooker who holds a lock: those need microseconds
BEAT = 15.0  # seconds between signs of life of an owner
ENDED = ("Z", "X")  # states of a process in /proc
SILENT = 90.0  # seconds without one after which an owner on another machine counts as dead
TRUST_OWNER = "NORMEXP_LOCKS"  # environment variable; `owner` for file systems without flock
_WRITING = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_MOST = 10_000  # bytes of an owner
_MOST_PID = 2**31  # beyond any process; 0 and what is below it are several, to the system


@dataclass(frozen=True)
class Owner:
    """A process: its machine, its number there, and when it began (numbers are used again)."""

    host: str
    pid: int
    began: str = ""

    @classmethod
    def this(cls) -> Owner:
        return cls(socket.gethostname(), os.getpid(), _began(os.getpid()))

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    def lives(self, silent: float) -> bool:
        """Tell whether the process is alive. `silent`: seconds since its last sign of life, all that others know."""
        if not self.is_here:
            return silent < SILENT
        if self.pid == os.getpid():
            return False  # what this process has freed without a word, it may take again
        return _exists(self.pid) and _began(self.pid) == self.began


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process.

    Raises: Busy while another process does, UserError where that cannot be known.
    """
    check_system()
    descriptor = _taken(folder)
    try:
        _own(descriptor, folder)
        ended = threading.Event()
        beating = threading.Thread(target=_beat, args=(descriptor, ended), daemon=True)
        beating.start()
        try:
            yield
        finally:
            ended.set()
            beating.join()
            if _owner(descriptor) == Owner.this():  # where flock lies, somebody else may own it by now
                with suppress(OSError):
                    _write(descriptor, "")
    finally:
        os.close(descriptor)


@contextmanager
def made_and_locked(folder: Path) -> Iterator[bool]:
    """Hold a folder, made with those above it where it is not there; tell whether it was made.

    Folders that were made and in which nothing is in the end are taken back. Raises: as `locked`.
    """
    with made_folder(folder) as made, locked(folder):
        yield made


def is_locked(folder: Path) -> bool:
    """Tell whether a living process holds the folder. Writes nothing: the folder may be read-only."""
    try:
        descriptor = open_regular(folder / LOCK)
    except (OSError, UserError):  # no lock, or one that is not ours to look at
        return False
    try:
        owner = _owner(descriptor)
        with suppress(OSError):
            if not _flock(descriptor, exclusive=False):
                return True
        return owner is not None and owner.lives(time.time() - os.fstat(descriptor).st_mtime)
    finally:
        os.close(descriptor)


@contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Let others see that this process works by a file, as others may, too; nothing where it cannot be opened."""
    with ExitStack() as kept:
        with suppress(OSError, UserError):
            kept.callback(os.close, descriptor := open_regular(path))
            _flock(descriptor, exclusive=False)
        yield


def is_in_use(path: Path) -> bool:
    """Tell whether a living process works by a file, also where the file system cannot say it."""
    try:
        descriptor = open_regular(path)
    except (OSError, UserError):
        return False
    try:
        return os.name == "nt" or not _flock(descriptor, exclusive=True)
    except OSError:
        return True
    finally:
        os.close(descriptor)


def release(folder: Path) -> None:
    """Delete the lock of a folder that this process holds: nothing else may stay in it."""
    (folder / LOCK).unlink(missing_ok=True)


def _taken(folder: Path) -> int:
    """Return the descriptor of the lock, taken. A file that its last holder deleted meanwhile is no lock."""
    while True:
        descriptor = open_regular(folder / LOCK, _WRITING)
        try:
            _take(descriptor, folder)
            if _is_there(descriptor, folder):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_there(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(folder / LOCK))
    except FileNotFoundError:
        return False


def _take(descriptor: int, folder: Path) -> None:
    until = time.monotonic() + LOOKING
    try:
        while not _flock(descriptor, exclusive=True):
            if time.monotonic() > until:
                raise _busy(folder, _owner(descriptor))
            time.sleep(LOOKING / 50)
    except OSError as error:
        if os.environ.get(TRUST_OWNER) == "owner":
            return
        raise UserError(
            f"{printable(folder)}: its file system has no locks ({error.strerror}), so that two processes could train "
            f"one run; choose another with results_dir=PATH, or start with {TRUST_OWNER}=owner to go by the owner's "
            "heartbeat"
        ) from None


def _own(descriptor: int, folder: Path) -> None:
    """Write who holds the lock, unless somebody alive does. Raises: Busy, or NoRoom."""
    try:
        _refuse_owner(descriptor, folder)
        _write(descriptor, json.dumps(asdict(Owner.this())))
    except OSError as error:
        if is_full(error):
            release(folder)
            raise unwritable(folder / LOCK, error) from None
        raise


def _refuse_owner(descriptor: int, folder: Path) -> None:
    """Raise Busy where somebody alive holds the lock that the file system gave us as well."""
    owner = _owner(descriptor)
    if owner is not None and owner.lives(_silence(descriptor, folder)):
        raise _busy(folder, owner)


def _busy(folder: Path, owner: Owner | None) -> Busy:
    who = f" (process {owner.pid} on {printable(owner.host)})" if owner else ""
    after = "" if owner is None or owner.is_here else f"; if that is dead, try again after {SILENT:.0f} s"
    return Busy(f"{printable(folder)}: another normexp process is running this right now{who}{after}")


def _silence(descriptor: int, folder: Path) -> float:
    """Return the seconds since the owner's last sign of life, by the clock of the file system, not by ours."""
    with tempfile.TemporaryFile(dir=folder) as now:
        return os.fstat(now.fileno()).st_mtime - os.fstat(descriptor).st_mtime


def _beat(descriptor: int, ended: threading.Event) -> None:
    while not ended.wait(BEAT):
        with suppress(OSError):
            os.utime(descriptor)


def _owner(descriptor: int) -> Owner | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        said = json_object(os.read(descriptor, _MOST))
        owner = Owner(str(said["host"]), int(said["pid"]), str(said["began"]))
    except (OSError, ValueError, TypeError, KeyError, OverflowError):  # empty: freed, or older than owners
        return None
    return owner if 0 < owner.pid < _MOST_PID else None


def _write(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text.encode())
    os.utime(descriptor)


def _flock(descriptor: int, exclusive: bool) -> bool:
    """Take the lock until the file is closed; tell whether it was free. Many may share one, to look at it."""
    try:
        import fcntl
    except ImportError:  # Windows: the owner's name is all there is
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _exists(pid: int) -> bool:
    check_system()
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def _began(pid: int) -> str:
    """Return what tells a process from a later one of its number, where the system says it (Linux).

    One that has ended, and that its parent has not collected yet, is none.
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "ended" if told[0] in ENDED else told[19]
    except (OSError, IndexError):
        return ""
