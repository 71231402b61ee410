"""A grid of configurations: planned before anything starts, and continued however it was stopped."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from in_process import InProcess
from one_line import one_line_error
from tiny_sweeps import COMMAND, TINY, metrics, until

from normexp.errors import Interrupted
from normexp.records import RunDirectory, find_runs
from normexp.sweeps.plan import Cell, make_plan
from normexp.sweeps.pool import STOPPED, Pool, Worker, stops_between_runs
from normexp.sweeps.sweep import say_failures, time_needed
from normexp.sweeps.workers import KeptWorkers, worker_pool


@pytest.fixture
def sweep(cli, results, monkeypatch) -> Callable[..., tuple[int, str]]:
    """Run `normexp sweep` with its workers in this process: sweep("seed=0,1") -> (exit status, stderr)."""
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)

    def call(*arguments: str, verb: tuple[str, ...] = ("sweep",), place: Path = results) -> tuple[int, str]:
        status, _, stderr = cli(*verb, *TINY, f"results_dir={place}", "jobs=1", *arguments)
        return status, stderr

    return call


def statuses(results: Path) -> list[str]:
    return sorted(run.status["status"] for run in find_runs([results]))


# --- The plan. ---


def test_sweep_says_which_of_several_options_lacks_a_key():
    with one_line_error(r"^norm=layer: key 'norm\.momentum' does not exist; allowed: norm\.eps"):
        make_plan([*TINY, "norm=batch,layer", "norm.momentum=0.5"])
    with one_line_error(r"^key 'norm\.momentum' does not exist"):
        make_plan([*TINY, "norm=layer", "norm.momentum=0.5", "seed=0,1"])


def test_sweep_plan_counts_what_is_to_be_done(sweep, results):
    assert sweep("norm=none,batch", "seed=0,1")[0] == 0
    first, second = (run.path for run in find_runs([results])[:2])
    status = first / "status.json"
    status.write_text(status.read_text().replace('"done"', '"interrupted"'))
    second.rename(results / "elsewhere")
    plan = make_plan([*TINY, f"results_dir={results}", "norm=none,batch", "seed=0,1"])
    assert plan.describe() == "4 runs: 2 finished, 1 new, 1 to resume"


@pytest.mark.parametrize(
    "overrides", [["seed=0,0"], ["norm=none,none", "seed=0"], ["epochs=5,5"], ["optim.lr=0.1,1e-1,0.10"]]
)
def test_sweep_equal_cells_collapse(overrides):
    assert len(make_plan(overrides).cells) == 1


def test_sweep_ends_with_its_table_and_names_what_varies(sweep, results, cli):
    status, stderr = sweep("norm=none,batch", "seed=0,1")
    assert status == 0
    assert "[4/4] done norm=batch seed=1\n" in stderr
    assert f"next: normexp plot {results} --last-sweep\n" in stderr
    assert "best" not in stderr
    sweep("norm=layer", "optim.lr=0.01,0.02")
    _, shown, _ = cli("table", str(results), "--last-sweep")
    assert [line.split("|")[1].strip() for line in shown.splitlines() if line.startswith("| layer")] == [
        "layer, optim.lr=0.01",
        "layer, optim.lr=0.02",
    ]
    assert cli("table", str(results / "runs"), "--last-sweep", "norm=layer")[1].count("| layer") == 2
    assert "norm=batch matches no run" in cli("table", str(results), "--last-sweep", "norm=batch")[2]


def test_sweep_prints_its_table(cli, results, monkeypatch):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    given = ("sweep", *TINY, f"results_dir={results}", "jobs=1", "optim.lr=0.01,0.02")
    status, stdout, stderr = cli(*given)
    assert (status, stdout.count("| none, optim.lr=0.0")) == (0, 2)
    assert f"next: normexp best {results} --last-sweep --out best\n" in stderr
    assert cli(*given)[1] == stdout  # all of it was there already


STUDY, UNVALIDATED = ("study=orthogonalization",), (*TINY, "optim.lr=0.01,0.1", "dataset.validation=0")


@pytest.mark.parametrize("given", [STUDY, UNVALIDATED], ids=["a study", "no validation split"])
def test_what_a_sweep_proposes_works_when_it_is_pasted(cli, results, monkeypatch, given):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    _, _, stderr = cli("sweep", *given, f"results_dir={results}", "jobs=1")
    proposed = [line.partition("next: normexp ")[2] for line in stderr.splitlines() if "next: " in line]
    assert [line.split()[0] for line in proposed] == ["plot"]
    assert [cli(*shlex.split(line))[0] for line in proposed] == [0]


def test_a_sweep_of_failures_proposes_nothing_to_look_at(sweep, bomb):
    assert "next:" not in sweep(*PLUGIN, "norm.at=3", "seed=0,1", "model.widths=[5]")[1]


def test_failures_with_one_cause_are_told_once(caplog, tmp_path):
    caplog.set_level("INFO", logger="normexp")
    cells = [Cell(None, tmp_path / str(i)) for i in range(60)]
    assert say_failures([(cell, "no such file") for cell in cells[:59]] + [(cells[59], "killed")], 80) == 1
    told = [line for line in caplog.messages if line.startswith("failed")]
    assert told == [
        f"failed: {tmp_path}/0: no such file",
        "failed: 58 more with the same cause",
        f"failed: {tmp_path}/59: killed",
    ]


def test_last_sweep_that_names_runs_elsewhere_is_damaged(cli, tmp_path):
    (tmp_path / ".last-sweep.json").write_text('{"runs": ["../elsewhere"]}')
    status, _, stderr = cli("plot", str(tmp_path), "--last-sweep")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "damaged" in stderr


def test_runs_that_left_no_record_are_named_under_the_table_of_their_sweep(results, cli, monkeypatch):
    """What fails for want of room leaves none, and is no run of which there is nothing to say."""
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    request = InProcess.request

    def full(worker: InProcess, message: dict, *rest: object) -> dict:
        if message["verb"] == "train" and "norm=batch" in message["overrides"]:
            return {"status": "failed", "cause": "no room", "no_room": True}
        return request(worker, message, *rest)

    monkeypatch.setattr(InProcess, "request", full)
    _, stdout, _ = cli("sweep", *TINY, f"results_dir={results}", "jobs=1", "norm=none,batch", "seed=0,1")
    note = "- Without a record and in no number, 2 of the 4 runs of the sweep: norm=batch seed=0; norm=batch seed=1.\n"
    assert note in stdout
    assert note in cli("table", results, "--last-sweep")[1]
    assert "Without a record" not in cli("table", results)[1]


def test_a_folder_in_the_place_of_last_sweep_is_one_line(sweep, results, cli):
    sweep("seed=0")
    place = results / ".last-sweep.json"
    place.unlink()
    place.mkdir()
    before = sorted(results.rglob("*"))
    assert sweep("seed=0")[0] == 0  # of what has ended nothing need be written
    status, stderr = sweep("seed=0,1")
    assert (status, stderr.splitlines()[-1]) == (2, f"normexp: {place}: cannot be written (Is a directory)")
    for words in (("table", results, "--last-sweep"), ("status", results, "--watch")):
        status, _, stderr = cli(*words)
        assert (status, stderr) == (2, f"normexp: {place}: damaged (not a regular file)\n")
    assert cli("status", results)[0] == 0
    assert sorted(results.rglob("*")) == before


def test_last_sweep_is_of_the_folder_that_is_named(sweep, results, cli):
    sweep("norm=none,batch")
    (results / "chosen").mkdir()
    for name, said in {"nowhere": "no such file or folder", "chosen": "lies there"}.items():
        status, _, stderr = cli("table", str(results / name), "--last-sweep")
        assert (status, stderr.count("\n")) == (2, 1)
        assert said in stderr
    assert cli("table", str(results / "runs"), "--last-sweep")[0] == 0


def test_sweep_impossible_cell_is_left_out_and_explained(sweep, results):
    status, stderr = sweep("norm=batch,layer", "batch_size=1,2", "steps=2", "model=mlp")
    assert status == 0
    assert "3 runs: 0 finished, 3 new" in stderr
    assert "left out: batch_size=1 with norm=batch: its statistics are taken over the batch" in stderr
    assert len(find_runs([results])) == 3


def test_sweep_of_impossible_cells_only_is_refused(sweep, results):
    status, stderr = sweep("norm=batch", "batch_size=1", "seed=0,1", "model=mlp")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "batch_size=1 with norm=batch" in stderr
    assert not results.exists()


def test_sweep_dry_run_writes_nothing(sweep, results):
    status, stderr = sweep("seed=0,1", "--dry-run")
    assert status == 0
    assert "2 runs: 0 finished, 2 new, 0 to resume" in stderr
    assert "with jobs=1" in stderr
    assert not results.exists()


def test_sweep_says_why_the_time_is_not_known(sweep, monkeypatch):
    monkeypatch.setattr("normexp.runs.estimate.estimate_seconds", lambda *_: 1 // 0)
    status, stderr = sweep("seed=0,1", "--dry-run")
    assert status == 0
    assert "how long it takes is not known: ZeroDivisionError" in stderr


def test_sweep_times_no_more_kinds_of_runs_than_a_short_while_allows_and_says_so(sweep, monkeypatch):
    monkeypatch.setattr("normexp.runs.estimate.estimate_seconds", lambda *_: 30.0)
    words = ("norm=none,batch,layer", "seed=0,1", "--dry-run")
    assert "about 3.0 min with jobs=1, timed by a few steps of each kind of run\n" in sweep(*words)[1]
    monkeypatch.setattr("normexp.sweeps.sweep.MOST_SECONDS", 0.0)
    assert "about 3.0 min with jobs=1, timed by a few steps of 1 of 3 kinds of runs\n" in sweep(*words)[1]


@pytest.mark.parametrize(("seconds", "timed"), [(2.0, 1), (100.0, 4)])
def test_sweep_times_for_a_tenth_of_what_it_tells_at_most(monkeypatch, seconds: float, timed: int):
    """Where all runs took two seconds each, timing them took as long as they did."""
    clock = itertools.count(step=1.2)  # every answer takes so long
    monkeypatch.setattr("normexp.sweeps.sweep.time", SimpleNamespace(monotonic=lambda: next(clock)))
    cells = [SimpleNamespace(kind=kind, left=1.0, overrides=[], recipe=None) for kind in range(4)]
    worker = SimpleNamespace(request=lambda _: {"seconds": seconds})
    said = time_needed([worker], cells, force=False)
    kinds = "each kind of run" if timed == 4 else f"{timed} of 4 kinds of runs"
    assert said.endswith(f"timed by a few steps of {kinds}")


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_sweep_of_which_no_run_works_is_refused_as_a_run_is(sweep, results, words):
    """It trained them all, each of which failed, and left their directories behind."""
    status, stderr = sweep("dataset.subset=5000", "norm=none,batch", *words)
    assert (status, results.exists()) == (2, False)
    assert stderr.splitlines()[-1] == "normexp: dataset.subset=5000: the training split has 1257 examples"


def test_a_sweep_of_which_one_run_works_trains_it(sweep):
    status, stderr = sweep("dataset.subset=5000,50", "norm=none")
    assert status == 1
    assert "1 of 2 runs failed" in stderr


def test_sweep_on_a_device_that_is_not_there_is_refused(sweep, results, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    status, stderr = sweep("device=cuda", "seed=0,1", "norm=none,batch")
    assert (status, results.exists()) == (2, False)
    assert stderr.splitlines()[-1] == "normexp: device=cuda: not available on this machine; available: auto, cpu"


def test_sweep_counts_only_the_steps_that_are_left(sweep, results, monkeypatch):
    sweep("seed=0,1")
    status = find_runs([results])[0].path / "status.json"
    status.write_text(status.read_text().replace('"done"', '"interrupted"').replace('"step": 6', '"step": 4'))
    monkeypatch.setattr("normexp.runs.estimate.estimate_seconds", lambda *_: 30.0)
    assert "about 40 s with jobs=1" in sweep("seed=0,1,2", "--dry-run")[1]  # a third of one run, and a new one
    assert "about 90 s with jobs=1" in sweep("seed=0,1,2", "--dry-run", "--force")[1]


# --- What is trained. ---


def test_sweep_trains_only_what_is_new(sweep, results):
    sweep("seed=0,1")
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    status, stderr = sweep("seed=0,1")
    assert status == 0
    assert "2 finished, 0 new" in stderr
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*")} == before
    assert "3 runs: 2 finished, 1 new" in sweep("seed=0,1,2")[1]
    runs = [path for path in before if path.is_file() and path.parent != results]
    assert {path: path.stat().st_mtime_ns for path in runs}.items() <= before.items()
    assert len(metrics(results)) == 3


def test_sweep_is_run_with_m(sweep, tmp_path):
    sweep("seed=0,1", place=tmp_path / "one")
    sweep("seed=0,1", verb=("run", "-m"), place=tmp_path / "two")
    assert metrics(tmp_path / "one") == metrics(tmp_path / "two")


def test_sweep_forced_trains_again(sweep, results):
    sweep("seed=0,1")
    before = metrics(results)
    for run in find_runs([results]):
        (run.path / "metrics.csv").write_text("")
    sweep("seed=0,1", "--force")
    assert metrics(results) == before


def test_sweep_diverged_cell_is_a_result(sweep, results):
    assert sweep("optim.lr=0.1,1e30", "optim.momentum=0", "model=mlp", "model.activation=identity", "steps=30")[0] == 0
    assert statuses(results) == ["diverged", "done"]


@pytest.mark.parametrize("norms", ["norm=batch", "norm=batch,layer"])
def test_a_cell_that_the_recipes_network_cannot_train_says_that_nobody_typed_it(cli, results, monkeypatch, norms):
    """Whether no cell works, which is refused, or some do: three rows leave batch normalization one to train on."""
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    results.mkdir()
    (results / "rows.csv").write_text("a,b,y\n1,3,2\n2,6,4\n3,9,6\n")
    typed = ("dataset=csv", f"dataset.file={results / 'rows.csv'}", "dataset.target=y", "epochs=1", "threads=1")
    _, _, stderr = cli("sweep", *typed, norms, "jobs=1", f"results_dir={results}")
    assert "trained on; model=mlp is of the recipe (recipe=none leaves it out)\n" in stderr


@pytest.mark.parametrize("name", ["status.json", "config.yaml"])
def test_sweep_damaged_cell_is_set_aside(sweep, results, name):
    sweep("seed=0,1")
    expected, run = metrics(results), find_runs([results])[0]
    (run.path / name).write_text("{")
    status, stderr = sweep("seed=0,1")
    assert status == 0
    assert f"{run.path}: damaged; it will be set aside" in stderr
    assert Path(f"{run.path}.damaged-1", name).read_text() == "{"
    assert metrics(results) == expected


# --- A cell that fails costs itself. ---

BOMB = """
from dataclasses import dataclass

import torch
from torch import nn

from normexp.norms.base import Norm


class Fuse(nn.Module):
    def __init__(self, at):
        super().__init__()
        self.left = at

    def forward(self, x):
        self.left -= self.training and torch.is_grad_enabled()  # in an update
        if self.left == 0:
            raise RuntimeError("the bomb went off\\nand more")
        return x


@dataclass(frozen=True, kw_only=True)
class Bomb(Norm):
    at: int

    def normalization(self, num_features):
        return Fuse(self.at)
"""
PLUGIN = ("model=mlp", "norm._target_=bomb.Bomb", "plugins=[bomb]")


@pytest.fixture
def bomb(tmp_path, monkeypatch) -> Iterator[Path]:
    """A folder with a scheme of the user's own that raises in training step `norm.at`."""
    (tmp_path / "bomb.py").write_text(BOMB)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("bomb", None)


def test_sweep_failing_cell_is_recorded_and_the_rest_goes_on(sweep, results, bomb):
    status, stderr = sweep(*PLUGIN, "norm.at=3,1000", "seed=0,1", "model.widths=[5]")
    assert status == 1
    assert "2 of 4 runs failed; the same command tries them again" in stderr
    cause = "RuntimeError: the bomb went off, raised by norm=bomb.Bomb (bomb.py:18) at step 2"
    assert statuses(results) == ["done", "done", "failed", "failed"]
    failed = next(run.path for run in find_runs([results]) if run.status["status"] == "failed")
    assert "in forward" in (failed / "traceback.txt").read_text()
    assert f"{failed}: {cause}\nnormexp:         traceback: {failed}/traceback.txt\n" in stderr


def test_sweep_killed_cell_keeps_no_traceback_of_an_earlier_failure(sweep, results, monkeypatch):
    sweep("seed=0")
    (run,) = find_runs([results])
    (run.path / "traceback.txt").write_text("of another time")
    run.write_status("failed", cause="another")
    monkeypatch.setattr(InProcess, "request", lambda *_: {"status": "failed", "cause": "killed"})
    monkeypatch.setattr("normexp.sweeps.sweep.time_needed", lambda *_: "")
    status, stderr = sweep("seed=0")
    assert (status, run.status["cause"]) == (1, "killed")
    assert "traceback" not in stderr
    assert not (run.path / "traceback.txt").exists()


def test_sweep_cell_that_cannot_be_built_is_recorded(sweep, results, monkeypatch):
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("normexp.runs.trainer.build", fail)
    assert sweep("seed=0")[0] == 1
    run = find_runs([results])[0]
    assert run.status["status"] == "failed"
    assert str(run.status["cause"]).startswith("the memory of this machine does not suffice; a smaller batch_size")
    assert "in fail" in (run.path / "traceback.txt").read_text()


def test_pool_outlives_a_record_that_cannot_be_written(results, monkeypatch):
    """A full disk in the place of one cell: the others are trained, and the failure is told."""
    ended: list[str] = []
    cells = [Cell(plan.config, results / plan.path.name) for plan in make_plan([*TINY, "seed=0,1"]).cells]
    answers = iter([{"status": "failed", "cause": "no memory"}, {"status": "done"}])
    monkeypatch.setattr(InProcess, "request", lambda *_: next(answers))
    monkeypatch.setattr(RunDirectory, "write_status", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    Pool([InProcess(1)], lambda *_: None, lambda cell, answer: ended.append(answer["status"])).run(cells, force=False)
    assert ended == ["failed", "done"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_sweep_cell_that_was_lost_is_no_success(sweep, monkeypatch):
    """Should the sweep itself have a fault, its exit status must tell."""
    monkeypatch.setattr(InProcess, "request", lambda *_: {"seconds": 1.0})
    status, stderr = sweep("seed=0,1")
    assert status == 1
    assert "2 of 2 runs failed" in stderr


# --- Stopped. ---


def test_sweep_stopped_says_that_the_same_command_continues(sweep, results, monkeypatch):
    def request(worker: InProcess, *_: object) -> dict[str, object]:
        worker.stop()
        raise Interrupted(STOPPED)

    monkeypatch.setattr(InProcess, "request", request)
    for argument in ("seed=0,1", "seed=range(3)"):
        status, stderr = sweep(argument)
        assert (status, stderr.splitlines()[-1]) == (130, f"normexp: {STOPPED}")
    assert "the same command continues" in STOPPED


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
    assert (status, asked) == (130, ["estimate", "train"])
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
def test_workers_without_a_number_of_jobs(monkeypatch, gpus, expected):
    monkeypatch.setattr("normexp.sweeps.workers.physical_cores", lambda: 8)
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
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
    assert statuses(results) == ["done", "running"]
    check_continues(cli, results, undisturbed)


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


PLANNING = """
import json, re, sys, time
from pathlib import Path
from normexp.sweeps.plan import make_plan
make_plan(["seed=0"])
began = time.process_time()
plan = make_plan(["model=mlp", "norm=batch,layer", f"seed=range({int(sys.argv[1]) // 2})", "results_dir=nowhere"])
kilobytes = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps([len(plan.cells), time.process_time() - began, kilobytes]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_planning_grows_linearly_and_ten_thousand_cells_fit_into_500_mb(tmp_path):
    def plan(cells: int) -> tuple[float, float]:
        command = [sys.executable, "-c", PLANNING, str(cells)]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
        planned, seconds, kilobytes = json.loads(answer.stdout)
        assert planned == cells
        return seconds, kilobytes / 1000

    few, many = plan(2_500), plan(10_000)
    assert many[0] < 9 * few[0]  # 16 times where time grows with the square
    assert many[1] < 500
    assert not (tmp_path / "nowhere").exists()
