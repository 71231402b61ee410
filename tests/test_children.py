"""Processes that the program starts: what they import, and that none is left behind."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from normexp.children import child, normexp, python

TOP = Path(__file__).parents[1]
PARENT = """
import subprocess, sys
command = [sys.executable, "-c", "print(flush=True); input()"]
below = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
below.stdout.readline()
print(below.pid, flush=True)
below.wait()
"""


@pytest.mark.parametrize("safe_path", ["", "1"])
def test_what_lies_in_the_current_folder_is_not_imported(tmp_path, safe_path):
    (tmp_path / "normexp").mkdir()
    for name in ("random.py", "normexp/__init__.py"):
        (tmp_path / name).write_text("raise SystemExit('of the current folder')")
    env = {**os.environ, "PYTHONSAFEPATH": safe_path}
    for command in (python("import random; print(random.random())"), normexp("--version")):
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_there_is_one_way_to_start_python():
    using = [path.name for path in (TOP / "normexp").rglob("*.py") if "sys.executable" in path.read_text()]
    assert using == ["children.py"]


def test_a_child_and_what_it_started_have_ended_however_we_leave():
    reading, writing = os.pipe()  # its end comes once nobody holds the other one
    streams = {"stdout": subprocess.PIPE, "stderr": writing, "text": True}
    with suppress(KeyboardInterrupt), child(python(PARENT), **streams) as process:
        os.close(writing)
        below = int(process.stdout.readline())
        assert os.getsid(process.pid) == os.getsid(below) == process.pid  # Ctrl-C in a terminal reaches neither
        raise KeyboardInterrupt
    assert process.returncode is not None
    with os.fdopen(reading) as held:
        assert held.read() == ""


def test_what_a_child_never_read_is_lost_with_it():
    with child(python("pass"), stdin=subprocess.PIPE, text=True) as process:
        process.wait()
        process.stdin.write("for nobody")
