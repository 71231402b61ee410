"""Workers as processes of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from normexp.sweeps.executors.base import worker_command
from normexp.sweeps.shared import SharedSweep

LOG = "workers.log"
REFUSED = (1, 2)  # exit statuses of a worker whose last line says why
PATIENCE = 120.0  # seconds that a worker has for saving


def start_in_background(command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that outlives this one and that Ctrl-C does not reach."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


class LocalExecutor:
    """Starts processes of a session of their own: Ctrl-C reaches the sweep, which stops them or leaves them.

    Args:
        count: of workers.
        threads: of each.
    """

    def __init__(self, count: int, threads: int) -> None:
        self.count, self.threads = count, threads
        self.processes: list[subprocess.Popen[bytes]] = []
        self._logged = 0  # bytes of the log that are of earlier workers

    def check(self) -> None:
        """Nothing can be wrong."""

    def start(self, sweep: SharedSweep) -> str:
        command = worker_command(sweep, self.threads)
        with (sweep.path / LOG).open("ab") as log:
            self._logged = log.tell()
            for _ in range(self.count):
                self.processes.append(start_in_background(command, log))
        return f"{self.count} local workers (log: {sweep.path / LOG})"

    def is_left(self, sweep: SharedSweep) -> bool:
        return any(process.poll() is None for process in self.processes)

    def last_words(self, sweep: SharedSweep) -> str:
        if not any(process.poll() in REFUSED for process in self.processes):
            return ""
        said = (sweep.path / LOG).read_bytes()[self._logged :].decode(errors="replace").strip()
        return said.rpartition("\n")[2].removeprefix("normexp: ")

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
