"""Folders and files that are somebody else's: one line that names them, exit status 2.

The administrator may read everything, so the commands run without that right, on what belongs to another user.
"""

import ctypes
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from normexp.config.compose import compose
from normexp.errors import UserError

RIGHTS = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3: (effective, permitted, inheritable), twice
COMMANDS = [
    "run model=linear steps=1 results_dir=PLACE", "sweep model=linear seed=1,2 results_dir=PLACE", "status PLACE",
    "table PLACE", "plot PLACE", "best PLACE", "claims results_dir=PLACE/inside", "report results_dir=PLACE",
    "verify records PLACE", "merge PLACE/inside PLACE", "diff PLACE PLACE", "run --like PLACE",
    "run --config PLACE/settings.yaml", "reproduce covariate_shift scale=smoke results_dir=PLACE",
    "run dataset=csv dataset.file=PLACE/a.csv dataset.target=a model=mlp",
    "run dataset=image_folder dataset.path=PLACE",
    "run dataset=cifar10 dataset.archive=PLACE/cifar.tar.gz", "run dataset=text dataset.file=PLACE/a.txt model=gpt",
]  # fmt: skip


@pytest.fixture
def closed(tmp_path: Path):
    """A folder that its owner alone may enter, and it is not ours. Skips where that cannot be made."""
    place = tmp_path / "closed"
    (place / "inside").mkdir(parents=True)
    for name in ("settings.yaml", "a.csv", "a.txt"):
        (place / name).write_text("seed: 1\n")
    if os.getuid() == 0:
        os.chown(place, 54321, 54321)
    place.chmod(0o700 if os.getuid() == 0 else 0)
    yield place
    place.chmod(0o700)


@contextmanager
def without_rights() -> Iterator[None]:
    """Do without the administrator's right to open everything, in this thread. Skips where that cannot be asked."""
    calls = ctypes.CDLL(None, use_errno=True)
    if not hasattr(calls, "capset"):
        pytest.skip("no Linux, where a thread may give up rights")
    thread, rights = (ctypes.c_uint32 * 2)(VERSION, 0), (ctypes.c_uint32 * 6)()
    assert calls.capget(thread, rights) == 0, os.strerror(ctypes.get_errno())
    before, rights[0] = rights[0], rights[0] & ~RIGHTS
    assert calls.capset(thread, rights) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        rights[0] = before
        assert calls.capset(thread, rights) == 0, os.strerror(ctypes.get_errno())


def test_what_may_not_be_read_is_one_line(closed, tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    for typed in COMMANDS:
        with without_rights():
            status, stdout, stderr = cli(*typed.replace("PLACE", str(closed)).split())
        said = stderr.splitlines()
        assert [line.startswith("normexp: ") for line in said] == [True], (typed, said)
        assert "failed" not in said[0], (typed, said)
        assert "closed" in said[0], (typed, said)
        assert (status, stdout) == (2, ""), typed


def test_no_folder_for_temporary_files_is_one_line(tmp_path, monkeypatch, cli):
    def nowhere(**_: str) -> NoReturn:
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
            tempfile._get_default_tempdir()
        raise AssertionError

    monkeypatch.setattr(tempfile, "TemporaryDirectory", nowhere)
    status, _, stderr = cli("verify", "resume", "--kills", "1", "model=linear", "steps=2")
    assert status == 2
    assert stderr == "normexp: no folder takes temporary files; set TMPDIR to one that can be written\n"


@pytest.mark.parametrize("words", [["diagnose", "a:b"], ["bench", "start"], ["new", "experiment", "x"], ["table", "x"]])
def test_a_verb_in_a_current_folder_that_is_gone_is_one_line(cli, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    status, _, stderr = cli(*words)
    assert (status, stderr) == (2, "normexp: the current folder does not exist any more; change to another one\n")


def test_a_current_folder_that_is_gone_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(UserError, match=r"^the current folder does not exist any more; change to another one$"):
        compose()
