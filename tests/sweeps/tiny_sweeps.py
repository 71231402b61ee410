"""What tests of sweeps share: runs of a few steps, what they measured, a command line of its own, and patience."""

import time
from collections.abc import Callable
from pathlib import Path

from normexp.records import find_runs

TINY = ("model=linear", "batch_size=32", "steps=6", "eval_every=3", "device=cpu", "threads=1")
COMMAND = "import sys; sys.path = [p for p in sys.path if p]; from normexp.cli.verbs import main; sys.exit(main())"


def metrics(results: Path) -> dict[str, bytes]:
    return {run.path.name: (run.path / "metrics.csv").read_bytes() for run in find_runs([results])}


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
