"""One file from the network: mirrors in turn, checksum verified, complete or not there at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from normexp.data.cache import part_path, set_aside, unwritable
from normexp.data.progress import byte_bar, warn
from normexp.errors import UserError

TIMEOUT = 10.0  # seconds without a single byte, and the time a server has to become fast enough
SLOWEST = 1024  # bytes per second below which a server counts as gone
LARGEST = 2**30  # bytes; no file of ours is larger, so an endless answer must not fill the disk
CHUNK = 2**16


@dataclass(frozen=True)
class Remote:
    """A file to download: its name, the addresses that offer it, in order, and its checksum as published.

    Args:
        sha256: given where that is what was published; then there is no MD5.
    """

    name: str
    urls: tuple[str, ...]
    md5: str = ""
    sha256: str = ""

    @property
    def checksum(self) -> str:
        return self.sha256 or self.md5

    @property
    def kind(self) -> str:
        """The checksum's kind, as errors print it."""
        return "SHA-256" if self.sha256 else "MD5"

    def new_digest(self) -> Any:
        return hashlib.sha256() if self.sha256 else _md5()


class _Failed(Exception):
    """One address did not deliver; the next may."""


def fetch(remote: Remote, folder: Path, timeout: float = TIMEOUT) -> Path:
    """Return the path of `remote` in `folder`, downloaded unless a good copy is there.

    Raises UserError, naming every address tried and what went wrong with it.
    """
    target = folder / remote.name
    if _already_there(target, remote):
        return target
    problems = []
    for url in remote.urls:
        try:
            _download(url, remote, target, timeout)
        except _Failed as problem:
            problems.append(f"{url}: {problem}")
        else:
            return target
    raise UserError(
        f"cannot download {remote.name} ({'; '.join(problems)}); nothing half-written was kept: "
        "try again, or give a copy of your own with dataset.archive=PATH"
    )


def md5_of(path: Path) -> str:
    """Return the MD5 of a file. It guards against damage; that is all the publishers offer."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, _md5).hexdigest()


def _md5() -> Any:
    return hashlib.md5(usedforsecurity=False)


def _already_there(target: Path, remote: Remote) -> bool:
    if not target.is_file():
        return False
    with target.open("rb") as file:
        found = hashlib.file_digest(file, remote.new_digest).hexdigest()
    if found == remote.checksum:
        return True
    aside = set_aside(target)
    name = f" (set aside as {aside.name})" if aside else ""
    warn(f"{target} is damaged{name}: {remote.kind} {found}, expected {remote.checksum}; downloading it again")
    return False


def _download(url: str, remote: Remote, target: Path, timeout: float) -> None:
    """Write `url` to a temporary file, verify it, rename it. Raises _Failed; leaves nothing behind then."""
    part, file = _open_part(target)
    try:
        with file:
            found = _copy(url, file, remote, timeout)
        if found != remote.checksum:
            raise _Failed(f"{remote.kind} {found}, expected {remote.checksum}")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _open_part(target: Path) -> tuple[Path, IO[bytes]]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = part_path(target)
        return part, part.open("xb")
    except OSError as error:
        raise unwritable(target.parent, error) from None


def _copy(url: str, file: IO[bytes], remote: Remote, timeout: float) -> str:
    """Copy the body of `url` to `file`; return its checksum. Every way a network fails becomes _Failed."""
    request = urllib.request.Request(url, headers={"User-Agent": "normexp"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return _copy_body(response, file, remote, timeout)
    except urllib.error.HTTPError as error:
        error.close()
        raise _Failed(f"HTTP {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise _Failed(f"no connection, {_reason(error.reason)}") from None
    except (OSError, http.client.HTTPException) as error:  # OSError covers time-outs and resets
        raise _Failed(_reason(error)) from None


def _copy_body(response: http.client.HTTPResponse, file: IO[bytes], remote: Remote, timeout: float) -> str:
    expected, done, digest = response.length, 0, remote.new_digest()
    with byte_bar(expected, remote.name) as bar:
        for chunk in _chunks(response.read1, timeout):
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            bar.update(len(chunk))
    if expected is not None and done != expected:
        raise _Failed(f"{done} bytes arrived, expected {expected}")
    file.flush()
    os.fsync(file.fileno())
    return str(digest.hexdigest())


def _chunks(read: Callable[[int], bytes], timeout: float) -> Iterator[bytes]:
    """Yield what arrives, as it arrives, for as long as it arrives fast enough."""
    start, done = time.monotonic(), 0
    while chunk := read(CHUNK):
        yield chunk
        done += len(chunk)
        seconds = time.monotonic() - start
        if seconds > timeout and done < SLOWEST * seconds:
            raise _Failed(f"slower than {SLOWEST} bytes per second")
        if done > LARGEST:
            raise _Failed(f"more than {LARGEST} bytes")


def _reason(error: object) -> str:
    """Say in one line what went wrong, without the number of the system's error."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())
