"""A sweep on a real SLURM: a job requeued and a node set down in the middle, to the bytes of a serial run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_here import Slurm, slurm, until, why_not

from normexp.records import find_runs
from normexp.sweeps.shared import SharedSweep

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_not() is not None, reason=f"no SLURM here: {why_not()}"),
]
GRID = ("model=mlp", "norm=none,batch,layer,group", "seed=range(6)", "steps=400", "eval_every=100", "threads=1")
PACE = ("executor.heartbeat=0.5", "executor.takeover=4")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Slurm]:
    pytest.importorskip("submitit", reason="submitit is not installed (pip install 'normexp[slurm]')")
    with slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


class Transcript:
    """What was done and answered, with the seconds since the beginning; shown where a test fails."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, *words: object) -> None:
        print(f"[{time.monotonic() - self.began:6.1f} s]", *words, flush=True)


def normexp(cluster: Slurm, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "normexp", *words]
    return subprocess.run(command, cwd=folder, env=cluster.environment, capture_output=True, text=True, timeout=400)


def files(results: Path) -> dict[tuple[str, str], bytes]:
    names = ("metrics.csv", "probes.csv", "checkpoint.safetensors", "config.yaml")
    return {(run.path.name, name): (run.path / name).read_bytes() for run in find_runs([results]) for name in names}


def the_sweep(folder: Path) -> SharedSweep:
    (path,) = (folder / "results" / ".sweeps").iterdir()
    return SharedSweep(path)


def ended(sweep: SharedSweep) -> int:
    return sum(state.end is not None for block in sweep.blocks for state in sweep.states(block).values())


def test_sweep_on_slurm_with_a_requeued_job_and_a_node_down(cluster, tmp_path):
    say = Transcript()
    words = ("sweep", *GRID, "executor=slurm", "executor.workers=4", "executor.time=30", *PACE)
    say("$ normexp", *words)
    submitted = normexp(cluster, tmp_path, *words)
    say(submitted.stderr.strip())
    assert submitted.returncode == 0, submitted.stderr
    job = submitted.stderr.partition("slurm job ")[2].partition(",")[0]
    sweep = the_sweep(tmp_path)

    until(lambda: ended(sweep) >= 3)
    victim = next(task for task, (state, node) in cluster.tasks(job).items() if state == "RUNNING" and node == "n1")
    say(
        f"{ended(sweep)} of 24 cells have ended; $ scontrol requeue {victim}",
        cluster.ask("scontrol", "requeue", victim),
    )
    until(lambda: ended(sweep) >= 8)
    say(f"{ended(sweep)} have ended; $ scontrol update NodeName=n2 State=DOWN Reason=test")
    cluster.ask("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
    say(cluster.ask("sinfo", "-h", "-N", "-o", "%N %T").replace("\n", ", "), "tasks:", cluster.tasks(job))
    until(lambda: ended(sweep) >= 12)
    cluster.ask("scontrol", "update", "NodeName=n2", "State=RESUME")
    cluster.start_held(job)
    say(f"{ended(sweep)} have ended; $ scontrol update NodeName=n2 State=RESUME; tasks:", cluster.tasks(job))

    say("$ normexp", *words, "(attaches)")
    attached = normexp(cluster, tmp_path, *words)
    say(attached.stderr.strip())
    assert attached.returncode == 0, attached.stderr
    claims = [name for name in sweep.folder.claims(0) if name.count(".") == 1]
    taken = [name for name in claims if sweep.folder.read(name) == "taken"]
    say(f"claims: {len(claims)} for 24 cells; given up or taken over: {', '.join(taken) or 'none'}")
    assert taken, "nothing was interrupted: the test was too quick for its kills"

    serial = normexp(cluster, tmp_path, "sweep", *GRID, "jobs=2", "results_dir=serial")
    assert serial.returncode == 0, serial.stderr
    assert without_place(files(tmp_path / "results")) == without_place(files(tmp_path / "serial"))
    say(f"{len(find_runs([tmp_path / 'results']))} runs have the bytes of a serial sweep (metrics, probes, weights)")


def without_place(content: dict[tuple[str, str], bytes]) -> dict[tuple[str, str], bytes]:
    return {key: value for key, value in content.items() if key[1] != "config.yaml"}


def test_preempted_worker_saves_is_requeued_and_goes_on(cluster, tmp_path):
    """SIGUSR2 is what SLURM sends before the time is over and, where it is set up so, before it preempts."""
    grid = ("model=mlp", "norm=batch", "seed=0", "steps=3000", "eval_every=1000", "threads=1")
    words = ("sweep", *grid, "executor=slurm", "executor.workers=1", *PACE)
    submitted = normexp(cluster, tmp_path, *words)
    job = submitted.stderr.partition("slurm job ")[2].partition(",")[0]
    sweep = the_sweep(tmp_path)
    until(lambda: len(list(tmp_path.glob("results/runs/*/metrics.csv"))) == 1)
    until(lambda: "\n1000," in next(tmp_path.glob("results/runs/*/metrics.csv")).read_text())
    cluster.ask("scancel", "--signal=USR2", job)
    until(lambda: sweep.states(0)[0].is_free)
    assert find_runs([tmp_path / "results"])[0].status["status"] == "interrupted"

    def goes_on() -> bool:
        cluster.start_held(job)
        return sweep.states(0)[0].generation == 2

    until(goes_on)
    assert normexp(cluster, tmp_path, *words).returncode == 0
    assert find_runs([tmp_path / "results"])[0].status["attempts"] == 2
    assert normexp(cluster, tmp_path, "sweep", *grid, "jobs=1", "results_dir=serial").returncode == 0
    assert without_place(files(tmp_path / "results")) == without_place(files(tmp_path / "serial"))


def test_printed_script_does_the_same_without_submitit(cluster, tmp_path):
    grid = ("model=linear", "seed=range(3)", "steps=50", "threads=1")
    words = ("sweep", *grid, "executor=slurm", "executor.workers=2", *PACE, "executor.print_script=true")
    printed = normexp(cluster, tmp_path, *words)
    assert printed.returncode == 0, printed.stderr
    assert "nothing was submitted" in printed.stderr
    assert "#SBATCH --array=0-1\n" in printed.stdout
    script = next(tmp_path.glob("results/.sweeps/*/sbatch.sh"))
    assert script.read_text() == printed.stdout
    cluster.ask("sbatch", "--chdir", str(tmp_path), str(script))
    sweep = the_sweep(tmp_path)
    until(lambda: ended(sweep) == 3)


REFUSED = {
    "more GPUs than a node has": ("executor.gpus=9", "executor.gpus=9: no node has more than 0"),
    "no such partition": ("executor.partition=night", "executor.partition=night: there is no such partition"),
    "more memory than there is": ("executor.memory=900T", "nothing was submitted"),
}


@pytest.mark.parametrize(("word", "message"), REFUSED.values(), ids=REFUSED)
def test_what_slurm_cannot_give_is_refused_in_one_line(cluster, tmp_path, word, message):
    refused = normexp(cluster, tmp_path, "sweep", "model=linear", "seed=0,1", "executor=slurm", word)
    assert refused.returncode == 2
    assert message in refused.stderr.splitlines()[-1]
    assert cluster.ask("squeue", "-h", "-t", "PENDING") == ""
    shutil.rmtree(tmp_path / "results", ignore_errors=True)
