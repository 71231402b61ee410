"""Sweeps on a real Ray cluster of two raylets, one of them killed in the middle, to the bytes of a serial run."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
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
    free_ports,
    log_of,
    normexp,
    own_lines,
    start,
    sweep_on_two_workers,
    taken,
    the_sweep,
    until,
)
from read_logs import assert_same, of_tensorboard

from normexp.records import find_runs

pytestmark = pytest.mark.cluster
SMALL = ("model=linear", "seed=0,1", "steps=5")


class Cluster:
    """A head and a second node, each a raylet of two CPUs, started by Ray's own command.

    Args:
        folder: of its sockets; no longer than a name in /tmp, since the path of a socket has at most 107 characters.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_ports(1)[0]
        self.address = f"127.0.0.1:{self.port}"
        self.environment = environment_of(folder)
        self.nodes: list[subprocess.Popen[bytes]] = []

    def start_node(self) -> None:
        """Start a node, the head first; wait for its raylet."""
        head = ("--head", f"--port={self.port}", "--include-dashboard=false")
        words = (f"--address={self.address}",) if self.nodes else head
        program = "import sys; from ray.scripts.scripts import main; sys.exit(main())"
        command = [
            sys.executable,
            "-u",
            "-c",
            program,
            "start",
            *words,
            "--num-cpus=2",
            "--block",
            "--disable-usage-stats",
        ]
        log = self.folder / f"node{len(self.nodes)}.log"
        with log.open("wb") as output:
            self.nodes.append(
                subprocess.Popen(
                    command,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            )
        until(lambda: "Ray runtime started" in log.read_text(), why=lambda: f"for a raylet: {log_of([log])}")

    def raylets(self) -> set[int]:
        """Return the processes of the raylets."""
        return {process for process in self.processes() if command_of(process)[0].endswith(b"/raylet")}

    def processes(self) -> list[int]:
        """Return the processes that name the folder in their command line or environment: those of this cluster."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                text = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
                if str(self.folder).encode() in text and int(path.name) != os.getpid():
                    found.append(int(path.name))
        return found

    def end(self) -> None:
        for process in [*(node.pid for node in self.nodes), *self.processes()]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for node in self.nodes:
            node.wait()


def environment_of(folder: Path) -> dict[str, str]:
    """Return an environment in which Ray finds no cluster and no token but those of a folder, and leaves none."""
    own = {"HOME": str(folder), "RAY_TMPDIR": str(folder), "RAY_AUTH_MODE": "disabled"}
    usual = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    return {**usual, **own, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}


def command_of(process: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return [b""]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    pytest.importorskip("ray", reason="ray is not installed (pip install 'normexp[ray]')")
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    started = Cluster(folder)
    try:
        started.start_node()
        started.start_node()
        yield started
    finally:
        started.end()
        shutil.rmtree(folder, ignore_errors=True)


def test_sweep_with_a_raylet_killed(cluster, serial, tmp_path):
    say, brake = Transcript(), Brake(tmp_path)
    words = ("sweep", *GRID, *OWN, "executor=ray", "executor.workers=4", f"executor.address={cluster.address}", *PACE)
    say("$ normexp", *words)
    process = start(cluster.environment, tmp_path, *words)
    try:
        until(lambda: any(tmp_path.glob("results/.sweeps/*/plan.json.gz")))
        sweep = the_sweep(tmp_path)
        until(lambda: process.poll() is not None or len(set(claims(sweep).values())) == 4)
        until(lambda: process.poll() is not None or count_ended(sweep) >= 4)
        assert process.poll() is None, ended(process)
        (victim,) = second_of(cluster)
        say(f"{count_ended(sweep)} of {CELLS} cells have ended; workers:", ", ".join(sweep.folder.workers()))
        say("$ kill -KILL of the raylet of the second node, process", victim)
        os.kill(victim, signal.SIGKILL)
        brake.harder()  # so that cells are left for those that Ray starts again
        before = set(claims(sweep).values())
        say("a third node is started")
        cluster.start_node()
        until(lambda: set(claims(sweep).values()) - before - {"taken"})
        say("started again by Ray:", ", ".join(set(claims(sweep).values()) - before - {"taken"}))
        brake.release()
    finally:
        brake.release()
        status, _, stderr = ended(process)  # also where something failed: its workers end with it
    say(own_lines(stderr))
    assert status == 0, stderr
    assert taken(sweep), "no worker was at a cell when its node died"
    say(f"claims: {len(claims(sweep))} for {CELLS} cells; taken over: {', '.join(taken(sweep))}")
    assert files(tmp_path / "results") == serial
    say(f"{len(find_runs([tmp_path / 'results']))} runs have the bytes of a serial sweep (metrics, probes, weights)")


@pytest.mark.filterwarnings("ignore")  # the library's
def test_tasks_of_two_nodes_log(cluster, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (pip install 'normexp[tensorboard]')")
    words = ("executor=ray", f"executor.address={cluster.address}", "executor.cpus=2", "logger=tensorboard")
    sweep_on_two_workers(cluster.environment, tmp_path, *words)
    for run in find_runs([tmp_path / "results"]):
        assert_same(of_tensorboard(tmp_path / "results", run.path.name)[0], run)


def second_of(cluster: Cluster) -> list[int]:
    """Return the raylet of the second node: a descendant of the command that started it."""
    return [raylet for raylet in cluster.raylets() if os.getpgid(raylet) == cluster.nodes[1].pid]


def test_auto_finds_the_cluster_detached_and_typed_again(cluster, tmp_path):
    brake = Brake(tmp_path)
    words = ("sweep", "model=mlp", "seed=0,1", "steps=150", *OWN, "executor=ray", "executor.address=auto", *PACE)
    status, _, stderr = normexp(cluster.environment, tmp_path, *words, "executor.detach=true")
    assert status == 0, stderr
    assert "2 Ray tasks in the background" in stderr
    until(lambda: any(tmp_path.glob("results/.sweeps/*/workers/*.json")))
    attached = start(cluster.environment, tmp_path, *words)
    brake.release()
    status, _, stderr = ended(attached)
    assert status == 0, stderr
    assert "attached to" in stderr
    assert {run.status["status"] for run in find_runs([tmp_path / "results"])} == {"done"}


def test_cluster_of_its_own_is_started_where_no_address_is_given(tmp_path):
    pytest.importorskip("ray", reason="ray is not installed (pip install 'normexp[ray]')")
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    status, _, stderr = normexp(
        environment_of(folder), tmp_path, "run", "-m", *SMALL, "executor=ray", "executor.workers=1", *PACE
    )
    shutil.rmtree(folder, ignore_errors=True)
    assert status == 0, stderr
    assert {run.status["status"] for run in find_runs([tmp_path / "results"])} == {"done"}


def test_task_that_sees_no_plan_says_so(cluster, tmp_path):
    """What a folder that is not shared looks like to a task: the plan is taken away before it starts."""
    program = (
        "import sys; from pathlib import Path; from normexp.cli.verbs import main; "
        "from normexp.sweeps.executors.ray import RayExecutor as R; submit = R._submit; "
        "R._submit = lambda self, sweep: ((sweep.path / 'plan.json.gz').rename('away'), submit(self, sweep))[1]; "
        "sys.exit(main())"
    )
    words = ("sweep", *SMALL, "executor=ray", f"executor.address={cluster.address}", *PACE)
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1, done.stderr
    assert "a Ray task failed: " in done.stderr
    assert "sees no plan of a sweep there (plan.json.gz); its folder must be shared" in own_lines(done.stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("executor.gpus=2",), "executor.gpus=2: no node has more than 0"),
        (("executor.gpus=2", "executor.detach=true"), "executor.gpus=2: no node has more than 0"),
        (("executor.cpus=99",), "executor.cpus=99: no node has more than 2"),
    ],
)
def test_what_no_node_has_is_refused_in_one_line(cluster, tmp_path, words, message):
    words = ("sweep", *SMALL, "executor=ray", f"executor.address={cluster.address}", *words)
    status, _, stderr = normexp(cluster.environment, tmp_path, *words)
    assert status == 2
    assert message in stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
