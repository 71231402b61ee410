"""Executors: their settings, what is refused, workers as local processes and as jobs of submitit's own engines."""

import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from in_process import InProcess
from tiny_sweeps import TINY, metrics

from normexp.cli.verbs import main
from normexp.config.options import option, options
from normexp.errors import Interrupted, Submitted, UserError
from normexp.records import find_runs
from normexp.sweeps import submit
from normexp.sweeps.executors import local, slurm
from normexp.sweeps.executors.ray import RayExecutor
from normexp.sweeps.executors.settings import checked, take_executor
from normexp.sweeps.executors.slurm import note_submitted, submitted
from normexp.sweeps.plan import make_plan
from normexp.sweeps.pool import STOPPED
from normexp.sweeps.serve import SweepWorker
from normexp.sweeps.shard import Shard, in_shard, take_shard
from normexp.sweeps.shared import Pace, SharedSweep, write_plan
from normexp.sweeps.snapshot import SweepView
from normexp.sweeps.submit import Sharing, run_shared

TWO_STAGES = Path(__file__).parents[1] / "two_stages.yaml"
FAST = ("executor.heartbeat=0.1", "executor.takeover=1")


class Threads:
    """Workers as threads of this process: what an executor starts, without the time that a process takes."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.threads: list[threading.Thread] = []
        self.members: list[SweepWorker] = []

    def check(self) -> None: ...

    def start(self, sweep: SharedSweep) -> str:
        self.members = [SweepWorker(sweep, InProcess(1)) for _ in range(self.count)]
        self.threads = [threading.Thread(target=self.serve, args=(member,)) for member in self.members]
        for thread in self.threads:
            thread.start()
        return "threads"

    def serve(self, member: SweepWorker) -> None:
        with suppress(Interrupted):
            member.serve()

    def is_left(self, sweep: SharedSweep) -> bool:
        return any(thread.is_alive() for thread in self.threads)

    def last_words(self, sweep: SharedSweep) -> str:
        return ""

    def stop(self) -> None:
        for member in self.members:
            member.stop()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def shared(cli, results, workers_here, monkeypatch) -> Callable[..., tuple[int, str]]:
    """Run `normexp sweep executor=local` with one worker, a thread: shared("seed=0,1") -> (exit status, stderr)."""
    monkeypatch.setattr(submit, "executor", lambda settings, workers: Threads(1))

    def call(*words: str, verb: str = "sweep") -> tuple[int, str]:
        status, _, stderr = cli(verb, *TINY, f"results_dir={results}", "executor=local", *FAST, *words)
        return status, stderr

    return call


# --- What is typed. ---


def test_executor_is_taken_out_of_the_overrides():
    settings, rest = take_executor(["norm=batch", "executor=slurm", "executor.workers=3", "seed=0,1"])
    assert settings is not None
    assert (settings.name, settings["workers"], settings["time"], rest) == ("slurm", 3, 60, ["norm=batch", "seed=0,1"])
    assert take_executor(["norm=batch"]) == (None, ["norm=batch"])
    local, _ = take_executor(["executor.workers=2"])
    assert local is not None
    assert local.name == "local"


@pytest.mark.parametrize("name", options("executor"))
def test_every_key_of_an_executor_is_described(name):
    about = option("executor", name)
    keys = {key for key in about if not key.startswith("_")}
    assert keys == set(about["_keys_"])
    assert set(about["_allowed_"]) <= keys
    assert checked(name, {}).values == {key: about[key] for key in keys}


WRONG = {
    "shard=0": ("shard=0/5", "must be I/N"),
    "address": ("executor=ray executor.address=127.0.0.1:1", "executor.address=127.0.0.1:1: unreachable ("),
    "no port": ("executor=ray executor.address=127.0.0.1:99999", "must be auto, HOST:PORT or null"),
    "no address": ("executor=ray executor.address=here", "must be auto, HOST:PORT or null"),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_work_is_one_line_and_nothing_is_written(cli, results, monkeypatch, words, message):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda name: name)  # with and without the extras
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "seed=0,1", *words.split())
    assert (status, stderr.count("\n")) == (2, 1)
    assert message in stderr
    assert not results.exists()


@pytest.mark.parametrize(("name", "library"), [("slurm", "submitit"), ("ray", "ray")])
@pytest.mark.parametrize("verb", [("sweep", "seed=0,1"), ("run", "-m", "seed=0,1"), ("reproduce", "scale_invariance")])
def test_executor_whose_library_is_missing_names_the_pip_line(cli, results, monkeypatch, name, library, verb):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda _: None)
    status, _, stderr = cli(*verb, f"results_dir={results}", f"executor={name}")
    assert (status, stderr.count("\n")) == (2, 1)
    assert f"{library} is not installed; pip install 'normexp[{name}]'" in stderr
    assert not results.exists()


def test_printed_script_needs_no_submitit_and_opens_what_failed_to_its_workers(cli, results, workers_here, monkeypatch):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda _: None)
    words = (*TINY, f"results_dir={results}", "seed=0,1", "executor=slurm", "executor.print_script=true")
    status, script, stderr = cli("sweep", *words)
    assert (status, script.splitlines()[0]) == (0, "#!/bin/bash"), stderr
    (path,) = (results / ".sweeps").iterdir()
    sweep = SharedSweep(path)
    with monkeypatch.context() as patch:
        patch.setattr(InProcess, "request", lambda *_: {"status": "failed", "cause": "no memory"})
        SweepWorker(sweep, InProcess(1)).serve()
    assert [sweep.states(0)[cell].end for cell in (0, 1)] == ["failed"] * 2
    assert "2 runs that failed, or whose record is lost, are tried again" in cli("sweep", *words)[2]
    assert all(sweep.states(0)[cell].is_free for cell in (0, 1))


def test_slurm_without_sbatch_is_refused(cli, results, monkeypatch):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda name: name)
    monkeypatch.setattr(slurm.shutil, "which", lambda _: None)
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "seed=0,1", "executor=slurm")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "no sbatch on this machine" in stderr


@pytest.mark.parametrize(
    ("line", "count"), [("(null)", 0), ("gpu:4", 4), ("gpu:a100:4(S:0-1)", 4), ("shard:9,gpu:a100:2,gpu:t4:1", 3)]
)
def test_gpus_of_a_node_are_read_from_its_resources(line, count):
    assert slurm._gpus(line) == count


def test_shards_are_all_of_the_sweep_and_share_nothing():
    cells = list(range(23))
    parts = [in_shard(cells, Shard(part, 5)) for part in range(1, 6)]
    assert sorted(cell for part in parts for cell in part) == cells
    assert take_shard(["a=1", "shard=2/5"]) == (Shard(2, 5), ["a=1"])


def test_sweep_of_one_shard(cli, results, workers_here):
    for part, cells in ((1, 2), (2, 1), (1, 2)):
        status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "jobs=1", "seed=range(3)", f"shard={part}/2")
        assert status == 0
        assert f"{cells} run" in stderr
    assert len(metrics(results)) == 3


# --- A shared sweep, from the command line. ---


def test_shared_sweep_ends_in_the_bytes_of_a_plain_one(shared, cli, results, tmp_path):
    status, stderr = shared("norm=none,batch", "seed=0,1")
    assert status == 0, stderr
    assert "[4/4] done" in stderr
    assert cli("sweep", *TINY, "norm=none,batch", "seed=0,1", "jobs=1", f"results_dir={tmp_path / 'plain'}")[0] == 0
    assert metrics(results) == metrics(tmp_path / "plain")
    assert not (tmp_path / "plain" / ".sweeps").exists()  # a plain sweep writes what it always wrote
    assert "4 finished, 0 new" in shared("norm=none,batch", "seed=0,1")[1]


def test_shared_sweep_names_failures_and_tries_them_again(shared, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(InProcess, "request", lambda *_: {"status": "failed", "cause": "no memory"})
        status, stderr = shared("seed=0,1")
    assert status == 1
    assert re.search(r"failed: \S+: no memory\n", stderr)
    assert "2 of 2 runs failed; the same command tries them again" in stderr
    status, stderr = shared("seed=0,1")
    assert status == 0
    assert "2 runs that failed, or whose record is lost, are tried again" in stderr


def test_shared_sweep_trains_again_what_is_lost_or_damaged(shared, results):
    assert shared("seed=0,1,2")[0] == 0
    _, one, two = curves = sorted((results / "runs").glob("*/metrics.csv"))
    before = [path.read_bytes() for path in curves]
    shutil.rmtree(one.parent)
    with two.open("a") as file:
        file.write("1,2,3\n")
    status, stderr = shared("seed=0,1,2")
    assert (status, "2 runs that failed, or whose record is lost, are tried again" in stderr) == (0, True), stderr
    assert [path.read_bytes() for path in curves] == before


def test_sweep_that_was_shared_is_continued_without_naming_the_executor(shared, cli, results):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submit, "executor", lambda *_: Threads(0))
        assert shared("seed=0,1")[0] == 1
    before = len(list((results / ".sweeps").rglob("*")))
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "seed=0,1")
    assert status == 0, stderr
    assert "with jobs=" not in stderr  # which a sweep without a shared folder says
    assert len(list((results / ".sweeps").rglob("*"))) > before


def test_ray_looks_for_no_module_in_the_current_folder(results, monkeypatch):
    def task_of(work: object) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *words: words)

    folders, node = [], {"Alive": True, "Resources": {"CPU": 64.0}}
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(
        is_initialized=lambda: False, init=lambda **_: folders.append(Path.cwd()), nodes=lambda: [node],
        remote=lambda **_: task_of,
    ))  # fmt: skip
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0"]).cells, results, Pace())
    engine = RayExecutor(checked("ray", {"workers": 1}))
    engine.start(sweep)
    assert folders == [sweep.path]
    assert [Path(folder) for _, _, folder in engine.tasks] == [Path.cwd()]  # where own parts are named from


@pytest.mark.parametrize(("status", "said"), [(2, "x/claims: cannot be written"), (0, "")])
def test_what_a_local_worker_said_that_could_not_go_on_is_known(results, monkeypatch, status, said):
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0"]).cells, results, Pace())
    (sweep.path / local.LOG).write_text("normexp: of an earlier worker\n")
    program = f"import sys; print('normexp: x/claims: cannot be written', file=sys.stderr); sys.exit({status})"
    monkeypatch.setattr(local, "worker_command", lambda *_: [sys.executable, "-S", "-c", program])
    engine = local.LocalExecutor(1, 1)
    engine.start(sweep)
    engine.processes[0].wait(60)
    assert engine.last_words(sweep) == said


@pytest.mark.parametrize("given", [{"settings": checked("local", {"workers": 3})}, {"jobs": 3}, {}])
def test_who_attaches_is_told_that_no_worker_is_started(results, monkeypatch, caplog, given):
    plan = make_plan([*TINY, f"results_dir={results}", "seed=0,1"])
    sweep = write_plan(plan.cells, results, Pace(2.0, 60.0))
    monkeypatch.setattr(submit, "is_anybody_there", lambda *_: True)
    monkeypatch.setattr(submit, "follow", lambda *_, **__: {})
    with caplog.at_level("INFO", "normexp"):
        run_shared(plan.cells, results, Sharing(**given), [])
    told = f"its workers stay as they are, whatever executor= and jobs= say; `normexp worker {sweep.path}` adds one"
    assert (told in caplog.messages) == bool(given)


@pytest.mark.slow
def test_shared_sweep_attaches_to_workers_that_live(results):
    words = [*TINY, f"results_dir={results}", "seed=0,1"]
    plan = make_plan(words)
    sweep = write_plan(plan.cells, results, Pace(2.0, 60.0))
    others = Threads(1)
    threading.Timer(0.5, others.start, (sweep,)).start()
    with SweepWorker(sweep, InProcess(1)).beats.beating(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(submit, "executor", lambda *_: Threads(0))
        ended = run_shared(plan.cells, results, Sharing(checked("local", {})), [])
    others.stop()
    assert sorted(ended.values()) == [("done", "")] * 2


@pytest.mark.usefixtures("workers_here")
def test_a_signal_that_comes_before_the_sweep_is_followed_stops_it(cli, results, monkeypatch):
    def start(*_: object) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return "nobody"

    monkeypatch.setattr(local.LocalExecutor, "start", start)
    status, _, stderr = cli("sweep", *TINY, "executor=local", "jobs=1", f"results_dir={results}")
    assert (status, stderr.splitlines()[-1]) == (130, f"normexp: {STOPPED}")


def test_who_follows_pauses_ten_times_as_long_as_a_look_and_not_as_the_wait_for_a_sign_of_life(results, monkeypatch):
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0,1"]).cells, results, Pace(2.0, 60.0))
    waited, pauses = [], []

    def is_anybody_there(*_: object) -> bool:
        waited.append(100.0)
        return len(waited) == 1

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(waited), sleep=pauses.append)
    monkeypatch.setattr(submit, "is_anybody_there", is_anybody_there)
    monkeypatch.setattr(submit, "time", clock)
    submit.follow(sweep, Threads(0), stops=False, workers=[])
    assert len(pauses) == 1
    assert pauses[0] < 100


def test_detached_sweep_returns_and_says_how_to_follow(shared, results):
    status, stderr = shared("seed=0,1", "executor.detach=true")
    assert status == 0
    assert f"`normexp status --watch {results}/.sweeps/" in stderr
    deadline = time.monotonic() + 60
    while len(list(results.glob(".sweeps/*/claims/*/*.done"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert shared("seed=0,1")[0] == 0


@pytest.mark.slow
def test_both_stages_of_an_experiment_go_through_the_executor(cli, results, workers_here, monkeypatch):
    monkeypatch.setattr(submit, "executor", lambda settings, workers: Threads(1))
    status, stdout, stderr = cli("reproduce", TWO_STAGES, f"results_dir={results}", "executor=local", *FAST)
    assert status == 0, stderr
    assert (len(list((results / ".sweeps").iterdir())), stderr.count("/.sweeps/")) == (2, 2)
    assert len(find_runs([results])) == 8
    assert "table.md" in stdout


# --- How long it takes. ---


def test_estimate_counts_what_is_begun():
    from collections import Counter

    from normexp.sweeps.snapshot import Snapshot, WorkerView

    def view(**facts: object) -> WorkerView:
        usual = {"name": "a-1-x", "host": "a", "via": "", "seconds": 9.0, "ended": 0, "busy": 0.0, "cell": "",
                 "cell_seconds": 0.0, "step": 0, "steps": 0, "silent": False}  # fmt: skip
        return WorkerView(**{**usual, **facts})  # type: ignore[arg-type]

    first = view(ended=2, busy=20.0, cell="x", cell_seconds=5.0, step=5, steps=10)
    counts = Counter({"done": 2, "held": 1, "free": 7})
    assert Snapshot(counts, [first]).seconds_left == 10.0 * 7.5
    assert Snapshot(counts, [first, view()]).seconds_left == 10.0 * 7.5 / 2
    assert Snapshot(counts, [view(silent=True)]).seconds_left is None
    early = view(cell="x", cell_seconds=5.0, step=5, steps=10)
    assert Snapshot(Counter({"held": 1, "free": 9}), [early]).seconds_left == 10.0 * 9.5


# --- submitit's own engines. ---


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # its logs
@pytest.mark.parametrize("cluster", ["debug", pytest.param("local", marks=pytest.mark.slow)])
def test_workers_through_submitit(results, monkeypatch, cluster):
    """The engine `debug` calls the job here, where its command line is one of this process."""
    monkeypatch.setattr(slurm, "ENGINE", cluster)
    if cluster == "debug":
        monkeypatch.setattr(slurm.WorkerJob, "__call__", lambda job: main(job.command[job.command.index("worker") :]))
        monkeypatch.setattr("normexp.sweeps.serve.Worker", InProcess)
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'normexp[slurm]')")
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0,1"]).cells, results, Pace(0.2, 2.0))
    (job,) = slurm.submit(sweep, checked("slurm", {"workers": 1}))
    assert job.result() == 0, job.stderr()
    view = SweepView(sweep)
    view.snapshot()
    assert sorted(view.ended.values()) == ["done", "done"]


@pytest.fixture(params=["debug", "local"])
def array(request, monkeypatch) -> None:
    """executor=slurm whose jobs run on submitit's own engines, where each is waited for."""
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'normexp[slurm]')")
    real = slurm.submit

    def submit_here(sweep, settings):
        jobs = real(sweep, settings)
        assert [job.result() for job in jobs] == [0] * settings["workers"]
        return jobs

    monkeypatch.setattr(slurm, "ENGINE", request.param)
    monkeypatch.setattr(slurm, "submit", submit_here)
    monkeypatch.setattr(slurm.SlurmExecutor, "check", lambda self: None)


@pytest.mark.slow
@pytest.mark.usefixtures("array")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # its logs
def test_run_m_and_both_stages_of_an_experiment_through_submitit(cli, results):
    slow = (f"results_dir={results}", "executor=slurm", "executor.workers=1", *FAST)
    status, _, stderr = cli("run", "-m", *TINY, "seed=0,1", *slow)
    assert (status, len(find_runs([results]))) == (0, 2), stderr
    for runs in (4, 8):
        status, stdout, stderr = cli("reproduce", TWO_STAGES, *slow)
        assert (status, stderr.count(": slurm job "), len(find_runs([results]))) == (0, 1, 2 + runs), stderr
        assert "table.md" not in stdout
    status, stdout, stderr = cli("reproduce", TWO_STAGES, *slow)
    assert (status, stderr.count(": slurm job ")) == (0, 0)
    assert "table.md" in stdout


def test_sweep_typed_again_asks_for_its_new_job(results, monkeypatch):
    """What the scheduler said of the earlier job must not count for the one that was just submitted."""
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0"]).cells, results, Pace(0.2, 2.0))
    jobs: list[str] = []
    monkeypatch.setattr(slurm, "running_jobs", lambda of: [job for job in of if job in jobs])
    monkeypatch.setattr(slurm, "submit", lambda *_: jobs.append("8") or [SimpleNamespace(job_id="8_0")])
    engine = slurm.SlurmExecutor(checked("slurm", {}))
    note_submitted(sweep, "7")
    assert not engine.is_left(sweep)
    engine.start(sweep)
    assert engine.is_left(sweep)


def test_nothing_is_left_of_a_sweep_that_could_not_be_submitted(cli, results, workers_here, monkeypatch):
    def refuse(*_: object) -> str:
        raise UserError("executor=slurm: nothing was submitted: no such account")

    monkeypatch.setattr("normexp.config.extras.find_spec", lambda name: name)
    monkeypatch.setattr(slurm.SlurmExecutor, "check", lambda self: None)
    monkeypatch.setattr(slurm.SlurmExecutor, "start", refuse)
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "seed=0,1", "executor=slurm")
    assert status == 2
    assert stderr.endswith("normexp: executor=slurm: nothing was submitted: no such account\n")
    assert not results.exists()


def test_address_of_something_else_is_refused(cli, results, monkeypatch):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda name: name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        thread = threading.Thread(target=lambda: server.accept()[0].close())
        thread.start()
        words = ("executor=ray", f"executor.address={address}")
        status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "seed=0,1", *words)
        thread.join()
    assert (status, stderr) == (2, f"normexp: executor.address={address}: what listens there is no Ray cluster\n")
    assert not results.exists()


def test_jobs_are_noted_for_whoever_comes_later(results, monkeypatch):
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0"]).cells, results, Pace(0.2, 2.0))
    assert submitted(sweep) == []
    note_submitted(sweep, "12")
    note_submitted(sweep, "14")
    assert submitted(sweep) == ["12", "14"]
    monkeypatch.setattr(slurm.shutil, "which", lambda _: "squeue")
    monkeypatch.setattr(slurm, "_ask", lambda *_: "14\n14\n")
    assert slurm.running_jobs(submitted(sweep)) == ["14"]


def test_printed_script_names_what_was_asked_for(results):
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0"]).cells, results, Pace(0.2, 2.0))
    given = {"workers": 3, "partition": "night", "account": "lab", "gpus": 2, "memory": "8G", "cpus": 4, "time": 90}
    text = slurm.script(sweep, checked("slurm", given))
    assert text.startswith("#!/bin/bash\n#SBATCH --")
    assert [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH")] == [
        f"job-name=normexp-{sweep.path.name}",
        "array=0-2",
        "partition=night",
        "account=lab",
        "mem=8G",
        "cpus-per-task=4",
        "gpus-per-node=2",
        "time=90",
        "signal=B:USR2@60",
        "open-mode=append",
        f"output={sweep.path / slurm.FOLDER}/%A_%a.log",
        "requeue",
    ]
    assert "scontrol requeue" in text
    assert "scontrol requeue" not in slurm.script(sweep, checked("slurm", {"requeue": False}))


def test_submission_that_fails_is_one_line(results, monkeypatch):
    submitit = pytest.importorskip("submitit")
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0"]).cells, results, Pace(0.2, 2.0))

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("sbatch: error: first\nsbatch: error: Invalid account")

    monkeypatch.setattr(submitit, "AutoExecutor", fail)
    with pytest.raises(UserError, match="nothing was submitted: sbatch: error: Invalid account"):
        slurm.submit(sweep, checked("slurm", {}))


def test_submitted_is_no_failure(cli, monkeypatch):
    def submit_all(*_: object, **__: object) -> int:
        raise Submitted("submitted; look there")

    monkeypatch.setattr("normexp.sweeps.sweep.sweep", submit_all)
    assert cli("sweep", "seed=0,1") == (0, "", "normexp: submitted; look there\n")


def test_beats_are_numbers_that_change(results):
    sweep = write_plan(make_plan([*TINY, f"results_dir={results}", "seed=0"]).cells, results, Pace(60.0, 600.0))
    worker = SweepWorker(sweep, InProcess(1))
    with worker.beats.beating():
        first = json.loads(sweep.folder.read(f"{worker.beats.name}.json") or "")
        worker.beats.show()
        second = json.loads(sweep.folder.read(f"{worker.beats.name}.json") or "")
    assert (first["beat"], second["beat"]) == (1, 2)
