"""Sweeps on a real SLURM: requeued jobs, a node down, time that is over, preemption; to the bytes of a serial run."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from many_machines import (
    CELLS,
    GRID,
    OWN,
    PACE,
    Brake,
    Transcript,
    claims,
    count_ended,
    ended,
    files,
    log_of,
    normexp,
    own_lines,
    start,
    sweep_on_two_workers,
    taken,
    the_sweep,
    until,
)
from read_logs import READERS, assert_same, loggers
from slurm_here import Slurm, slurm, why_not

from normexp.records import find_runs

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_not() is not None, reason=f"no SLURM here: {why_not()}"),
]
ONE_CELL = ("model=mlp", "norm=batch", "seed=0", "steps=150", "eval_every=50", "threads=1", *OWN)


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[Slurm]:
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'normexp[slurm]')")
    with slurm(tmp_path_factory.mktemp("slurm")) as started:
        yield started


@pytest.fixture
def cluster(running) -> Iterator[Slurm]:
    yield running
    running.clear()


def job_of(stderr: str) -> str:
    return stderr.partition("slurm job ")[2].partition(",")[0]


def the_run(folder: Path) -> dict[str, object]:
    (run,) = find_runs([folder / "results"])
    return run.status


def test_sweep_with_a_requeued_job_and_a_node_down(cluster, serial, tmp_path):
    say, brake = Transcript(), Brake(tmp_path)
    words = ("sweep", *GRID, *OWN, "executor=slurm", "executor.workers=4", "executor.time=30", *PACE)
    say("$ normexp", *words)
    status, _, stderr = normexp(cluster.environment, tmp_path, *words)
    say(stderr.strip())
    assert status == 0, stderr
    job, sweep = job_of(stderr), the_sweep(tmp_path)

    until(lambda: count_ended(sweep) >= 3)
    victim = next(task for task, (state, node) in cluster.tasks(job).items() if state == "RUNNING" and node == "n1")
    say(f"{count_ended(sweep)} of {CELLS} cells have ended; $ scontrol requeue {victim}")
    cluster.ask("scontrol", "requeue", victim)
    say("tasks:", cluster.tasks(job))
    until(lambda: count_ended(sweep) >= 6)
    say(f"{count_ended(sweep)} have ended; $ scontrol update NodeName=n2 State=DOWN Reason=test")
    cluster.ask("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
    say(cluster.ask("sinfo", "-h", "-N", "-o", "%N %T").replace("\n", ", "), "tasks:", cluster.tasks(job))
    until(lambda: taken(sweep))
    brake.harder()
    before = set(claims(sweep).values())
    cluster.ask("scontrol", "update", "NodeName=n2", "State=RESUME")

    def is_back() -> bool:
        cluster.start_held(job)
        return bool(set(claims(sweep).values()) - before)

    until(is_back)
    say(f"{count_ended(sweep)} have ended; $ scontrol update NodeName=n2 State=RESUME; tasks:", cluster.tasks(job))
    brake.release()

    say("$ normexp", *words, "(attaches)")
    status, _, stderr = normexp(cluster.environment, tmp_path, *words)
    say(stderr.strip())
    assert status == 0, stderr
    assert "attached to results/.sweeps/" in stderr
    say(f"claims: {len(claims(sweep))} for {CELLS} cells; taken over: {', '.join(taken(sweep))}")
    assert files(tmp_path / "results") == serial
    say(f"{len(find_runs([tmp_path / 'results']))} runs have the bytes of a serial sweep (metrics, probes, weights)")


def test_worker_whose_time_is_over_saves_and_goes_on_when_requeued(cluster, serial, tmp_path):
    """Two minutes, of which SLURM takes the last 60 s for saving and looks every 30 s whether they have begun."""
    say, brake = Transcript(), Brake(tmp_path)
    words = ("sweep", *ONE_CELL, "executor=slurm", "executor.workers=1", "executor.time=2", *PACE)
    brake.harder()  # 150 s at least
    say("$ normexp", *words)
    status, _, stderr = normexp(cluster.environment, tmp_path, *words)
    assert status == 0, stderr
    job, sweep = job_of(stderr), the_sweep(tmp_path)

    def seen() -> str:
        return f"{cluster.tasks(job)} {sweep.states(0)[0]} {log_of([*sorted(tmp_path.rglob('*.err')), cluster.log])}"

    until(lambda: sweep.states(0)[0].is_held, why=seen)
    until(lambda: sweep.states(0)[0].is_free, why=seen)
    stopped = the_run(tmp_path)
    say(f"SLURM's signal has come: {stopped['status']} at step {stopped['step']}; tasks:", cluster.tasks(job))
    assert stopped["status"] == "interrupted"
    assert 0 < int(str(stopped["step"])) < 150
    brake.release()

    def goes_on() -> bool:
        cluster.start_held(job)
        return sweep.states(0)[0].generation == 2

    until(goes_on)
    say("requeued; tasks:", cluster.tasks(job))
    until(lambda: sweep.states(0)[0].end)
    assert the_run(tmp_path)["attempts"] == 2
    own = files(tmp_path / "results")
    assert own == {key: serial[key] for key in own}
    say("the run has the bytes of one that nobody stopped")


def test_printed_script_is_preempted_and_requeued_without_submitit(cluster, serial, tmp_path):
    brake = Brake(tmp_path)
    words = ("sweep", *ONE_CELL, "executor=slurm", "executor.workers=1", *PACE, "executor.print_script=true")
    status, script, stderr = normexp(cluster.environment, tmp_path, *words)
    assert status == 0, stderr
    assert "nothing was submitted" in stderr
    sweep = the_sweep(tmp_path)
    path = next(tmp_path.glob("results/.sweeps/*/sbatch.sh"))
    assert path.read_text() == script
    job = cluster.ask("sbatch", "--parsable", "--chdir", str(tmp_path), str(path)).strip()
    until(lambda: any(tmp_path.glob("results/runs/*/metrics.csv")))
    cluster.ask("scancel", "--batch", "--signal=USR2", job)  # what a site sends that preempts
    until(lambda: sweep.states(0)[0].is_free)
    assert the_run(tmp_path)["status"] == "interrupted"
    brake.release()

    def has_ended() -> bool:
        cluster.start_held(job)
        return sweep.states(0)[0].end == "done"

    until(has_ended)
    assert the_run(tmp_path)["attempts"] == 2
    own = files(tmp_path / "results")
    assert own == {key: serial[key] for key in own}


def test_both_stages_of_an_experiment(cluster, tmp_path):
    say, text = Transcript(), Path(__file__).parents[1] / "two_stages.yaml"
    words = ("reproduce", shutil.copy(text, tmp_path), "executor=slurm", "executor.workers=2", *PACE)
    for stage in (1, 2):
        say("$ normexp", *words[:1], "two_stages.yaml", *words[2:])
        status, stdout, stderr = normexp(cluster.environment, tmp_path, *words)
        say(stderr.strip())
        assert (status, stderr.count(": slurm job ")) == (0, 1), stderr
        assert "table.md" not in stdout
        until(lambda: not cluster.ask("squeue", "-h"))
        assert len(find_runs([tmp_path / "results"])) == 4 * stage
    status, stdout, stderr = normexp(cluster.environment, tmp_path, *words)
    say(stderr.strip())
    assert (status, stderr.count(": slurm job ")) == (0, 0)
    assert "table.md" in stdout


def test_run_m_that_stays_is_stopped_by_ctrl_c_and_continued(cluster, serial, tmp_path):
    brake = Brake(tmp_path)
    words = ("run", "-m", *ONE_CELL, "executor=slurm", "executor.workers=1", "executor.detach=false", *PACE)
    process = start(cluster.environment, tmp_path, *words)
    until(lambda: any(tmp_path.glob("results/runs/*/metrics.csv")))
    process.send_signal(signal.SIGINT)
    status, _, stderr = ended(process)
    assert status == 130
    assert "stopped, and what was running is saved" in own_lines(stderr).splitlines()[-1]
    assert the_run(tmp_path)["status"] == "interrupted"
    assert cluster.ask("squeue", "-h") == ""
    brake.release()
    status, _, stderr = normexp(cluster.environment, tmp_path, *words)
    assert status == 0, stderr
    own = files(tmp_path / "results")
    assert own == {key: serial[key] for key in own}


REFUSED = {
    "more GPUs than a node has": ("executor.gpus=9", "executor.gpus=9: no node has more than 0"),
    "no such partition": ("executor.partition=night", "executor.partition=night: there is no such partition"),
    "more memory than there is": ("executor.memory=900T", "nothing was submitted: sbatch: error: "),
    "more CPUs than a node has": ("executor.cpus=99", "executor.cpus=99: no node has more than 2"),
    "no such memory": ("executor.memory=much", "must be a number of megabytes"),
}


@pytest.mark.parametrize(("word", "message"), REFUSED.values(), ids=REFUSED)
def test_what_slurm_cannot_give_is_refused_in_one_line(cluster, tmp_path, word, message):
    words = ("sweep", "model=linear", "seed=0,1", "executor=slurm", word)
    status, _, stderr = normexp(cluster.environment, tmp_path, *words)
    assert status == 2
    assert message in stderr.splitlines()[-1]
    assert cluster.ask("squeue", "-h") == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore")  # the libraries', about each other
@pytest.mark.parametrize("name", loggers())
def test_workers_on_two_nodes_log(cluster, tmp_path, name):
    sweep_on_two_workers(cluster.environment, tmp_path, "executor=slurm", "executor.detach=false", f"logger={name}")
    for run in find_runs([tmp_path / "results"]):
        assert_same(READERS[name](tmp_path / "results", run.path.name)[0], run)
