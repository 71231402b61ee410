"""Folders and files that are somebody else's: one line that names them, exit status 2.

The administrator may read everything, so the commands run without that right, on what belongs to another user.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from normexp.errors import UserError

RIGHTS = "-dac_override,-dac_read_search"
WITHOUT = ["setpriv", "--bounding-set", RIGHTS, "--inh-caps", RIGHTS]
VERBS = """
import json, sys
from normexp.cli.verbs import main
for words in json.load(sys.stdin):
    print(json.dumps(words), file=sys.stderr)
    print("status", main(words), file=sys.stderr, flush=True)
"""
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
        if not shutil.which("setpriv"):
            pytest.skip("no setpriv to do without the administrator's rights")
        os.chown(place, 54321, 54321)
    place.chmod(0o700 if os.getuid() == 0 else 0)
    yield place
    place.chmod(0o700)


def test_what_may_not_be_read_is_one_line(closed, tmp_path):
    words = [command.replace("PLACE", str(closed)).split() for command in COMMANDS]
    command = [*(WITHOUT if os.getuid() == 0 else []), sys.executable, "-c", VERBS]
    done = subprocess.run(command, cwd=tmp_path, input=json.dumps(words), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    blocks = done.stderr.split("\nstatus ")
    assert len(blocks) == len(COMMANDS) + 1
    for number, typed in enumerate(COMMANDS):
        said = blocks[number].splitlines()[1 if number == 0 else 2 :]
        assert [line.startswith("normexp: ") for line in said] == [True], (typed, said)
        assert "failed" not in said[0], (typed, said)
        assert "closed" in said[0], (typed, said)
        assert blocks[number + 1].startswith("2"), (typed, said)
    assert done.stdout == ""


def test_a_current_folder_that_is_gone_is_one_line(tmp_path, monkeypatch):
    from normexp.config.compose import _usual

    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(UserError, match=r"^the current folder does not exist any more; change to another one$"):
        _usual.__wrapped__()
