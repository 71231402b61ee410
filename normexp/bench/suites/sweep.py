"""Cells side by side against one after the other, and what a cell costs beyond its training."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from normexp.bench.commands import seconds
from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.children import normexp
from normexp.training.machine.cores import physical_cores

WORKS = {
    "mlp": ("dataset=digits", "model=mlp", "norm=batch", "batch_size=60", "steps=3000"),
    "cnn": ("dataset=digits", "model=cnn", "norm=batch", "batch_size=128", "steps=120"),
}
CELLS = 8


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Time whole sweeps of equal cells."""
    cores, cells, data = physical_cores(), [], {}
    for name, work in WORKS.items():
        work = (*work[:-1], "steps=20") if quick else work
        found = [(spent(work, 1, cores), spent(work, cores, 1)) for _ in range(rounds)]
        gain = Ratio.of([one[0] for one, _ in found], [side[0] for _, side in found])
        overhead = statistics.median(one[1] for one, _ in found)
        rare = spent((*work, f"eval_every={work[-1].partition('=')[2]}"), 1, cores)
        cells.append([" ".join(work), str(gain), f"{overhead:.2f}", f"{rare[1]:.2f}"])
        data[name] = {
            "one_after_the_other": [one for one, _ in found],
            "side_by_side": [side for _, side in found],
            "evaluated_twice": rare,
        }
    yield Result(
        name="sweep",
        caption=f"Sweeps of {CELLS} equal cells: jobs={cores} with one thread each, against jobs=1 with {cores}.",
        headers=["cells", "side by side is faster by", "overhead per cell, s", "with two evaluations, s"],
        cells=cells,
        notes=(
            "Overhead: time between the ends of two cells (jobs=1) that was not training, the median.",
            "It holds the evaluations, one per epoch; last column: only before and after training.",
        ),
        data=data,
    )


def spent(work: Sequence[str], jobs: int, threads: int) -> tuple[float, float]:
    """Return wall seconds of a whole sweep, and seconds per cell between the ends of cells that were not training."""
    with tempfile.TemporaryDirectory() as folder:
        words = (*work, f"seed=range({CELLS})", f"threads={threads}", f"jobs={jobs}", f"results_dir={folder}")
        whole = seconds(normexp("sweep", *words))
        paths = sorted(Path(folder).glob("runs/*/status.json"), key=lambda path: path.stat().st_mtime_ns)
        trained = [json.loads(path.read_text(encoding="utf-8"))["seconds"] for path in paths]
        ends = [path.stat().st_mtime_ns / 1e9 for path in paths]
    between = [later - earlier for earlier, later in pairwise(ends)]
    return whole, statistics.median(gap - own for gap, own in zip(between, trained[1:], strict=True))
