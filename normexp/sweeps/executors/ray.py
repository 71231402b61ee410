"""Workers as Ray tasks with CPU and GPU resources; Ray starts one again whose node died.

What submits the tasks has to live as long as they do: the sweep itself, or a process in the background.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

from normexp.children import python
from normexp.config.extras import need_extra
from normexp.errors import Interrupted, UserError
from normexp.sweeps.executors.base import last_line
from normexp.sweeps.executors.local import start_in_background
from normexp.sweeps.executors.settings import GROUP, Settings, checked
from normexp.sweeps.shared import SharedSweep

LOG = "ray.log"
REACHABLE = 5.0  # seconds that the address has to answer
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)  # RFC 9113, 3.4, with empty settings
SETTINGS_FRAME = 4  # RFC 9113, 6.5: the first that a server sends; its type is the fourth byte
STOPPING = 120.0  # seconds that the workers have for saving
logger = logging.getLogger("normexp")
IN_BACKGROUND = "from normexp.sweeps.executors.ray import main; main()"


class RayExecutor:
    """Submits N tasks to a cluster, or to one that is started here for them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tasks: list[Any] = []
        self._told: set[Any] = set()
        self.background: subprocess.Popen[bytes] | None = None

    def check(self) -> None:
        need_extra(GROUP, self.settings.name)
        check_reachable(self.settings["address"])

    def start(self, sweep: SharedSweep) -> str:
        with chdir(sweep.path):  # Ray's workers look for modules first where it was started: here are none
            self._connect()
        if self.settings["detach"]:
            import ray

            ray.shutdown()  # what it can give is known now; the background connects by itself
            words = json.dumps({**self.settings.values, "detach": False})
            with (sweep.path / LOG).open("ab") as log:
                command = python(IN_BACKGROUND, str(sweep.path), words)
                self.background = start_in_background(command, log)
            return f"{self.settings['workers']} Ray tasks in the background (log: {sweep.path / LOG})"
        self.tasks = self._submit(sweep)
        return f"{len(self.tasks)} Ray tasks"

    def is_left(self, sweep: SharedSweep) -> bool:
        if self.background is not None:
            return self.background.poll() is None
        if not self.tasks:
            return False
        import ray

        ended, left = ray.wait(self.tasks, num_returns=len(self.tasks), timeout=0)
        self._tell_failures(ended)
        return bool(left)

    def _tell_failures(self, ended: Sequence[Any]) -> None:
        """Say why a task failed: one whose machine sees no plan, one that was started again too often."""
        import ray

        for task in set(ended) - self._told:
            self._told.add(task)
            try:
                ray.get(task)
            except Exception as error:
                logger.info(f"a Ray task failed: {last_line(error)}")

    def last_words(self, sweep: SharedSweep) -> str:
        return ""

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
        except Exception as error:
            raise UserError(f"executor.address={address}: {last_line(error)}") from None
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        try:
            check_room(self.settings, nodes)
        except UserError:
            ray.shutdown()
            raise

    def _submit(self, sweep: SharedSweep) -> list[Any]:
        import ray

        settings = self.settings
        task = ray.remote(
            num_cpus=settings["cpus"], num_gpus=settings["gpus"], max_retries=settings["retries"], max_calls=1
        )(serve_in_task)
        path = str(sweep.path.resolve())
        return [task.remote(path, settings["cpus"], os.getcwd()) for _ in range(settings["workers"])]


def serve_in_task(path: str, threads: int, folder: str) -> int:
    """Be one worker; what trains is a process below Ray's, and ends with it.

    Args:
        folder: of the command, from where own parts and files are named; Ray starts its workers elsewhere.
    """
    from normexp.sweeps.serve import serve

    with suppress(OSError):
        os.chdir(folder)
    try:
        return serve(path, threads, via="ray")
    except Interrupted:
        return 130


def check_reachable(address: str | None) -> None:
    """Raise UserError where HOST:PORT is no Ray cluster, or where `auto` finds none."""
    if address is None:
        return
    place = (os.environ.get("RAY_ADDRESS") or _cluster_here()) if address == "auto" else address
    host, _, port = place.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) > 65535:
        raise UserError(f"executor.address={place}: must be auto, HOST:PORT or null")
    try:
        with socket.create_connection((host, int(port)), REACHABLE) as connection:
            answers = _answers_as_grpc(connection)
    except OSError as error:
        raise UserError(f"executor.address={place}: unreachable ({error.strerror or error})") from None
    if not answers and not os.environ.get("RAY_USE_TLS"):
        raise UserError(f"executor.address={place}: what listens there is no Ray cluster")


def _cluster_here() -> str:
    """Return the address of the cluster of this machine, Ray's choice of several. Raises UserError for none."""
    from ray._private import services

    try:
        return str(services.canonicalize_bootstrap_address_or_die("auto"))
    except ConnectionError:
        raise UserError(
            "executor.address=auto: no Ray cluster on this machine; `ray start --head` starts one"
        ) from None


def _answers_as_grpc(connection: socket.socket) -> bool:
    """Tell whether a server speaks HTTP/2, as Ray's does: Ray itself would ask any other again for minutes."""
    connection.settimeout(REACHABLE)
    try:
        connection.sendall(GREETING)
        return connection.recv(9)[3:4] == bytes([SETTINGS_FRAME])
    except OSError:
        return False


def check_room(settings: Settings, nodes: Sequence[Mapping[str, float]]) -> None:
    """Raise UserError where a worker wants more CPUs or GPUs than any node has: its task would wait for ever."""
    for key, resource in (("cpus", "CPU"), ("gpus", "GPU")):
        most = max((node.get(resource, 0.0) for node in nodes), default=0.0)
        if settings[key] > most:
            raise UserError(f"executor.{key}={settings[key]:g}: no node has more than {most:g}")


def main() -> None:
    """Look after the tasks of a detached sweep: `... PATH SETTINGS`."""
    sweep, values = SharedSweep(Path(sys.argv[1])), json.loads(sys.argv[2])
    executor = RayExecutor(checked("ray", values))
    executor.start(sweep)
    while executor.is_left(sweep):
        time.sleep(1.0)
