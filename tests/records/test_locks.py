"""One process per run directory, where the file system helps, where it lies, and where it has no locks."""

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import pytest
from one_line import one_line_error

from normexp.errors import Busy, UserError
from normexp.records import locks
from normexp.records.locks import Owner, is_locked, locked, release

HOLD = """
import sys, pathlib
from normexp.records import locks
if sys.argv[2] == "lies":
    locks._flock = lambda descriptor, exclusive: True
with locks.locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path, flock: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder, flock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def lying(monkeypatch):
    """A mount on which every flock succeeds (NFS with nolock)."""
    monkeypatch.setattr(locks, "_flock", lambda descriptor, exclusive: True)


def test_where_flock_lies_the_owner_is_asked(tmp_path, lying):
    with holder(tmp_path, "lies") as process:
        assert is_locked(tmp_path)
        with pytest.raises(Busy, match=rf"process {process.pid} on {socket.gethostname()}"), locked(tmp_path):
            pass
        process.kill()
        process.wait()
        assert not is_locked(tmp_path)
        with locked(tmp_path):  # at once: a killed run continues
            pass


def other_machine(tmp_path: Path, silent: float) -> None:
    (tmp_path / ".lock").write_text(json.dumps({"host": "elsewhere", "pid": 1, "began": "1"}))
    now = (tmp_path / ".lock").stat().st_mtime
    os.utime(tmp_path / ".lock", (now - silent, now - silent))


def test_what_another_machine_has_taken_meanwhile_is_not_freed(tmp_path, lying):
    with locked(tmp_path):
        other_machine(tmp_path, silent=0)
    assert is_locked(tmp_path)


def test_owner_on_another_machine_counts_while_its_heart_beats(tmp_path, lying):
    other_machine(tmp_path, silent=1)
    assert is_locked(tmp_path)
    with pytest.raises(Busy, match=r"process 1 on elsewhere.*try again after 90 s"), locked(tmp_path):
        pass
    other_machine(tmp_path, silent=locks.SILENT + 1)
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert json.loads((tmp_path / ".lock").read_text()) == asdict(Owner.this())
    assert (tmp_path / ".lock").read_text() == ""


def test_number_of_a_dead_process_that_is_used_again_is_not_its_owner(tmp_path, lying):
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / ".lock").write_text(json.dumps({**asdict(Owner.this()), "pid": other.pid, "began": "long ago"}))
        with locked(tmp_path):
            pass
        other.kill()


def test_heart_beats_while_the_lock_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "BEAT", 0.01)
    beaten = threading.Event()
    monkeypatch.setattr(locks.os, "utime", lambda *_: beaten.set())
    with locked(tmp_path):
        beaten.clear()
        assert beaten.wait(20)
    assert all("_beat" not in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_file_system_without_locks_is_one_line_with_a_way_out(tmp_path, monkeypatch, code):
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        one_line_error(r"has no locks .*results_dir=PATH.*NORMEXP_LOCKS=owner"),
        locked(tmp_path),
    ):
        pass
    assert not is_locked(tmp_path)
    monkeypatch.setenv("NORMEXP_LOCKS", "owner")
    with holder(tmp_path, "lies"), pytest.raises(Busy), locked(tmp_path):
        pass


def test_lock_that_is_a_link_empties_nothing(tmp_path):
    """A planted link must not cost the user a file, nor make one."""
    run = tmp_path / "run"
    run.mkdir()
    for target in (tmp_path / "precious", tmp_path / "new"):
        (tmp_path / "precious").write_text("precious")
        (run / ".lock").symlink_to(target)
        with pytest.raises(UserError, match=r"\.lock: damaged \(it is a link\)"), locked(run):
            pass
        assert not is_locked(run)
        (run / ".lock").unlink()
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_lock_that_is_no_file_is_one_line(tmp_path, make):
    make(tmp_path / ".lock")
    with pytest.raises(UserError, match=r"\.lock: damaged"), locked(tmp_path):
        pass
    assert not is_locked(tmp_path)


def of_pid(pid: str) -> str:
    return f'{{"host": "{socket.gethostname()}", "pid": {pid}, "began": ""}}'


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"host": 1}', '{"host": "a", "pid": "x", "began": ""}', "[" * 9000,
     of_pid("0"), of_pid("-1"), of_pid("1" + 30 * "0"), of_pid("Infinity")],
)  # fmt: skip
def test_owner_that_cannot_be_read_is_none(tmp_path, content):
    """So is a number that no process has: 0 and -1 stand for several, which always live."""
    (tmp_path / ".lock").write_text(content)
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        pass


def test_deleted_lock_is_taken_anew(tmp_path, monkeypatch):
    """Two processes must never hold two files of one name."""
    taken = locks._take

    def deleted_meanwhile(descriptor: int, folder: Path) -> None:
        taken(descriptor, folder)
        monkeypatch.setattr(locks, "_take", taken)
        (folder / ".lock").unlink()

    monkeypatch.setattr(locks, "_take", deleted_meanwhile)
    with locked(tmp_path):
        assert is_locked(tmp_path)
        release(tmp_path)
    assert not (tmp_path / ".lock").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_a_killed_process_that_its_parent_has_not_collected_is_dead(tmp_path):
    """In a container nobody may ever collect it, and its run could not be continued."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        owner = Owner(socket.gethostname(), other.pid, locks._began(other.pid))
        assert owner.lives(0)
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays
        assert not owner.lives(0)
