"""Workers as one SLURM job array: submitted through submitit, or by the sbatch file that is printed.

One array, not a job per cell: a scheduler that is asked about thousands of jobs stands still. A worker whose time is
nearly over, or that is preempted, gets SIGUSR2: it saves its run, opens its cell to others, and is requeued.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from normexp.config.extras import need_extra
from normexp.config.text import shortened
from normexp.errors import UserError
from normexp.records.files import read_json, write_atomically
from normexp.sweeps.executors.base import last_line, worker_command
from normexp.sweeps.executors.settings import GROUP, Settings
from normexp.sweeps.shared import SharedSweep

LEAD = 60  # seconds before the end of its time at which a worker is told
CHECKPOINT = 10  # seconds between two checkpoints, as long as saving is quick (runs/checkpointer.py)
SCRIPT = "sbatch.sh"
JOBS = "jobs.json"
FOLDER = "jobs"  # submitit's files and the logs
MEMORY = re.compile(r"[1-9]\d*[KMGT]?", re.IGNORECASE)
MOST_REQUEUES = 1000
ENGINE = "slurm"  # as submitit calls it
ASK_EVERY = 20.0  # seconds between two questions to the scheduler
STOPPING = 60.0  # seconds that cancelled workers have for saving; SLURM's own KillWait ends them, usually after 30
ASKING = 30.0  # seconds that the scheduler has for an answer


class SlurmExecutor:
    """Submits N workers as an array; the threads of each are the CPUs that it asks for."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.job: str | None = None
        self._asked, self._left = -ASK_EVERY, False

    def check(self) -> None:
        minutes = self.settings["time"]
        if 60 * minutes < LEAD + CHECKPOINT:
            raise UserError(
                f"executor.time={minutes}: minutes; too short for one checkpoint interval ({CHECKPOINT} s) and the "
                f"{LEAD} s in which a worker saves; at least 2"
            )
        if (memory := self.settings["memory"]) is not None and not MEMORY.fullmatch(memory):
            raise UserError(
                f"executor.memory={shortened(memory)}: must be a number of megabytes, or one with K, M, G or T: 8G"
            )
        if self.settings["print_script"]:
            return
        need_extra(GROUP, self.settings.name)
        if shutil.which("sbatch") is None:
            raise UserError(
                "executor=slurm: no sbatch on this machine; submit from a login node, or take "
                "executor.print_script=true there"
            )
        for key, most in zip(("cpus", "gpus"), most_cpus_and_gpus(self.settings["partition"]), strict=True):
            if self.settings[key] > most:
                raise UserError(f"executor.{key}={self.settings[key]}: no node has more than {most}")

    def start(self, sweep: SharedSweep) -> str:
        self.job = str(submit(sweep, self.settings)[0].job_id).partition("_")[0]
        note_submitted(sweep, self.job)
        self._asked = -ASK_EVERY  # what was known is of earlier jobs
        return f"slurm job {self.job}, {self.settings['workers']} workers (logs: {sweep.path / FOLDER})"

    def is_left(self, sweep: SharedSweep) -> bool:
        if time.monotonic() - self._asked >= ASK_EVERY:
            self._asked, self._left = time.monotonic(), bool(running_jobs(submitted(sweep)))
        return self._left

    def last_words(self, sweep: SharedSweep) -> str:
        return ""

    def stop(self) -> None:
        """Cancel the job that this process has submitted: its workers get SIGTERM, save and end. Others go on."""
        if self.job is None:
            return
        _ask("scancel", self.job)
        until = time.monotonic() + STOPPING
        while running_jobs([self.job]) and time.monotonic() < until:
            time.sleep(1.0)


class WorkerJob:
    """What one job of the array runs: `normexp worker` in a process of its own, which the signals of SLURM reach too.

    submitit calls `checkpoint` at SIGUSR2, before it requeues the job.
    """

    def __init__(self, command: list[str], requeue: bool) -> None:
        self.command, self.requeue = command, requeue
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)
        return self.process.wait()

    def checkpoint(self) -> Any:
        from submitit.helpers import DelayedSubmission

        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.terminate()
            with suppress(ChildProcessError):  # `wait` of the interrupted call still holds its lock
                os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(WorkerJob(self.command, self.requeue)) if self.requeue else None


def submit(sweep: SharedSweep, settings: Settings) -> list[Any]:
    """Submit the array with submitit; return its jobs. Raises UserError where the scheduler refuses."""
    import submitit

    job = WorkerJob(list(worker_command(sweep, settings["cpus"])), settings["requeue"])
    try:
        executor = submitit.AutoExecutor(sweep.path / FOLDER, cluster=ENGINE, slurm_max_num_timeout=MOST_REQUEUES)
        executor.update_parameters(**parameters(sweep, settings))
        with executor.batch():
            return [executor.submit(job) for _ in range(settings["workers"])]
    except Exception as error:
        raise UserError(f"executor=slurm: nothing was submitted: {last_line(error)}") from None


def submitted(sweep: SharedSweep) -> list[str]:
    """Return the numbers of the jobs that were submitted for a sweep, by whomever."""
    try:
        return [str(job) for job in read_json(sweep.path / JOBS)["slurm"]]
    except (FileNotFoundError, KeyError, TypeError):
        return []


def note_submitted(sweep: SharedSweep, job: str) -> None:
    write_atomically(sweep.path / JOBS, json.dumps({"slurm": [*submitted(sweep), job]}) + "\n")


def parameters(sweep: SharedSweep, settings: Settings) -> dict[str, Any]:
    """Return what submitit calls the settings."""
    wanted = {
        **{name.replace("-", "_"): value for name, value in _resources(settings).items()},
        "signal_delay_s": LEAD,
        "additional_parameters": {_requeue(settings): True},
    }
    slurm = {f"slurm_{key}": value for key, value in wanted.items()}
    return {"name": f"normexp-{sweep.path.name}", "timeout_min": settings["time"], **slurm}


def script(sweep: SharedSweep, settings: Settings) -> str:
    """Return the sbatch file that does the same without submitit."""
    flags = {
        "job-name": f"normexp-{sweep.path.name}",
        "array": f"0-{settings['workers'] - 1}",
        **_resources(settings),
        "time": settings["time"],
        "signal": f"B:USR2@{LEAD}",
        "open-mode": "append",
        "output": f"{sweep.path / FOLDER}/%A_%a.log",
    }
    lines = [f"#SBATCH --{name}={shlex.quote(str(value))}" for name, value in flags.items()]
    again = 'scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"' if settings["requeue"] else "exit 0"
    return "\n".join(
        [
            "#!/bin/bash",
            *lines,
            f"#SBATCH --{_requeue(settings)}",
            f"{shlex.join(worker_command(sweep, settings['cpus']))} &",
            "worker=$!",
            f"trap 'kill -TERM $worker; wait $worker; {again}' USR2  # its time is nearly over, or it is preempted",
            "trap 'kill -TERM $worker; wait $worker' TERM",
            "wait $worker",
            "",
        ]
    )


def _resources(settings: Settings) -> dict[str, Any]:
    """Return what a worker asks for, as sbatch calls it, without what is left to the cluster."""
    wanted = {
        "partition": settings["partition"],
        "account": settings["account"],
        "mem": settings["memory"],
        "cpus-per-task": settings["cpus"],
        "gpus-per-node": settings["gpus"] or None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _requeue(settings: Settings) -> str:
    return "requeue" if settings["requeue"] else "no-requeue"


def running_jobs(jobs: list[str]) -> list[str]:
    """Return those of the jobs that run or wait; none where the scheduler does not answer."""
    if not jobs or shutil.which("squeue") is None:
        return []
    answer = _ask("squeue", "--noheader", "--format=%F", "--jobs", ",".join(jobs))
    return sorted(set(answer.split()) & set(jobs))


def most_cpus_and_gpus(partition: str | None) -> tuple[int, int]:
    """Return the most CPUs and the most GPUs that a node of a partition has: sbatch takes what waits for ever.

    Raises: UserError where the scheduler does not answer, or has no such partition.
    """
    command = ["sinfo", "--noheader", "--exact", "--format=%c %G", *(["--partition", partition] if partition else [])]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=ASKING)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"executor=slurm: sinfo does not answer: {last_line(error)}") from None
    if answer.returncode:
        raise UserError(f"executor=slurm: sinfo: {(answer.stderr.strip() or 'no answer').splitlines()[-1]}")
    if not answer.stdout.strip():
        raise UserError(f"executor.partition={partition}: there is no such partition, or it has no node")
    nodes = [line.split(maxsplit=1) for line in answer.stdout.splitlines()]
    return max(int(cpus.rstrip("+")) for cpus, _ in nodes), max(_gpus(generic) for _, generic in nodes)


def _gpus(generic: str) -> int:
    """Return the GPUs in a node's list of generic resources: 4 of `gpu:a100:4(S:0-1),shard:8`."""
    return sum(int(count) for count in re.findall(r"\bgpu(?::[^:,()]+)?:(\d+)", generic))


def _ask(*command: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=ASKING).stdout
    return ""


def write_script(sweep: SharedSweep, settings: Settings) -> Path:
    """Write the sbatch file into the sweep's folder; return its path."""
    path = sweep.path / SCRIPT
    (sweep.path / FOLDER).mkdir(exist_ok=True)
    path.write_text(script(sweep, settings), encoding="utf-8")
    return path
