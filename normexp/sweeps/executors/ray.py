"""Workers as Ray tasks with CPU and GPU resources; Ray starts one again whose node died.

What submits the tasks has to live as long as they do: the sweep itself, or a process in the background.
"""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from normexp.errors import Interrupted, UserError
from normexp.sweeps.executors.local import start_in_background
from normexp.sweeps.executors.settings import Settings, checked
from normexp.sweeps.shared import SharedSweep

LOG = "ray.log"
REACHABLE = 5.0  # seconds that the address has to answer
STOPPING = 120.0  # seconds that the workers have for saving
IN_BACKGROUND = "import sys; sys.path.remove(''); from normexp.sweeps.executors.ray import main; main()"


class RayExecutor:
    """Submits N tasks to a cluster, or to one that is started here for them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tasks: list[Any] = []
        self.background: subprocess.Popen[bytes] | None = None

    def check(self) -> None:
        check_reachable(self.settings["address"])

    def start(self, sweep: SharedSweep) -> str:
        if self.settings["detach"]:
            words = json.dumps({**self.settings.values, "detach": False})
            with (sweep.path / LOG).open("ab") as log:
                command = [sys.executable, "-c", IN_BACKGROUND, str(sweep.path), words]
                self.background = start_in_background(command, log)
            return f"{self.settings['workers']} Ray tasks in the background (log: {sweep.path / LOG})"
        self._connect()
        self.tasks = self._submit(sweep)
        return f"{len(self.tasks)} Ray tasks"

    def is_left(self, sweep: SharedSweep) -> bool:
        if self.background is not None:
            return self.background.poll() is None
        if not self.tasks:
            return False
        import ray

        return bool(ray.wait(self.tasks, num_returns=len(self.tasks), timeout=0)[1])

    def stop(self) -> None:
        """Have the tasks save and end."""
        if not self.tasks:
            return
        import ray

        for task in self.tasks:
            ray.cancel(task, force=False)
        ray.wait(self.tasks, num_returns=len(self.tasks), timeout=STOPPING)

    def _connect(self) -> None:
        import ray

        if ray.is_initialized():
            return
        address = self.settings["address"]
        here = {"include_dashboard": False} if address is None else {}
        try:
            ray.init(address=address or "local", logging_level=logging.ERROR, log_to_driver=False, **here)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UserError(f"executor.address={address}: {str(error).splitlines()[0]}") from None
        _check_gpus(self.settings["gpus"], [node["Resources"].get("GPU", 0.0) for node in ray.nodes() if node["Alive"]])

    def _submit(self, sweep: SharedSweep) -> list[Any]:
        import ray

        settings = self.settings
        task = ray.remote(
            num_cpus=settings["cpus"], num_gpus=settings["gpus"], max_retries=settings["retries"], max_calls=1
        )(serve_in_task)
        path = str(sweep.path.resolve())
        return [task.remote(path, settings["cpus"]) for _ in range(settings["workers"])]


def serve_in_task(path: str, threads: int) -> int:
    """Be one worker; what trains is a process below Ray's, and ends with it."""
    from normexp.sweeps.serve import serve

    try:
        return serve(path, threads, via="ray")
    except Interrupted:
        return 130


def check_reachable(address: str | None) -> None:
    """Raise UserError where nobody listens at HOST:PORT, or where `auto` finds no cluster."""
    if address is None:
        return
    if address == "auto":
        from ray._private import services

        if not services.find_gcs_addresses():
            raise UserError("executor.address=auto: no Ray cluster on this machine; `ray start --head` starts one")
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"executor.address={address}: must be auto, HOST:PORT or null")
    try:
        socket.create_connection((host, int(port)), REACHABLE).close()
    except OSError as error:
        raise UserError(f"executor.address={address}: unreachable ({error.strerror or error})") from None


def _check_gpus(gpus: float, nodes: list[float]) -> None:
    if gpus > max(nodes, default=0.0):
        raise UserError(f"executor.gpus={gpus:g}: no node has more than {max(nodes, default=0.0):g}")


def main() -> None:
    """Look after the tasks of a detached sweep: `... PATH SETTINGS`."""
    sweep, values = SharedSweep(Path(sys.argv[1])), json.loads(sys.argv[2])
    executor = RayExecutor(checked("ray", values))
    executor.start(sweep)
    while executor.is_left(sweep):
        time.sleep(1.0)
