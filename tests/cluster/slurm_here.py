"""A real SLURM on the loopback interface: one controller and two nodes, in a folder of its own, without munge."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sinfo", "srun")
NODES = ("n1", "n2")
CONFIGURATION = """\
ClusterName=here
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=1
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
KillWait=10
SlurmdTimeout=10
SchedulerParameters=sched_interval=1,batch_sched_delay=0
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
"""
NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN\n"
PARTITION = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"


def why_not() -> str | None:
    """Return why no SLURM can be started here; None where one can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} is not installed (apt-get install slurm-wlm)"
    return "slurmd wants root" if os.geteuid() else None


@contextmanager
def slurm(folder: Path) -> Iterator[Slurm]:
    """Start a cluster; end it, and all its jobs, with the block."""
    ports = free_ports(1 + len(NODES))
    (folder / "state").mkdir(parents=True)
    text = CONFIGURATION.format(controller=ports[0], folder=folder)
    text += "".join(NODE.format(name=name, port=port) for name, port in zip(NODES, ports[1:], strict=True))
    (folder / "slurm.conf").write_text(text + PARTITION)
    cluster = Slurm({**os.environ, "SLURM_CONF": str(folder / "slurm.conf")})
    daemons = [cluster.daemon("slurmctld", "-D"), *(cluster.daemon("slurmd", "-D", "-N", name) for name in NODES)]
    try:
        until(lambda: cluster.ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(NODES), 60)
        yield cluster
    finally:
        with suppress(OSError, subprocess.SubprocessError):
            cluster.ask("scancel", "--full", "--signal=KILL", "--user=root")
        for daemon in reversed(daemons):
            daemon.terminate()
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
            daemon.kill()
            daemon.wait()


class Slurm:
    """A running cluster."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def daemon(self, *command: str) -> subprocess.Popen[bytes]:
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, env=self.environment, stdin=nowhere, stdout=nowhere, stderr=nowhere)

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def tasks(self, job: str) -> dict[str, tuple[str, str]]:
        """Return {task: (state, node)} of the tasks of an array that are not over."""
        lines = self.ask("squeue", "-h", "-r", "-j", job, "-o", "%i %T %N").splitlines()
        return {words[0]: (words[1], words[2] if len(words) > 2 else "") for words in map(str.split, lines)}

    def start_held(self, job: str) -> None:
        """Start what waits: SLURM holds a requeued job for two minutes, which a test need not."""
        for task, (state, _) in self.tasks(job).items():
            if state == "PENDING":
                self.ask("scontrol", "update", f"JobId={task}", "StartTime=now")


def free_ports(count: int) -> list[int]:
    """Return ports on the loopback interface that nobody listens at."""
    with_ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = []
    for server in with_ports:
        with closing(server):
            ports.append(int(server.getsockname()[1]))
    return ports


def until(condition, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.1)
