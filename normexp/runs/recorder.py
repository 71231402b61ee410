"""The files of one run while it trains: curves, timings, status, environment."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from normexp.errors import Busy, UserError, kind_and_line
from normexp.records import (
    CONFIG,
    FINISHED,
    METRICS,
    PROBES,
    TIMING,
    TRACEBACK,
    CurveFile,
    RunDirectory,
    write_atomically,
)
from normexp.records.files import sweep_temporaries
from normexp.records.locks import made_and_locked
from normexp.runs.loggers import Logs
from normexp.runs.timer import Timer
from normexp.training.machine.processor import load_average


@contextmanager
def held(directory: RunDirectory, begun: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Hold the folder of a run, made where it is not there. What refuses a run that has not begun leaves nothing.

    Args:
        begun: tells whether there is something to continue.

    Raises: UserError where it cannot be made, Busy while another process holds it.
    """
    with made_and_locked(directory.path) as new:
        sweep_temporaries(directory.path)
        try:
            yield
        except UserError as error:
            if new and not (isinstance(error, Busy) or begun()):  # Busy: the folder is another's now
                shutil.rmtree(directory.path)
            raise


class Recorder:
    """Writes a run directory. metrics.csv holds deterministic values only; wall-clock times go to timing.csv.

    Args:
        columns: the `split/name` columns of metrics.csv, fixed from the start.
        steps: the run's number of updates, stated in status.json.
        restart: forget earlier attempts.
        logs: are told the same.
    """

    def __init__(self, directory: RunDirectory, columns: list[str], steps: int, restart: bool, logs: Logs) -> None:
        self.directory, self.steps, self.logs = directory, steps, logs
        self.metrics = CurveFile(directory.path / METRICS, ["step", "epoch", "lr", *columns])
        self.timing = CurveFile(directory.path / TIMING, ["step", "seconds", "images_per_second", "peak_memory"])
        self.probes = CurveFile(directory.path / PROBES, ["step", "probe", "layer", "statistic", "value"])
        before = {} if restart else directory.status
        self.environment: dict[str, Any] = {}  # of this attempt, from `begin` on
        self.attempts: int = before.get("attempts", 0) + 1
        self.timer = Timer(before.get("seconds", 0.0))  # of training, over all attempts

    def begin(self, keep_until: int, config: str, environment: dict[str, Any]) -> None:
        """Write what is known before the first step; keep the curves up to a step (-1 for none)."""
        self.metrics.start(keep_until)
        self.timing.start(keep_until)
        self.probes.start(keep_until)
        (self.directory.path / TRACEBACK).unlink(missing_ok=True)  # of an attempt that this one makes good
        write_atomically(self.directory.path / CONFIG, config)
        self.environment = environment
        self.directory.write_environment(environment)

    def flush(self) -> None:
        """Have the rows so far on the disk: a checkpoint counts on them, and a power cut may come after it."""
        for curve in (self.metrics, self.timing, self.probes):
            curve.flush()

    def curves(self, step: int, epoch: float, lr: float, measured: Mapping[str, float]) -> None:
        row = {"step": step, "epoch": epoch, "lr": lr, **measured}
        self.metrics.append(row)
        self.logs.add(row)

    def probe(self, step: int, rows: Iterable[tuple[str, str, str, float]]) -> None:
        """Append rows (probe, layer, statistic, value) to probes.csv."""
        for probe, layer, statistic, value in rows:
            row = {"step": step, "probe": probe, "layer": layer, "statistic": statistic, "value": value}
            self.probes.append(row)

    def timings(self, step: int, images: int, peak_memory: int) -> None:
        """Record seconds of training (evaluations excluded), mean images per second, peak memory in bytes."""
        rate = round(images / max(self.timer.seconds, 1e-9), 1)
        row = {
            "step": step,
            "seconds": round(self.timer.seconds, 4),
            "images_per_second": rate,
            "peak_memory": peak_memory,
        }
        self.timing.append(row)

    def status(self, status: str, step: int, **facts: Any) -> None:
        counts = {"step": step, "steps": self.steps, "attempts": self.attempts, "seconds": round(self.timer.seconds, 4)}
        if status in FINISHED:
            self.directory.write_environment({**self.environment, "load_at_end": load_average()})
        write = self.directory.finish if status in FINISHED else self.directory.write_status
        write(status, **counts, **facts)
        if status != "running":
            self.logs.end(status, step, facts.get("cause", ""))

    def failed(self, step: int, error: BaseException) -> None:
        self.status("failed", step, cause=kind_and_line(error))
        write_atomically(self.directory.path / TRACEBACK, traceback.format_exc())
