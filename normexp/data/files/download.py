"""One file from the network: mirrors in turn, checksum verified, complete or not there at all."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

from normexp.data.files.cache import part_path, set_aside, unwritable
from normexp.data.files.progress import byte_bar, logger
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
        key: which key takes a copy of one's own instead.
    """

    name: str
    urls: tuple[str, ...]
    md5: str = ""
    sha256: str = ""
    key: str = "dataset.archive"

    @property
    def checksum(self) -> str:
        return self.sha256 or self.md5

    @property
    def kind(self) -> str:
        """The checksum's kind, as errors print it."""
        return "SHA-256" if self.sha256 else "MD5"

    def checksum_of(self, path: Path) -> str:
        """Return the checksum of a file, of the published kind."""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256" if self.sha256 else "md5").hexdigest()


class _Failed(Exception):
    """One address did not deliver; the next may."""


def fetch(remote: Remote, folder: Path) -> Path:
    """Return the path of `remote` in `folder`, downloaded unless a good copy is there.

    Raises UserError, naming every address tried and what went wrong with it.
    """
    target = folder / remote.name
    if _already_there(target, remote):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    problems = []
    for url in remote.urls:
        try:
            _download(url, remote, target)
        except _Failed as problem:
            problems.append(f"{url}: {problem}")
        else:
            return target
    raise UserError(
        f"cannot download {remote.name} ({'; '.join(problems)}); no partial file was left: "
        f"try again, or give a copy of your own with {remote.key}=PATH"
    )


def _already_there(target: Path, remote: Remote) -> bool:
    if not target.is_file():
        return False
    found = remote.checksum_of(target)
    if found == remote.checksum:
        return True
    aside = set_aside(target)
    name = f" (set aside as {aside.name})" if aside else ""
    logger.warning(
        f"{target} is damaged{name}: {remote.kind} {found}, expected {remote.checksum}; downloading it again"
    )
    return False


def _download(url: str, remote: Remote, target: Path) -> None:
    """Write what `url` sends under a temporary name, verify and rename it. Raises _Failed, and leaves nothing then."""
    from requests import ConnectionError, HTTPError, RequestException, Timeout
    from urllib3.exceptions import HTTPError as BrokenOff
    from urllib3.exceptions import ReadTimeoutError

    part = part_path(target)
    try:
        _copy(url, part, remote.name)
        if (found := remote.checksum_of(part)) != remote.checksum:
            raise _Failed(f"{remote.kind} {found}, expected {remote.checksum}")
        part.replace(target)
    except HTTPError as error:
        raise _Failed(str(error).partition(" for url")[0]) from None
    except (Timeout, ReadTimeoutError):
        raise _Failed("no answer in time") from None
    except ConnectionError:
        raise _Failed("no connection") from None
    except BrokenOff as error:
        raise _Failed(" ".join(str(error.args[0]).split())) from None
    except (RequestException, OSError) as error:
        raise _Failed(" ".join(str(error).split())) from None
    finally:
        part.unlink(missing_ok=True)  # there only where something failed


def _copy(url: str, target: Path, label: str) -> None:
    """Write what `url` sends, as it comes. Raises _Failed for a server that is too slow, or has no end."""
    import requests

    began, done = time.monotonic(), 0
    with requests.get(url, stream=True, timeout=TIMEOUT) as response, target.open("wb") as file:
        response.raise_for_status()
        length = response.headers.get("Content-Length", "")
        with byte_bar(int(length) if length.isdecimal() else None, label) as bar:
            while chunk := response.raw.read1(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
                done += len(chunk)
                seconds = time.monotonic() - began
                if seconds > TIMEOUT and done < SLOWEST * seconds:
                    raise _Failed(f"slower than {SLOWEST} bytes per second")
                if done > LARGEST:
                    raise _Failed(f"more than {LARGEST} bytes")
