"""Every scheme on tokens: forward and backward beside layer normalization, in the shapes of decoders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import nn

from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.suites.layers import DTYPES, spent
from normexp.bench.turns import in_turns, one_thread
from normexp.config import option, options
from normexp.norms.checks.subject import reproducible
from normexp.norms.checks.tasks import Maps, Task, of_weight, on_maps
from normexp.training.build import named_norm
from normexp.training.process import large_blocks_kept

SHAPES = ((12, 64, 128), (4, 256, 512))  # batch, context, width: nanoGPT's on a CPU, and a larger one
SMALL = ((2, 16, 64),)
BASELINE = "layer"
SLOW = 2.0  # times layer normalization


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Time one scheme after the other, round by round, with one thread, by the processor time that it takes."""
    with one_thread(), large_blocks_kept():  # as in a run
        times = {
            f"({', '.join(map(str, shape))}), {precision}": in_turns(
                passes(Maps(shape, dtype, torch.contiguous_format)), 10 * rounds, spent
            )
            for shape in (SMALL if quick else SHAPES)
            for precision, dtype in DTYPES.items()
        }
    yield result(times)


def passes(tokens: Maps) -> dict[str, Task]:
    """Return one forward and backward of every scheme that has something to do on tokens (N, T, C)."""
    made = {name: named_norm(name) for name in options("norm") if option("norm", name).get("_tokens_")}
    width = tokens.shape[-1]
    with reproducible():
        modules = {name: norm.sequence(width) for name, norm in made.items()}
        found = {
            name: on_maps(module, tokens) for name, module in modules.items() if not isinstance(module, nn.Identity)
        }
        for name, norm in made.items():
            layer = norm.parametrize(nn.Linear(width, 4 * width))
            if name not in found and hasattr(layer, "parametrizations"):
                found[name] = of_weight(layer)
    return found


def result(times: dict[str, dict[str, list[float]]]) -> Result:
    names = [name for name in next(iter(times.values())) if name != BASELINE]
    ratios = {name: [Ratio.of(each[name], each[BASELINE]).median for each in times.values()] for name in names}
    slow = [name for name, found in ratios.items() if max(found) > SLOW]
    return Result(
        name="tokens",
        caption="Forward and backward of every scheme on tokens (batch, context, width): processor time of one thread, "
        "relative to layer normalization; of a scheme on weights, that of computing one feed-forward weight. Medians "
        "of paired ratios.",
        headers=["norm", *times],
        cells=[[name, *(f"{ratio:.2f}" for ratio in found)] for name, found in ratios.items()],
        notes=(f"More than {SLOW:g} times layer normalization in one of these: {', '.join(slow) or 'none'}.",),
        data={"seconds": times},
    )
