"""Sweeps in processes of their own that are killed, stopped, or run at the same time."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from bombs import PLUGIN, statuses
from in_process import InProcess
from tiny_sweeps import COMMAND, TINY, metrics, until

from normexp.children import python
from normexp.records import RunDirectory, find_runs
from normexp.sweeps.pool import PROGRAM, STOPPED

# --- Real processes, real signals. ---

LONG = ("model=mlp", "norm=batch", "steps=1500", "eval_every=300", "batch_size=64", "device=cpu", "threads=1")


@contextmanager
def started(results: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start `normexp sweep` with the last of each key; kill it at the end if it still runs."""
    last = {argument.partition("=")[0]: argument for argument in arguments}
    command = [sys.executable, "-c", COMMAND, "sweep", f"results_dir={results}", *last.values()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def running(results: Path, done: int = 0) -> Callable[[], bool]:
    """Tell whether a cell is being trained, after so many that are done."""
    return lambda: results.exists() and sorted(map(state, results.glob("runs/*"))) == ["done"] * done + ["running"]


def training(results: Path, cells: int) -> Callable[[], bool]:
    """Tell whether so many cells have their row of step 0, after which there are weights to save."""
    return lambda: sum(path.read_text().count("\n") > 1 for path in results.glob("runs/*/metrics.csv")) == cells


def state(path: Path) -> str:
    return str(RunDirectory(path).status["status"])


def workers(sweep_id: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # ended meanwhile
            if path.read_text().rpartition(")")[2].split()[1] == str(sweep_id):
                found.append(int(path.parent.name))
    return found


def alive(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, bytes]:
    """The curves of LONG with seeds 0 and 1, never stopped."""
    from normexp.cli.verbs import main

    results = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("normexp.sweeps.workers.Worker", InProcess)
        assert main(["sweep", *LONG, "seed=0,1", f"results_dir={results}", "jobs=1"]) == 0
    return metrics(results)


def check_continues(cli, results: Path, undisturbed: dict[str, bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("normexp.sweeps.workers.Worker", InProcess)
        status, _, stderr = cli("sweep", *LONG, "seed=0,1", f"results_dir={results}", "jobs=1")
    assert status == 0, stderr
    assert "1 to resume" in stderr
    assert metrics(results) == undisturbed


@pytest.mark.slow
def test_sweep_worker_killed_costs_its_own_cell(cli, results, undisturbed):
    with started(results, *LONG, "seed=0,1", "jobs=1") as process:
        until(running(results))
        os.kill(workers(process.pid)[0], signal.SIGKILL)
        _, stderr = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "1 of 2 runs failed" in stderr
    assert statuses(results) == ["done", "failed"]
    failed = next(run.status for run in find_runs([results]) if run.status["status"] == "failed")
    assert failed["cause"] == "the worker process was killed by SIGKILL (out of memory?)"
    check_continues(cli, results, undisturbed)


@pytest.mark.slow
def test_sweep_killed_continues_and_takes_its_workers_along(cli, results, undisturbed):
    with started(results, *LONG, "seed=0,1", "jobs=1") as process:
        until(running(results, done=1))
        (worker,) = workers(process.pid)
        process.kill()
        process.wait()
        until(lambda: not alive(worker), seconds=20)
    assert statuses(results) in (["done", "running"], ["done", "interrupted"])
    check_continues(cli, results, undisturbed)


@pytest.mark.slow
def test_a_worker_whose_sweep_is_gone_ends_before_it_has_anything_to_say(tmp_path, monkeypatch):
    loading = tmp_path / "loading"
    lines = ("import pathlib, time", f"pathlib.Path({str(loading)!r}).touch()", "time.sleep(600)")
    (tmp_path / "slow.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    job = json.dumps({"verb": "check", "overrides": ["norm._target_=slow.Norm", "plugins=[slow]"], "probed": False})
    with subprocess.Popen(python(PROGRAM), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        try:
            worker.stdin.write(f"{job}\n")
            worker.stdin.flush()
            until(loading.exists)
            worker.stdin.close()  # as where the sweep is killed
            assert worker.wait(20) == -signal.SIGTERM
        finally:
            worker.kill()


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_sweep_stopped_by_the_user_saves_its_runs(cli, results, undisturbed, sent):
    with started(results, *LONG, "seed=0,1", "jobs=1") as process:
        until(training(results, cells=1))
        (worker,) = workers(process.pid)
        process.send_signal(sent)
        _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130, stderr
    assert stderr.splitlines()[-1] == f"normexp: {STOPPED}"
    assert not alive(worker)
    assert statuses(results) == ["interrupted"]
    assert (find_runs([results])[0].path / "checkpoint.safetensors").exists()
    check_continues(cli, results, undisturbed)


@pytest.mark.slow
def test_sweep_stopped_by_a_batch_system_saves_every_run(results):
    """It signals all processes of a job at once, the workers before the sweep or after it."""
    with started(results, *LONG, "steps=100000", "seed=0,1,2", "jobs=2") as process:
        until(training(results, cells=2))
        for member in (*workers(process.pid), process.pid):
            os.kill(member, signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert statuses(results) == ["interrupted"] * 2
    assert all((run.path / "checkpoint.safetensors").exists() for run in find_runs([results]))


@pytest.mark.slow
def test_sweep_failing_cells_beside_others_cost_themselves(results, bomb):
    grid = (*TINY, *PLUGIN, "norm.at=3,1000", "seed=range(3)", "jobs=2")
    with started(results, *grid) as process:
        _, stderr = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "3 of 6 runs failed" in stderr
    assert statuses(results) == ["done"] * 3 + ["failed"] * 3


@pytest.mark.slow
def test_sweeps_at_the_same_time_run_no_cell_twice(results):
    grid = (*LONG, "steps=300", "seed=range(3)", "jobs=1")
    with started(results, *grid) as one, started(results, *grid) as two:
        for process in (one, two):
            _, stderr = process.communicate(timeout=300)
            assert process.returncode == 0, stderr
    assert [run.status["attempts"] for run in find_runs([results])] == [1, 1, 1]
    assert statuses(results) == ["done"] * 3


@pytest.mark.slow
def test_sweep_whose_reader_has_gone_trains_all_the_same(results):
    """As in `normexp sweep ... 2>&1 | head -1`: exit status 0 must mean that it was done."""
    reader, writer = os.pipe()
    command = [sys.executable, "-c", COMMAND, "sweep", *TINY, "seed=0,1", "jobs=1", f"results_dir={results}"]
    with subprocess.Popen(command, stdout=writer, stderr=writer) as process:
        os.close(writer)
        os.close(reader)
        assert process.wait(timeout=300) == 0
    assert statuses(results) == ["done", "done"]


NOISE = """
import os, sys

os.write(1, b'{"event": "end", "status": "noise"}\\n')
print('{"event": "end", "status": "noise"}', file=sys.__stdout__, flush=True)
sys.stderr.write("x" * 1_000_000)
assert sys.stdin.read() == "" and os.read(0, 10) == b""
"""


@pytest.mark.slow
def test_sweep_worker_bears_noise_and_files_named_like_modules(results, bomb):
    """Neither what a plugin prints and reads nor a random.py beside it can come between sweep and worker."""
    with (bomb / "bomb.py").open("a") as file:
        file.write(NOISE)
    (bomb / "random.py").write_text("raise RuntimeError('wrong module')\n")
    with started(results, *TINY, *PLUGIN, "norm.at=1000", "seed=0,1", "jobs=1") as process:
        _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert statuses(results) == ["done", "done"]
    assert all((run.path / "metrics.csv").read_text().count("\n") == 4 for run in find_runs([results]))
