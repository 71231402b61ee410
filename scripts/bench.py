"""Images per second of `normexp run` beside a plain PyTorch loop of the same network, data and batches.

    python scripts/bench.py                              # small cnn, CIFAR-10 shape, crop and flip, batch 128
    python scripts/bench.py model=mlp dataset=mnist      # any overrides of `normexp run`
    python scripts/bench.py precision=bf16 --rounds 9

Both sides run in processes of their own (allocator settings belong to a process) and take turns, so that a
machine whose speed drifts slows both; the ratio is taken turn by turn. The plain loop is what people write
first: resident float32 tensors in NCHW, eager, the optimizer as it comes, augmentation by tensor operations.
It sees the same initial weights and the same batches; the losses of both are compared at the end, so nobody
wins by doing less. Pixels are random: only their shape matters here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

SHAPES = {"cifar10": (32, 32, 3), "mnist": (28, 28, 1), "fashion_mnist": (28, 28, 1), "digits": (8, 8, 1)}
EXAMPLES = 4096


def main() -> None:
    arguments = parse()
    if arguments.side:
        serve(SIDES[arguments.side](arguments.overrides))
    else:
        report(arguments.overrides, measure(arguments))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("overrides", nargs="*", help="overrides as of `normexp run`")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each side (default 7)")
    parser.add_argument("--seconds", type=float, default=2.0, help="about how long a turn takes (default 2)")
    parser.add_argument("--side", choices=("normexp", "plain"), help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    chosen = {override.partition("=")[0] for override in arguments.overrides}
    if "dataset" not in chosen:
        arguments.overrides += ["dataset=cifar10", "dataset.crop=4", "dataset.flip=true"]
    if "batch_size" not in chosen:
        arguments.overrides += ["batch_size=128"]
    return arguments


# One side: a process that answers "how long did this many steps take, and what were the losses?"


def serve(train: Callable[[int], list[float]]) -> None:
    """Answer each line `steps` on standard input with one JSON line of seconds and the last loss."""
    for line in sys.stdin:
        began = time.perf_counter()
        losses = train(int(line))
        print(json.dumps({"seconds": time.perf_counter() - began, "loss": losses[-1]}), flush=True)


def random_data(config: Any) -> Any:
    """Random pixels and labels in the shape of the chosen data set."""
    import numpy as np

    from normexp.data.base import Data, Split

    generator = np.random.default_rng(0)

    def split(n: int) -> Split:
        shape = SHAPES[config.choices["dataset"]]
        return Split(generator.integers(0, 256, (n, *shape), dtype=np.uint8), generator.integers(0, 10, n))

    return Data(split(EXAMPLES), split(0), split(16), task="classification", classes=tuple("0123456789"))


def normexp_side(overrides: list[str]) -> Callable[[int], list[float]]:
    """The program's own parts and its own loop, with the same duties per step as in a run."""
    from normexp.build import build, initialize_from_data
    from normexp.config import compose
    from normexp.train import Window, make_step, train

    config = compose(overrides)
    parts = build(config, random_data(config))
    initialize_from_data(parts, config["seed"])
    batches = parts.batches.from_step(0)
    step = make_step(
        parts.forward, parts.task, parts.optimizer, parts.autocast, lambda: parts.norm.penalty(parts.model)
    )

    def watch(done: int) -> bool:
        return time.monotonic() < 0  # one look at the clock, as in a run; never stops

    def run(steps: int) -> list[float]:
        window = Window.of(steps, parts.device)
        train(step, parts.task, batches, window, parts.optimizer, parts.rate, 0, steps, watch)
        return window.losses.tolist()

    return run


def plain_side(overrides: list[str]) -> Callable[[int], list[float]]:
    """A loop as most people write it first. Only the weights and the choice of batches come from normexp."""
    import torch
    import torch.nn.functional as F

    from normexp.build import build_model, build_norm
    from normexp.config import compose
    from normexp.instantiate import instantiate, locate
    from normexp.seeding import seeded

    config = compose(overrides)
    data = random_data(config)
    transform = instantiate(config["inputs"]).fit(data.train.x)
    images = torch.from_numpy(transform.apply(data.train.x)).float().permute(0, 3, 1, 2).contiguous()
    black = torch.from_numpy(transform.apply(data.train.x[:1] * 0)).float()[0, 0, 0].view(1, -1, 1, 1)
    labels = torch.from_numpy(data.train.y)
    norm = build_norm(config)
    model = build_model(config, norm, data.input_shape, 10)
    with seeded(config["seed"], "data initialization"):
        norm.initialize(model, images[next(orders(config))[0][:500]])
    options = {key: value for key, value in config["optim"].items() if key != "_target_"}
    optimizer = locate(config["optim"]["_target_"])(model.parameters(), **options)
    batches = plain_batches(config, images, labels, black)

    def run(steps: int) -> list[float]:
        losses = []
        for _, (x, y) in zip(range(steps), batches, strict=False):
            with torch.autocast("cpu", torch.bfloat16, enabled=config["precision"] == "bf16"):
                loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    return run


def orders(config: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield (order, shift_y, shift_x, mirrored) of every epoch, drawn as normexp draws them."""
    import itertools

    import torch

    from normexp.seeding import generator

    crop = config["dataset"]["crop"]
    for epoch in itertools.count():
        order = torch.randperm(EXAMPLES, generator=generator(config["seed"], "order", epoch))
        source = generator(config["seed"], "augmentation", epoch)
        shifts = torch.randint(0, 2 * crop + 1, (2, EXAMPLES), generator=source)
        yield order, shifts[0], shifts[1], torch.randint(0, 2, (EXAMPLES,), generator=source)


def plain_batches(config: Any, images: Any, labels: Any, black: Any) -> Iterator[tuple[Any, Any]]:
    """Gather, flip and crop NCHW batches by tensor operations."""
    import torch

    size, crop, flip = config["batch_size"], config["dataset"]["crop"], config["dataset"]["flip"]
    height, width = images.shape[2:]
    for order, shift_y, shift_x, mirrored in orders(config):
        for start in range(0, EXAMPLES - size + 1, size):
            part = slice(start, start + size)
            x = images[order[part]]
            if flip:
                x = torch.where(mirrored[part].bool().view(-1, 1, 1, 1), x.flip(3), x)
            if crop:
                padded = black.expand(size, -1, height + 2 * crop, width + 2 * crop).clone()
                padded[:, :, crop:-crop, crop:-crop] = x
                rows = (shift_y[part, None] + torch.arange(height))[:, None, :, None]
                columns = (shift_x[part, None] + torch.arange(width))[:, None, None, :]
                every = torch.arange(size)[:, None, None, None]
                x = padded[every, torch.arange(x.shape[1])[None, :, None, None], rows, columns]
            yield x, labels[order[part]]


SIDES = {"normexp": normexp_side, "plain": plain_side}


# The referee: starts both sides, lets them take turns, prints ratios.


def measure(arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Return {side: one {seconds, loss, steps} per turn}; the first turn warms up and does not count."""
    command = [sys.executable, __file__, *arguments.overrides]
    sides = {
        name: subprocess.Popen([*command, "--side", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in SIDES
    }
    for process in sides.values():
        turn(process, 5)
    steps = max(5, int(5 * arguments.seconds / turn(sides["plain"], 5)["seconds"]))
    turn(sides["normexp"], 5)
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for _ in range(arguments.rounds):
        for name, process in sides.items():
            turns[name].append({**turn(process, steps), "steps": steps})
    for process in sides.values():
        process.communicate()
    return turns


def turn(process: subprocess.Popen[str], steps: int) -> dict[str, float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{steps}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise SystemExit("a side of the benchmark failed; its message is above")
    return json.loads(answer)


def report(overrides: list[str], turns: dict[str, list[dict[str, float]]]) -> None:
    from normexp.config import compose

    batch_size = compose(overrides)["batch_size"]
    speeds = {name: [t["steps"] * batch_size / t["seconds"] for t in all_turns] for name, all_turns in turns.items()}
    ratios = [ours / plain for ours, plain in zip(speeds["normexp"], speeds["plain"], strict=True)]
    print(f"{' '.join(overrides)}: {len(ratios)} turns each, interleaved")
    print("| side | images/s, median (least to most) |")
    print("|---|---|")
    for name, values in {**speeds, "ratio normexp / plain": ratios}.items():
        digits = 2 if name.startswith("ratio") else 0
        spread = f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"
        print(f"| {name} | {spread} |")
    last = {name: all_turns[-1]["loss"] for name, all_turns in turns.items()}
    print(f"loss of the last step: normexp {last['normexp']:.4f}, plain {last['plain']:.4f}")


if __name__ == "__main__":
    main()
