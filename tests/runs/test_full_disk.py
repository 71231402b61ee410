"""A full disk: one line that names the file, nothing damaged, and the same command goes on once there is room."""

import errno
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import pytest
from one_line import one_line_error

from normexp.cli.verbs import main
from normexp.config import compose
from normexp.config.recipe import with_recipe
from normexp.errors import NoRoom, UserError
from normexp.records import CHECKPOINT, METRICS, PROBES, CurveFile, RunDirectory, find_runs
from normexp.runs.run import run
from normexp.sweeps.claim_folder import ClaimFolder
from normexp.sweeps.plan import make_plan
from normexp.sweeps.shared import Pace, write_plan

TINY = ("model=mlp", "model.widths=[64]", "batch_size=32", "steps=20", "eval_every=5", "probe=moments", "threads=1")
SAME = (METRICS, PROBES, CHECKPOINT)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes: it is told what it is told on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    """The outcome of TINY with room enough."""
    results = tmp_path_factory.mktemp("whole")
    assert main(["run", *TINY, f"results_dir={results}", "--quiet"]) == 0
    return outcome(results)


def outcome(results: Path) -> dict[str, bytes]:
    (run,) = find_runs([results])
    return {name: (run.path / name).read_bytes() for name in SAME}


@pytest.mark.parametrize(
    ("room", "file"), [(0, ".lock"), (20, "status.json"), (700, "config.yaml"), (10_000, CHECKPOINT)]
)
def test_run_without_room_is_one_line_and_continues(results, whole, cli, room, file):
    refused = one_line_error(rf"{file}: cannot be written \(File too large\); once there is room")
    with largest_file(room), refused:
        run(compose(with_recipe([*TINY, f"results_dir={results}"])))
    assert results.exists() == (file == CHECKPOINT)  # what has not trained leaves nothing
    status, _, stderr = cli("run", *TINY, f"results_dir={results}", "--quiet")
    assert status == 0, stderr
    assert outcome(results) == whole


def test_a_skeleton_without_room_is_one_line_and_leaves_no_half(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    with largest_file(400):  # more than the line, less than the skeleton
        status, _, stderr = cli("new", "experiment", "mine")
    assert (status, stderr.count("\n")) == (2, 1)
    assert stderr.startswith("normexp: mine.yaml: cannot be written (File too large); once there is room")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not say which file is written")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_is_full_when_curves_are_flushed_is_one_line(results, whole, monkeypatch, cli, number):
    """As on a network's file system, which takes what is written and has no room for it later."""

    def flushed(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(PROBES):
            raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", flushed)
        with one_line_error(rf"{PROBES}: cannot be written \({os.strerror(number)}\); once there is room", NoRoom):
            run(compose(with_recipe([*TINY, f"results_dir={results}"])))
    assert cli("run", *TINY, f"results_dir={results}", "--quiet")[0] == 0
    assert outcome(results) == whole


@pytest.mark.parametrize("words", [["norm=none,batch"], ["sampler=random", "trials=2", "optim.lr=interval(0.01,0.1)"]])
@pytest.mark.parametrize("room", [0, 700])
def test_sweep_without_room_leaves_no_half_of_a_run(results, caplog, workers_here, monkeypatch, words, room):
    """What fails for want of room is told, and is no record of a run: there is nothing to continue."""
    monkeypatch.setattr("normexp.sweeps.sweep.remembered", lambda plan: nullcontext())
    with largest_file(room):
        assert main(["sweep", *TINY, *words, "jobs=1", f"results_dir={results}"]) == 1
    assert "cannot be written (File too large); once there is room, the same command goes on" in caplog.text
    assert not results.exists()


def test_claims_without_room_are_one_line_and_leave_nothing(tmp_path, monkeypatch):
    folder = ClaimFolder(tmp_path)
    folder.create("5.1", "a 1")

    def write_all() -> None:
        with largest_file(0):
            for write, name in ((folder.create, "6.1"), (folder.replace, "5.1")):
                with one_line_error(r"claims/00000: cannot be written \(File too large\); once there is room", NoRoom):
                    write(name, "a 2")
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["5.1"]
        assert folder.read("5.1") == "a 1"

    write_all()
    with ExitStack() as full:

        def link(*_: object) -> None:
            full.enter_context(largest_file(0))  # after the temporary file
            raise PermissionError("no links here")

        monkeypatch.setattr(os, "link", link)
        with one_line_error(r"claims/00000: cannot be written", NoRoom):
            folder.create("6.1", "a 2")
    write_all()


@pytest.mark.slow
@pytest.mark.usefixtures("whole")  # libraries that write when they are loaded are
def test_shared_sweep_without_room_says_so_of_the_runs_that_nobody_trains(results, caplog, monkeypatch):
    """Nor can its workers say it: their log is on the same disk."""
    monkeypatch.setattr("normexp.sweeps.sweep.remembered", lambda plan: nullcontext())
    words = [*TINY, "norm=none,batch", "recipe=none", f"results_dir={results}"]
    write_plan(make_plan(words).cells, results, Pace(0.2, 1.0))
    with largest_file(0):
        assert main(["sweep", *words, "executor=local", "executor.workers=1"]) == 1
    said = r"no worker is left: \S+: cannot be written \(File too large\); once there is room, the same command goes on"
    assert len(re.findall(said, caplog.text)) == 2
    assert sorted(path.name for path in results.rglob("*") if path.is_file()) == ["plan.json.gz", "workers.log"]


def test_rows_without_room_are_one_line_and_no_damage(tmp_path):
    curve = CurveFile(tmp_path / METRICS, ["step", "test/loss"])
    curve.start(-1)
    for step in (0, 1):
        curve.append({"step": step, "test/loss": 0.123456789})
    with largest_file(50), pytest.raises(UserError, match=r"metrics\.csv: cannot be written \(File too large\)"):
        curve.append({"step": 2, "test/loss": 0.123456789})
    assert not (tmp_path / METRICS).read_text().endswith("\n")
    assert [row["step"] for row in RunDirectory(tmp_path).rows(METRICS)] == ["0", "1"]
    curve.start(1)
    curve.append({"step": 2, "test/loss": 0.5})
    assert [row["step"] for row in RunDirectory(tmp_path).rows(METRICS)] == ["0", "1", "2"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB. Skips where none may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    if (
        not shutil.which("mount")
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True).returncode
    ):
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.slow
def test_sweep_on_a_full_disk_continues_once_there_is_room(small_disk, tmp_path, cli):
    grid = ("sweep", *TINY, "norm=none,batch,layer", "jobs=1")
    assert cli(*grid, f"results_dir={tmp_path / 'whole'}")[0] == 0
    status, _, stderr = cli(*grid, f"results_dir={small_disk / 'results'}")
    assert status == 1
    assert "No space left on device" in stderr
    assert cli("status", small_disk)[0] == 0
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    assert cli(*grid, f"results_dir={small_disk / 'results'}")[0] == 0
    for made in find_runs([tmp_path / "whole"]):
        for name in SAME:
            assert (small_disk / "results" / "runs" / made.path.name / name).read_bytes() == made.read(name), (
                made.path.name
            )
