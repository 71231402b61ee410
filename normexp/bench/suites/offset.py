"""Batch statistics of inputs far from 0, in channels_last: how far outputs are off, and at what cost."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.suites.layers import DTYPES, spent
from normexp.bench.turns import in_turns, one_thread
from normexp.norms.checks.subject import reproducible
from normexp.norms.checks.tasks import Maps, on_maps
from normexp.training.build import named_norm
from normexp.training.process import large_blocks_kept

SHAPE, SMALL = (128, 96, 32, 32), (16, 32, 16, 16)
MEANS = (0.0, 100.0, 1e3, 1e6)  # in deviations
LARGEST = {"fp32": 1e6, "bf16": 1e3}  # beyond it all values are rounded to one
SCHEMES = ("batch", "batch_renorm", "ghost_batch", "recurrent_batch")
TORCH = "torch.nn.BatchNorm2d"
TURNS = 3  # in a round of the other suites a layer takes its turn once
Place = tuple[str, float]  # layer, mean


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Time every layer at every mean, with one thread, by the processor time that it takes."""
    made, off, ratios = layers(), {}, {}
    with one_thread(), large_blocks_kept(), reproducible():
        for precision, dtype in DTYPES.items():
            maps = Maps(SMALL if quick else SHAPE, dtype)
            places = [(layer, mean) for mean in MEANS if mean <= LARGEST[precision] for layer in made]
            off[precision] = {(layer, mean): error(made[layer], mean, maps) for layer, mean in places}
            tasks = {(layer, mean): on_maps(settled(made[layer], mean, maps), maps, mean) for layer, mean in places}
            times = in_turns(tasks, TURNS * rounds, spent)
            ratios[precision] = {place: Ratio.of(times[place], times[TORCH, 0.0]) for place in places}
    yield result(off, ratios)


def layers() -> dict[str, Callable[[int], nn.Module]]:
    """Return what makes each layer of a number of channels."""
    norms = {name: named_norm(name) for name in SCHEMES}
    return {TORCH: nn.BatchNorm2d} | {name: norm.normalization for name, norm in norms.items()}


@torch.no_grad()
def settled(layer: Callable[[int], nn.Module], mean: float, maps: Maps) -> nn.Module:
    """Return a layer whose running estimates have arrived at its input, as they have after some hundred batches.

    Before that a mean far from 0 is found only after torch's kernel has summed; batch renormalization, which follows
    its input by a hundredth a batch, does that for forty batches at a mean of 100.
    """
    module: Any = layer(maps.shape[1])  # momentum is an attribute of every one of them
    own, module.momentum = module.momentum, 1.0
    module(maps.random(mean))
    module.momentum = own
    return module


@torch.no_grad()
def error(layer: Callable[[int], nn.Module], mean: float, maps: Maps) -> float:
    """Return how far an output is off, at most: in deviations, of the second of two equal batches."""
    module, x = layer(maps.shape[1]), maps.random(mean)
    exact = copy.deepcopy(module).double()
    outputs = [(module(x).double(), exact(x.double())) for _ in range(2)]
    return float((outputs[-1][0] - outputs[-1][1]).abs().max())


def result(off: dict[str, dict[Place, float]], ratios: dict[str, dict[Place, Ratio]]) -> Result:
    cells = [
        [
            f"{layer}, mean {mean:g}",
            *(f"{off[name][layer, mean]:.1g}" if (layer, mean) in off[name] else "" for name in DTYPES),
            *(str(ratios[name].get((layer, mean), "")) for name in DTYPES),
        ]
        for layer, mean in ratios["fp32"]
    ]
    return Result(
        name="offset",
        caption="Batch statistics in channels_last, by the mean of the input in deviations: how far an output is off "
        "at most, in deviations, and forward and backward relative to torch's layer.",
        headers=["layer", *(f"off by, {name}" for name in DTYPES), *(f"time, {name}" for name in DTYPES)],
        cells=cells,
        notes=(
            "Off: from the same layer in float64; in bf16 the output's own rounding alone is some hundredths.",
            "Time: processor time of one thread, in turns; median (least to greatest) of ratios to torch.nn.BatchNorm2d"
            " at mean 0 in the same turn. Running estimates have arrived at the input, as after some hundred batches.",
        ),
        data={name: {f"{layer} at {mean:g}": found.values for (layer, mean), found in own.items()}
              for name, own in ratios.items()},
    )  # fmt: skip
