"""How planning and sharing a sweep grow: up to 10^5 cells, 64 worker processes, no training."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

from normexp.bench.commands import answer
from normexp.bench.result import Result, note_of_load
from normexp.bench.suites.growth import one_run
from normexp.children import child, python
from normexp.records import CONFIG, ENVIRONMENT, METRICS, TIMING, RunDirectory
from normexp.sweeps.plan import Cell
from normexp.sweeps.shared import PLAN, Pace, SharedSweep, write_plan
from normexp.sweeps.snapshot import SweepView

PLANS = (1_000, 10_000, 100_000)
MOST_ENDED = 10_000  # cells of a plan that is made again once all of them have ended
RACES = ((1_000, 1), (10_000, 8), (10_000, 64), (100_000, 64))  # cells, workers
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # no disk's own slowness is measured
PACE = Pace(heartbeat=10.0, takeover=90.0)
COUNTED = ("files made", "claims lost to another", "files read", "listings")  # of a cell
PLANNING = """
import json, sys, time
from normexp.bench.suites.scale import end
from normexp.sweeps.plan import make_plan
count, folder, run = int(sys.argv[1]), sys.argv[2], sys.argv[3]
make_plan(["seed=0"])
times = []
for again in [False, True] if run else [False]:
    began = time.process_time()
    plan = make_plan(["model=mlp", "norm=batch,layer", f"seed=range({count // 2})", "results_dir=" + folder])
    times.append(time.process_time() - began)
    assert len(plan.cells) == count and len(plan.done) == again * count
    if run and not again:
        end(plan.cells, run)
print(json.dumps(times))
"""


@dataclass(frozen=True)
class EmptyCell:
    """A cell as a plan has it, of which nothing is trained."""

    path: Path
    overrides: list[str]
    state: str = "new"


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Measure planning, then races of empty workers, one table each."""
    yield planning(PLANS[: 1 if quick else None])
    yield races([(1_000, 4)] if quick else RACES)


def planning(counts: Sequence[int]) -> Result:
    """Compose and check so many cells, write the plan, read it as a worker does, look at all of it once."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        run = one_run(Path(place))
        data = {count: _planned(count, str(run) if count <= MOST_ENDED else "") for count in counts}
    rows = [
        [
            f"{count:,}",
            f"{known['seconds']:.1f}",
            f"{1e3 * known['seconds'] / count:.2f}",
            "-" if known["ended"] is None else f"{known['ended']:.1f}",
            f"{known['bytes'] / 1e3:,.0f}",
            f"{known['read']:.2f}",
            f"{known['look']:.2f}",
        ]
        for count, known in data.items()
    ]
    headers = ["cells", "CPU s to plan", "ms a cell", "CPU s, all ended", "plan.json.gz, kB", "s to read", "s to look"]
    caption = (
        "Planning a sweep, planning it again when every cell has ended, and looking at one of which every cell has "
        "ended; seconds of this machine."
    )
    return Result("scale-planning", caption, headers, rows, notes=(note_of_load(),), data=data)


def _planned(count: int, like: str) -> dict[str, Any]:
    """Plan so many cells; where there is a run, end all cells as it did and plan them again."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        spent, *ended = json.loads(answer(python(PLANNING, str(count), folder, like)))
        return {"seconds": spent, "ended": next(iter(ended), None), **_files(Path(folder), count)}


def end(cells: Iterable[Cell], like: str) -> None:
    """Record every cell as if it had ended as another run did."""
    model = RunDirectory(Path(like))
    facts = {key: value for key, value in model.status.items() if key != "sha256"}
    for cell in cells:
        cell.path.mkdir(parents=True)
        (cell.path / CONFIG).write_text(cell.config.to_yaml(), encoding="utf-8")
        for name in (METRICS, TIMING, ENVIRONMENT):
            shutil.copy(model.path / name, cell.path / name)
        cell.directory.finish(**facts)


def _files(folder: Path, count: int) -> dict[str, float]:
    """Write a plan of so many cells and the marks of a sweep that has ended; time what reads them."""
    sweep = empty_sweep(folder, count)
    for block in sweep.blocks:
        place = sweep.path / "claims" / f"{block:05}"
        place.mkdir(parents=True)
        for cell in sweep.cells_of(block):
            (place / f"{cell}.1").touch()
            (place / f"{cell}.1.done").touch()
    began = time.process_time()
    again = SharedSweep(sweep.path)
    assert len(again) == count
    read = time.process_time()
    SweepView(again).snapshot()
    looked = time.process_time()
    return {"bytes": (sweep.path / PLAN).stat().st_size, "read": read - began, "look": looked - read}


def empty_sweep(folder: Path, count: int) -> SharedSweep:
    """Plan cells with names and overrides as long as real ones."""
    results = folder / "results"
    cells = [
        EmptyCell(
            results / "runs" / f"cifar10-resnet_small-batch-seed{seed}-{seed:08x}",
            ["dataset=cifar10", "model=resnet_small", f"norm={('batch', 'layer')[seed % 2]}", f"seed={seed}"],
        )
        for seed in range(count)
    ]
    return write_plan(cells, results, PACE)


def races(sizes: Sequence[tuple[int, int]]) -> Result:
    """Let so many worker processes claim and end so many empty cells; count what they ask of the file system."""
    data, rows = [], []
    for cells, workers in sizes:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            sweep = empty_sweep(Path(folder), cells)
            seconds, counts, ended = race(sweep, workers)
        data.append({"cells": cells, "workers": workers, "seconds": seconds, "ended": ended, **counts})
        each = {name: counts[name] / cells for name in (*COUNTED, "names listed")}
        rows.append([f"{cells:,}", str(workers), f"{seconds:.0f}", f"{cells / seconds:,.0f}"])
        rows[-1] += [f"{each[name]:.2f}" for name in COUNTED] + [f"{each['names listed']:,.0f}"]
    wrong = tuple(
        f"{known['cells']} cells, {known['workers']} workers: {known['ended']} were ended"
        for known in data
        if known["ended"] != known["cells"]
    )
    caption = (
        "Empty cells claimed and ended by worker processes of one machine, their start included, in a folder "
        f"{'in memory' if MEMORY else 'on its disk'}; operations a cell."
    )
    headers = ["cells", "workers", "s", "cells/s", *COUNTED, "names listed"]
    return Result("scale-workers", caption, headers, rows, data=data, wrong=wrong)


def race(sweep: SharedSweep, workers: int) -> tuple[float, Counter[str], int]:
    """Return the seconds until the last worker has ended, what all of them asked for, how many cells they ended."""
    command = python("from normexp.bench.empty_worker import main; main()", str(sweep.path))
    began = time.monotonic()
    with ExitStack() as stack:
        processes = [stack.enter_context(child(command, stdout=PIPE, text=True)) for _ in range(workers)]
        said = [json.loads(process.communicate()[0]) for process in processes]
    seconds = time.monotonic() - began
    counts: Counter[str] = Counter()
    for _, of_one in said:
        counts.update(of_one)
    return seconds, counts, sum(ended for ended, _ in said)
