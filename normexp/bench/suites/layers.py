"""Every scheme's layer: forward and backward beside the 3 x 3 convolution and a copy of its input."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

import torch

from normexp.bench.result import Result
from normexp.config import compose, options
from normexp.norms.checks.cost import Maps, Task, seconds, tasks
from normexp.norms.checks.memory import kept_relative_to_batch_norm
from normexp.norms.checks.subject import reproducible
from normexp.training.build import build_norm
from normexp.training.process import large_blocks_kept

SHAPES = ((128, 96, 32, 32), (128, 192, 16, 16))
SMALL = ((16, 32, 16, 16),)
LAYOUTS = {"NCHW": torch.contiguous_format, "channels_last": torch.channels_last}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
Times = dict[str, list[float]]  # scheme -> seconds, one per round


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Time the layers, one table per shape and precision."""
    kept = {name: kept_relative_to_batch_norm(build_norm(compose([f"norm={name}"]))) for name in names()}
    for shape in SMALL if quick else SHAPES:
        for precision, dtype in DTYPES.items():
            layouts = {name: Maps(shape, dtype, memory) for name, memory in LAYOUTS.items()}
            with large_blocks_kept():
                times = {name: measured(maps, rounds) for name, maps in layouts.items()}
            yield result(precision, times, shape, kept)


def names() -> list[str]:
    return [name for name in options("norm") if name != "none"]


def measured(maps: Maps, rounds: int) -> Times:
    """Return seconds of every scheme, of the convolution and of a copy; the rounds go round all of them."""
    every: dict[str, list[Task]] = {}
    less: dict[str, list[Task]] = {}
    with reproducible():
        for name in names():
            every[name], less[name], convolution, _ = tasks(build_norm(compose([f"norm={name}"])), maps)
    x, y = maps.random(), maps.random()

    def copy() -> None:
        y.copy_(x)

    every |= {"convolution": [convolution], "copy": [copy]}
    times: Times = {name: [] for name in every}
    for turn in range(rounds + 1):
        for name, own in every.items():
            spent = sum(map(seconds, own)) - sum(map(seconds, less.get(name, [])))
            if turn:  # the first round warms up
                times[name].append(max(spent, 0.0))
    return times


def result(precision: str, found: dict[str, Times], shape: Sequence[int], kept: dict[str, float]) -> Result:
    columns = [f"{what}, {layout}" for layout in found for what in ("of the convolution", "passes")]
    size = "x".join(map(str, shape))
    return Result(
        name=f"layers-{size}-{precision}",
        caption=f"Forward and backward of every scheme on ({size.replace('x', ', ')}), {precision}: time as a share "
        "of the 3 x 3 convolution beside it, and in passes over the tensor at the speed of a copy (a copy is two); "
        "bytes kept for backward as a share of what batch norm keeps. Medians of paired ratios.",
        headers=["norm", *columns, "kept"],
        cells=[[name, *_cells(name, found.values()), f"{kept[name]:.2f}"] for name in names()],
        data={"seconds": found, "kept": kept, "threads": torch.get_num_threads()},
    )


def _cells(name: str, layouts: Iterable[Times]) -> Iterator[str]:
    for times in layouts:
        yield f"{_median(times[name], times['convolution']):.2f}"
        yield f"{2 * _median(times[name], times['copy']):.1f}"


def _median(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
