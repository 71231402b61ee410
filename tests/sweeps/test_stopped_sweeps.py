"""A sweep that is stopped, and its workers."""

import os
import signal
import subprocess
import sys
import time

import pytest
from in_process import InProcess

from normexp.errors import Interrupted
from normexp.records import find_runs
from normexp.sweeps.pool import STOPPED, UNBEGUN, Worker, stops_between_runs
from normexp.sweeps.workers import KeptWorkers, worker_pool

# --- Stopped. ---


@pytest.mark.parametrize(("verb", "said"), [("check", UNBEGUN), ("estimate", UNBEGUN), ("train", STOPPED)])
def test_sweep_stopped_says_that_the_same_command_continues(sweep, monkeypatch, verb, said):
    """During the estimate, what was running was said to be saved: nothing was."""

    def request(worker: InProcess, message: dict[str, object], *_: object) -> dict[str, object]:
        if message["verb"] == verb:
            worker.stop()
            raise Interrupted(STOPPED)
        return {"status": "done", "seconds": 1.0}

    monkeypatch.setattr(InProcess, "request", request)
    for argument in ("seed=0,1", "seed=range(3)"):
        status, stderr = sweep(argument)
        assert (status, stderr.splitlines()[-1]) == (130, f"normexp: {said}")
    assert "the same command continues" in said
    assert ("saved" in said) == (verb == "train")


def test_stop_says_so_where_the_clean_up_of_a_library_fails():
    """As OmegaConf's does in the midst of a copy; a fault of its own stays one."""

    def copy(stopped: bool) -> None:
        try:
            if stopped:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(5)
        finally:
            raise AttributeError

    with pytest.raises(Interrupted, match=STOPPED), stops_between_runs():
        copy(stopped=True)
    with pytest.raises(AttributeError), stops_between_runs():
        copy(stopped=False)


def test_sweep_stopped_goes_to_no_other_cell(sweep, monkeypatch):
    asked = []

    def request(worker: InProcess, message: dict[str, object], *_: object) -> dict[str, object]:
        asked.append(message["verb"])
        if message["verb"] == "train":
            worker.stop()
        return {"status": "done", "seconds": 1.0}

    monkeypatch.setattr(InProcess, "request", request)
    status, stderr = sweep("seed=range(5)")
    assert (status, asked) == (130, ["check", "estimate", "train"])
    assert "[1/5] done" in stderr  # it was at its end: that counts


def test_worker_told_to_stop_starts_nothing(monkeypatch):
    worker = Worker(1)
    worker.stop()
    monkeypatch.setattr(worker, "_start", lambda: pytest.fail("started"))
    with pytest.raises(Interrupted):
        worker.request({})


def test_worker_told_to_stop_while_it_starts_does_stop():
    class Slow(Worker):
        def _start(self) -> subprocess.Popen[str]:
            self.stop()  # finds no process yet
            command = [sys.executable, "-c", "import time; time.sleep(60)"]
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    began = time.monotonic()
    with pytest.raises(Interrupted):
        Slow(1).request({})
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("cells", [1, 3, 100])
def test_workers_have_threads_by_the_jobs_not_by_the_cells_that_are_left(monkeypatch, cells):
    """The last cell of a sweep, continued alone, must end in the bytes that it would have ended in beside others."""
    monkeypatch.setattr("normexp.sweeps.workers.physical_cores", lambda: 8)
    with worker_pool(jobs=4, cells=cells) as workers:
        assert [worker.threads for worker in workers] == [2] * min(cells, 4)


@pytest.mark.parametrize(("gpus", "expected"), [(0, [2] * 4), (1, [8])])
def test_workers_without_a_number_of_jobs(workers_here, monkeypatch, gpus, expected):
    monkeypatch.setattr("normexp.sweeps.workers.physical_cores", lambda: 8)
    monkeypatch.setattr("torch.accelerator.is_available", lambda: bool(gpus))
    monkeypatch.setattr("torch.accelerator.device_count", lambda: gpus)
    with worker_pool(jobs=None, cells=9) as workers:
        assert [worker.threads for worker in workers] == expected


def test_workers_are_kept_for_the_next_plan_of_the_same_threads(monkeypatch):
    monkeypatch.setattr("normexp.sweeps.workers.physical_cores", lambda: 4)
    kept, closed = KeptWorkers(), []
    monkeypatch.setattr(Worker, "close", lambda worker: closed.append(worker))
    with worker_pool(2, 9, kept) as first:
        two = list(first)
    with worker_pool(4, 2, kept) as others:  # with one thread each
        assert not set(others) & set(two)
    with worker_pool(2, 1, kept) as again:
        assert set(again) < set(two)
    assert closed == []
    kept.close()
    assert set(two) < set(closed)
    assert len(closed) == 4


def test_sweep_stopped_before_its_workers_are_there_trains_nothing(sweep, results, monkeypatch):
    """As while the cores are counted; a batch system sends SIGTERM once."""

    def count() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 2

    monkeypatch.setattr("normexp.sweeps.workers.physical_cores", count)
    status, stderr = sweep("seed=0,1")
    assert (status, stderr.splitlines()[-1]) == (130, f"normexp: {STOPPED}")
    assert not find_runs([results], may_lack=True)


def test_workers_that_were_stopped_are_not_kept(monkeypatch):
    kept, closed = KeptWorkers(), []
    monkeypatch.setattr(Worker, "close", lambda worker: closed.append(worker))
    with pytest.raises(Interrupted), worker_pool(1, 1, kept) as workers:
        raise Interrupted("stopped")
    assert closed == workers != []


class Counted(InProcess):
    made = 0

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        Counted.made += 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("reproduce", "digits_rates", "scale=smoke", "--cell", "batch"),
        ("sweep", "model=linear", "steps=2", "optim.lr=interval(0.01,0.1)", "sampler=random", "trials=3"),
    ],
    ids=["two stages", "three trials"],
)
def test_a_command_has_one_set_of_workers(cli, results, monkeypatch, command):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", Counted)
    monkeypatch.setattr(Counted, "made", 0)
    status, _, stderr = cli(*command, "jobs=1", f"results_dir={results}")
    assert status == 0, stderr
    assert Counted.made == 1
