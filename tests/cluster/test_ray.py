"""A sweep on a real Ray cluster of two raylets, one of them killed in the middle, to the bytes of a serial run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from slurm_here import free_ports, until

from normexp.records import find_runs
from normexp.sweeps.shared import SharedSweep

pytestmark = pytest.mark.cluster
GRID = ("model=mlp", "norm=none,batch,layer,group", "seed=range(6)", "steps=400", "eval_every=100", "threads=1")
PACE = ("executor.heartbeat=0.5", "executor.takeover=4")


class Cluster:
    """A head and a second node, each a raylet of two CPUs, started by Ray's own command in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_ports(1)[0]
        self.address = f"127.0.0.1:{self.port}"
        self.environment = {**os.environ, "RAY_TMPDIR": str(folder), "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
        self.nodes = [
            self._start("--head", f"--port={self.port}", "--include-dashboard=false"),
            self._start(f"--address={self.address}"),
        ]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        program = "import sys; from ray.scripts.scripts import main; sys.exit(main())"
        command = [sys.executable, "-c", program, "start", *words, "--num-cpus=2", "--block", "--disable-usage-stats"]
        nowhere = subprocess.DEVNULL
        started = subprocess.Popen(
            command, env=self.environment, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
        if "--head" in words:
            until(lambda: listens(self.port), 120)
        return started

    def raylets(self) -> list[int]:
        """Return the processes of the raylets, the head's first."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = path.read_bytes().split(b"\0")
                if words[0].endswith(b"/raylet") and any(str(self.port).encode() in word for word in words):
                    found.append(int(path.parent.name))
        return sorted(found)

    def end(self) -> None:
        for node in self.nodes:
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)
            node.wait()
        for process in sessions_of(self.environment["RAY_TMPDIR"]):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def listens(port: int) -> bool:
    import socket

    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False


def sessions_of(folder: str) -> list[int]:
    """Return the processes that name a folder in their command line or environment: those of this cluster."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            text = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
            if folder.encode() in text and int(path.name) != os.getpid():
                found.append(int(path.name))
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    pytest.importorskip("ray", reason="ray is not installed (pip install 'normexp[ray]')")
    started = Cluster(tmp_path_factory.mktemp("r"))
    try:
        until(lambda: len(started.raylets()) == 2, 120)
        yield started
    finally:
        started.end()


def normexp(environment: dict[str, str], folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "normexp", *words]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def files(results: Path) -> dict[tuple[str, str], bytes]:
    names = ("metrics.csv", "probes.csv", "checkpoint.safetensors")
    return {(run.path.name, name): (run.path / name).read_bytes() for run in find_runs([results]) for name in names}


def test_sweep_on_ray_with_a_raylet_killed(cluster, tmp_path):
    began = time.monotonic()

    def say(*words: object) -> None:
        print(f"[{time.monotonic() - began:6.1f} s]", *words, flush=True)

    words = ("sweep", *GRID, "executor=ray", "executor.workers=3", f"executor.address={cluster.address}", *PACE)
    say("$ normexp", *words)
    with normexp(cluster.environment, tmp_path, *words) as process:
        try:
            until(lambda: len(list(tmp_path.glob("results/.sweeps/*/claims/*/*.done"))) >= 6, 240)
            sweep = SharedSweep(next((tmp_path / "results" / ".sweeps").iterdir()))
            at = {each: children(each) for each in cluster.raylets()[1:]}
            say("6 of 24 cells have ended; workers:", ", ".join(sweep.folder.workers()))
            say("$ kill -KILL of the raylet of the second node, process", *at)
            for raylet in at:
                os.kill(raylet, signal.SIGKILL)
            _, stderr = process.communicate(timeout=400)
        finally:
            process.kill()
    say(re.sub(r"(?m)^(?!normexp:).*\n?", "", stderr).strip())
    assert process.returncode == 0, stderr
    claims = [name for name in sweep.folder.claims(0) if name.count(".") == 1]
    taken = [name for name in claims if sweep.folder.read(name) == "taken"]
    say(f"claims: {len(claims)} for 24 cells; given up or taken over: {', '.join(taken) or 'none'}")
    assert taken, "no worker was at a cell when its node died"
    with normexp(cluster.environment, tmp_path, "sweep", *GRID, "jobs=2", "results_dir=serial") as serial:
        _, stderr = serial.communicate(timeout=400)
    assert serial.returncode == 0, stderr
    assert files(tmp_path / "results") == files(tmp_path / "serial")
    say(f"{len(find_runs([tmp_path / 'results']))} runs have the bytes of a serial sweep (metrics, probes, weights)")


def children(process: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def test_more_gpus_than_a_node_has_are_refused(cluster, tmp_path):
    words = ("sweep", "model=linear", "seed=0,1", "executor=ray", f"executor.address={cluster.address}")
    with normexp(cluster.environment, tmp_path, *words, "executor.gpus=2") as process:
        _, stderr = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "executor.gpus=2: no node has more than 0" in stderr.splitlines()[-1]
    assert not list(tmp_path.glob("results/runs/*"))
