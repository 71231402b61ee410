"""Training steps next to common alternatives; the loss curves are compared, so that nobody does less."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Iterator, Sequence

from normexp.bench.race import Side, race
from normexp.bench.ratio import Ratio
from normexp.bench.result import Result
from normexp.bench.sides import ABOUT, NEEDS

CNN = ("dataset=cifar10", "dataset.crop=4", "dataset.flip=true", "batch_size=128", "norm=batch")
# Without its noise and dropout, which every side would draw from a generator state of its own, and in small steps: in
# large ones its rounding errors grow into other curves within the steps that are compared.
CONVPOOL = (*CNN, "model=convpool", "model.width=0.25", "model.noise=0", "model.dropout=0", "optim.lr=0.001")
MLP = ("dataset=mnist", "model=mlp", "model.widths=[100,100,100]", "batch_size=60", "norm=batch")
LINEAR = ("dataset=house_prices", "model=linear", "batch_size=32")
GPT = (  # nanoGPT's on a CPU, on the text that needs no network
    "dataset=text", "model=gpt", "model.layers=4", "model.width=128", "model.bias=false", "norm=layer", "placement=pre",
    "optim=adamw", "optim.lr=0.001", "optim.betas=[0.9,0.99]", "optim.weight_decay=0.1", "clip_norm=1", "batch_size=12",
)  # fmt: skip
WORKS: dict[str, tuple[str, ...]] = {
    "cnn": CNN,
    "cnn-bf16": (*CNN, "precision=bf16"),
    "convpool": CONVPOOL,
    "convpool-bf16": (*CONVPOOL, "precision=bf16"),
    "mlp": MLP,
    "linear": LINEAR,
    "gpt": GPT,
    "gpt-bf16": (*GPT, "precision=bf16"),
}
TOLERANCE = 2e-3  # of a loss in float32 over the first steps: other kernels round differently, and steps amplify it
# Where rounding alone makes other curves: in bfloat16, and in a deep network, millions of whose activations lie around
# the kinks of ReLUs and maxima. In float32 a gradient of ConvPool is 0.5 % from that in float64, in any layout.
UNSTEADY = ("precision=bf16", "model=convpool")
SEEDS = 3
DECODERS = ("normexp", "plain_gpt", "hand_written")


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Race the sides on the usual works, or on one configuration of the user's own."""
    works = {name_of(overrides): tuple(overrides)} if overrides else WORKS
    for name, work in list(works.items())[: 1 if quick else None]:
        yield result(name, work, race(sides(work), work, rounds, 0.5 if quick else 3.0))


def name_of(work: Sequence[str]) -> str:
    """Return the name of one of the usual works, so that it can be measured alone, or `own`."""
    return next((name for name, usual in WORKS.items() if set(usual) == set(work)), "own")


def sides(work: Sequence[str]) -> list[str]:
    """Return the sides that can run here: the PIL ones want images, one is a decoder, two want the extra `bench`."""
    if "model=gpt" in work:
        return list(DECODERS)
    images = any(word.startswith("dataset=cifar") for word in work)
    there = [name for name in ABOUT if name not in NEEDS or importlib.util.find_spec(NEEDS[name])]
    return [name for name in there if name != "plain_gpt" and (images or not name.startswith("script"))]


def result(name: str, work: Sequence[str], raced: list[Side]) -> Result:
    ours = raced[0]
    unsteady = any(word in UNSTEADY for word in work)
    allowed = spread(work) if unsteady else TOLERANCE
    apart = {side.name: deviation(side, ours) for side in raced}
    cells = [
        [ABOUT[side.name], str(Ratio.of(ours.speeds, side.speeds)), f"{apart[side.name]:.1e}"] for side in raced[1:]
    ]
    wrong = [f"{name}: the losses of {side} differ by {far:.2g}, at most {allowed:.2g} is allowed"
             for side, far in apart.items() if not far <= allowed]  # fmt: skip
    missing = [package for side, package in NEEDS.items() if side not in apart and "model=gpt" not in work]
    return Result(
        name=f"steps-{name}",
        caption=f"`{' '.join(work)}`: steps per second of normexp, relative to each side. Median of "
        f"{len(ours.speeds)} turns, taken one side after the other (least to greatest).",
        headers=["side", "normexp is faster by", "losses differ by"],
        cells=cells,
        notes=(
            f"Losses of the first steps may differ by {allowed:.2g}"
            + (": the spread of seeds." if unsteady else ": kernels round differently."),
            *(f"Not there: {package} (pip install 'normexp[bench]')." for package in missing),
        ),
        data={side.name: {"steps_per_second": side.speeds, "losses": side.losses} for side in raced},
        wrong=tuple(wrong),
    )


def deviation(side: Side, ours: Side) -> float:
    """Return the mean distance of two loss curves."""
    return statistics.fmean(abs(a - b) for a, b in zip(side.losses, ours.losses, strict=True))


def spread(work: Sequence[str]) -> float:
    """Return the mean distance between the loss curves of different seeds."""
    curves = [race(["normexp"], [*work, f"seed={seed}"], 0, 0.0)[0] for seed in range(SEEDS)]
    pairs = [(a, b) for index, a in enumerate(curves) for b in curves[:index]]
    return statistics.fmean(deviation(a, b) for a, b in pairs)
