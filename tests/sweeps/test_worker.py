"""Workers of a shared sweep: on a real folder, in this process and in processes that are killed."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from in_process import InProcess
from one_line import one_line_error
from tiny_sweeps import COMMAND, TINY, metrics, until

from normexp.errors import Interrupted, UserError
from normexp.records import RunDirectory
from normexp.sweeps import shared
from normexp.sweeps.claim_folder import ClaimFolder
from normexp.sweeps.plan import make_plan
from normexp.sweeps.protocol import TAKEN, CellState, carry_out, reopen, take
from normexp.sweeps.serve import SweepWorker
from normexp.sweeps.shared import Pace, SharedSweep, write_plan
from normexp.sweeps.workers import KeptWorkers, worker_pool

FAST = Pace(heartbeat=0.1, takeover=1.0)


def planned(results: Path, *overrides: str, pace: Pace = FAST) -> SharedSweep:
    last = {word.partition("=")[0]: word for word in (*TINY, f"results_dir={results}", *overrides)}
    return write_plan(make_plan(list(last.values())).cells, results, pace)


def ends(sweep: SharedSweep) -> list[str | None]:
    return [state.end for block in sweep.blocks for state in sweep.states(block).values()]


# --- The plan. ---

PLANNED = {"version": 1, "heartbeat": 10, "takeover": 90, "own_results": True, "common": [], "cells": [["runs/a", []]]}


def plan_of(folder: Path, data: bytes) -> dict[str, object]:
    (folder / "plan.json.gz").write_bytes(data)
    return SharedSweep(folder).plan


def test_a_plan_with_a_bit_flipped_is_damaged_in_one_line(tmp_path):
    data = gzip.compress(json.dumps(PLANNED).encode(), mtime=0)
    assert plan_of(tmp_path, data) == PLANNED
    for at in range(10, len(data) - 9):  # behind the header; the last byte before the checksum has bits without meaning
        with one_line_error("plan.json.gz: damaged; delete it"):
            plan_of(tmp_path, data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])


@pytest.mark.parametrize(
    ("key", "value"),
    [("cells", None), ("cells", [5]), ("cells", [["runs/a"]]), ("cells", [["runs/a", [5]]]), ("common", "norm=batch"),
     ("cells", [["../a", []]]), ("cells", [["/a", []]]), ("heartbeat", "soon"), ("takeover", None)],
)  # fmt: skip
def test_a_plan_of_another_form_is_damaged(tmp_path, key, value):
    with one_line_error("plan.json.gz: damaged; delete it"):
        plan_of(tmp_path, gzip.compress(json.dumps({**PLANNED, key: value}).encode()))
    without = {name: each for name, each in PLANNED.items() if name != key}
    with one_line_error("plan.json.gz: damaged; delete it"):
        plan_of(tmp_path, gzip.compress(json.dumps(without).encode()))


def test_a_plan_is_unpacked_within_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(shared, "MOST_PLAN", 1000)
    with one_line_error("plan.json.gz: damaged; delete it"):
        plan_of(tmp_path, gzip.compress(json.dumps({**PLANNED, "common": ["x" * 2000]}).encode()))


# --- The folder. ---


def test_claim_folder_makes_a_name_once_and_whole(tmp_path):
    folder = ClaimFolder(tmp_path)
    assert folder.create("5.1", "a 1")
    assert not folder.create("5.1", "b 1")
    assert folder.read("5.1") == "a 1"
    assert folder.create("5.1", "a 1")  # an answer that was lost on its way: asked again, it is still ours
    assert folder.create("300.1", "a 2")
    assert (folder.claims(0), folder.claims(1), folder.claims(2)) == (["5.1"], ["300.1"], [])
    folder.replace("5.1", TAKEN)
    assert (folder.read("5.1"), folder.read("6.1")) == (TAKEN, None)
    assert not list(tmp_path.rglob(".*"))


def test_claim_folder_without_links_creates_exclusively(tmp_path, monkeypatch):
    def link(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", link)
    folder = ClaimFolder(tmp_path)
    assert folder.create("5.1", "a 1")
    assert not folder.create("5.1", "b 1")


def test_plan_is_small_and_knows_no_absolute_path(results, tmp_path):
    sweep = planned(results, "seed=range(40)")
    assert (len(sweep), sweep.pace) == (40, FAST)
    assert str(tmp_path) not in str(sweep.plan)
    assert planned(results, "seed=range(40)", pace=Pace(5, 50)).pace == FAST  # who was first sets the pace
    moved = tmp_path / "moved"
    results.rename(moved)
    again = SharedSweep(moved / ".sweeps" / sweep.path.name)
    assert f"results_dir={moved}" in again.cell(3).overrides
    assert again.directory(3).parent == moved / "runs"


@pytest.mark.parametrize(
    ("here", "named"), [("r", ".sweeps/ID"), ("r/.sweeps", "ID"), ("r/.sweeps/ID", "."), ("r/.sweeps/ID/claims", "..")]
)
def test_a_sweep_knows_its_results_from_wherever_it_is_named(tmp_path, monkeypatch, here, named):
    (tmp_path / "r/.sweeps/ID/claims").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / here)
    assert SharedSweep(Path(named)).results.resolve() == tmp_path / "r"


@pytest.mark.parametrize(("content", "message"), [(None, "sees no plan"), (b"x", "damaged"), (b"\x1f\x8b", "damaged")])
def test_worker_that_sees_no_plan_says_so(cli, results, content, message):
    sweep = planned(results, "seed=0")
    (sweep.path / "plan.json.gz").unlink()
    if content is not None:
        (sweep.path / "plan.json.gz").write_bytes(content)
    status, _, stderr = cli("worker", sweep.path)
    assert (status, stderr.count("\n")) == (2, 1)
    assert message in stderr


# --- One worker, in this process. ---


@pytest.fixture
def serial(cli, tmp_path, workers_here) -> Callable[..., dict[str, bytes]]:
    """Return the curves of a sweep that was never shared."""

    def train(*overrides: str) -> dict[str, bytes]:
        assert cli("sweep", *TINY, f"results_dir={tmp_path / 'serial'}", "jobs=1", *overrides)[0] == 0
        return metrics(tmp_path / "serial")

    return train


def test_worker_trains_every_cell_to_the_bytes_of_a_sweep(results, serial):
    sweep = planned(results, "norm=none,batch", "seed=0,1")
    assert SweepWorker(sweep, InProcess(1)).serve() == 4
    assert ends(sweep) == ["done"] * 4
    assert metrics(results) == serial("norm=none,batch", "seed=0,1")
    assert sweep.folder.workers() == []


def test_worker_marks_what_is_done_already_without_training(results):
    sweep = planned(results, "seed=0,1")
    SweepWorker(sweep, InProcess(1)).serve()
    for name in sweep.folder.claims(0):
        (sweep.path / "claims" / "00000" / name).unlink()
    sleeping = InProcess(1)
    sleeping.request = lambda *_: pytest.fail("trained")  # type: ignore[method-assign]
    SweepWorker(sweep, sleeping).serve()
    assert ends(sweep) == ["done"] * 2


def test_worker_leaves_a_failed_cell_until_it_is_to_be_tried_again(results, monkeypatch):
    sweep = planned(results, "seed=0,1")
    with monkeypatch.context() as patch:
        patch.setattr(InProcess, "request", lambda *_: {"status": "failed", "cause": "no memory"})
        assert SweepWorker(sweep, InProcess(1)).serve() == 0
    assert ends(sweep) == ["failed"] * 2
    assert sweep.folder.read("0.1.failed") == "no memory"
    assert RunDirectory(sweep.directory(0)).status == {"status": "failed", "cause": "no memory"}
    assert SweepWorker(sweep, InProcess(1)).serve() == 0
    assert sweep.retry_failed(set()) == 2
    assert SweepWorker(sweep, InProcess(1)).serve() == 2
    assert ends(sweep) == ["done"] * 2


def test_worker_takes_over_from_the_dead_and_leaves_the_living_alone(results):
    sweep = planned(results, "seed=0,1")
    carry_out(take(0, CellState(), "dead", 1), sweep.folder)
    worker = SweepWorker(sweep, InProcess(1))
    began = time.monotonic()
    assert worker.serve() == 2
    assert time.monotonic() - began >= FAST.takeover
    assert (sweep.folder.read("0.1"), sweep.states(0)[0].generation) == (TAKEN, 2)


def test_worker_that_is_stopped_leaves_its_cell_to_others(results, monkeypatch):
    sweep = planned(results, "seed=0,1")
    worker = SweepWorker(sweep, InProcess(1))

    def request(*_: object) -> dict[str, object]:
        worker.stop()
        raise Interrupted("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(InProcess, "request", request)
        with pytest.raises(Interrupted):
            worker.serve()
    assert [state.is_free for state in sweep.states(0).values()] == [True, True]
    assert SweepWorker(sweep, InProcess(1)).serve() == 2


def test_worker_leaves_a_cell_alone_that_somebody_outside_trains(results):
    sweep = planned(results, "seed=0")
    sweep.directory(0).mkdir(parents=True)
    worker = SweepWorker(sweep, InProcess(1))
    with RunDirectory(sweep.directory(0)).lock():
        assert next(worker._claims_of(0), None) is None
    assert worker.serve() == 1


@pytest.mark.parametrize("at", range(1, 12))
def test_nothing_is_written_once_the_cell_is_taken_over(results, monkeypatch, at):
    """Whatever file it is that would be written next: the worker stops, and the run stays as it was."""
    sweep = planned(results, "seed=0")
    worker, written = SweepWorker(sweep, InProcess(1)), []

    def check() -> None:
        written.append(files(sweep.directory(0)))
        if len(written) == at:
            sweep.folder.replace("0.1", TAKEN)
            carry_out(take(0, sweep.states(0)[0], "thief", 1), sweep.folder)
        genuine()

    import normexp.records.fences as fences

    genuine = fences.check_fence
    for module in ("files", "curve_file"):
        monkeypatch.setattr(f"normexp.records.{module}.check_fence", check)
    (claim,) = list(worker._claims_of(0))[:1]
    assert not worker.train(claim)
    assert files(sweep.directory(0)) == written[at - 1]
    assert sweep.states(0)[0] == CellState(2)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


# --- Several processes, killed. ---

LONG = ("model=mlp", "norm=batch", "steps=900", "eval_every=150", "batch_size=64")


def start(sweep: SharedSweep) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMMAND, "worker", str(sweep.path)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.slow
def test_workers_one_killed_one_stopped_end_in_the_same_bytes(results, serial):
    """Killed: its cell is taken over. Told to stop: it saves and opens its cell. The last one does what is left."""
    sweep = planned(results, *LONG, "seed=range(5)", pace=Pace(0.2, 2.0))
    with ExitStack() as stack:
        workers = [start(sweep) for _ in range(3)]
        for worker in workers:
            stack.callback(worker.kill)
        until(lambda: len([name for name in sweep.folder.claims(0) if name.count(".") == 1]) >= 3)
        until(lambda: len(list(results.glob("runs/*/metrics.csv"))) >= 3)
        workers[0].kill()
        workers[1].send_signal(signal.SIGTERM)
        _, stderr = workers[1].communicate(timeout=120)
        assert workers[1].returncode == 130, stderr
        _, stderr = workers[2].communicate(timeout=300)
        assert workers[2].returncode == 0, stderr
        workers[0].communicate()
    assert ends(sweep) == ["done"] * 5
    assert metrics(results) == serial(*LONG, "seed=range(5)")


@pytest.mark.slow
def test_worker_that_stood_still_finds_its_cell_taken(results, serial):
    """Where `flock` is honest its cell waits for it; it stops at its next write, and another ends the run."""
    sweep = planned(results, *LONG, "seed=0", pace=Pace(0.2, 2.0))
    first = start(sweep)
    try:
        until(lambda: len(list(results.glob("runs/*/metrics.csv"))) == 1)
        os.kill(first.pid, signal.SIGSTOP)  # its heartbeat stops; what trains below it goes on
        carry_out(take(0, sweep.states(0)[0], "somebody", 1), sweep.folder)
        carry_out(reopen(0, 2), sweep.folder)
        until(lambda: not RunDirectory(sweep.directory(0)).is_locked())
        assert RunDirectory(sweep.directory(0)).status["status"] == "running"
        with start(sweep) as second:
            _, stderr = second.communicate(timeout=300)
        assert second.returncode == 0, stderr
        os.kill(first.pid, signal.SIGCONT)
        _, stderr = first.communicate(timeout=120)
    finally:
        first.kill()
    assert "taken" in stderr
    assert metrics(results) == serial(*LONG, "seed=0")


def test_plan_of_another_version_is_refused(results, monkeypatch):
    monkeypatch.setattr("normexp.sweeps.shared.VERSION", 99)
    sweep = planned(results, "seed=0")
    monkeypatch.undo()
    with pytest.raises(UserError, match="another version"):
        _ = SharedSweep(sweep.path).plan


def test_kept_workers_come_back_in_their_order():
    """The first is asked how long the runs take, and need not measure again what it has measured."""
    kept = KeptWorkers()
    with worker_pool(2, 2, kept) as workers:
        first = list(workers)
    with worker_pool(2, 2, kept) as workers:
        assert workers == first
