"""A real SLURM on the loopback interface: one controller and two nodes, in a folder of its own, without munge."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from many_machines import free_ports, log_of, until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sinfo", "srun")
NODES = ("n1", "n2")
PAUSE = 3.0  # seconds
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
    cluster = Slurm({**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}, folder / "slurmctld.log")
    logs = sorted(folder / f"{daemon}.log" for daemon in ("slurmctld", *(f"slurmd-{name}" for name in NODES)))
    daemons = [cluster.daemon("slurmctld", "-D"), *(cluster.daemon("slurmd", "-D", "-N", name) for name in NODES)]
    try:
        until(cluster.is_idle, 60, lambda: f"for idle nodes: {log_of(logs)}")
        yield cluster
    finally:
        with suppress(OSError, subprocess.SubprocessError, AssertionError):
            cluster.clear(20)
        for daemon in reversed(daemons):
            daemon.terminate()
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
            daemon.kill()
            daemon.wait()


class Slurm:
    """A running cluster, and what its controller logs."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.environment, self.log = environment, log
        self._pending: dict[str, float] = {}

    def daemon(self, *command: str) -> subprocess.Popen[bytes]:
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, env=self.environment, stdin=nowhere, stdout=nowhere, stderr=nowhere)

    def ask(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def is_idle(self) -> bool:
        return self.ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(NODES)

    def clear(self, seconds: float = 60) -> None:
        """Cancel every job and have every node back: a test finds the cluster as the first one did."""
        self.ask("scancel", "--user=root")
        self.ask("scontrol", "update", f"NodeName={','.join(NODES)}", "State=RESUME")
        until(lambda: not self.ask("squeue", "-h"), seconds, lambda: self.ask("squeue"))
        until(self.is_idle, seconds, lambda: self.ask("sinfo"))

    def tasks(self, job: str) -> dict[str, tuple[str, str]]:
        """Return {task: (state, node, or why it waits)} of the tasks of an array that are not over."""
        lines = self.ask("squeue", "-h", "-r", "-j", job, "-o", "%i|%T|%R").splitlines()
        return {task: (state, where) for task, state, where in (line.split("|") for line in lines if "|" in line)}

    def start_held(self, job: str) -> None:
        """Start what has waited for some seconds: SLURM holds a requeued job for two minutes, which a test need not.

        At once would be too soon: a node refuses a job that it has just been told to forget.
        """
        pending = [(task, why) for task, (state, why) in self.tasks(job).items() if state == "PENDING"]
        self._pending = {task: self._pending.get(task, time.monotonic()) for task, _ in pending}
        for task, why in pending:
            if time.monotonic() - self._pending[task] < PAUSE:
                continue
            if "held" in why:  # it could not be started on the node that was just set down
                self.ask("scontrol", "release", task)
            self.ask("scontrol", "update", f"JobId={task}", "StartTime=now")
            del self._pending[task]
