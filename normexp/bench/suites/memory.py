"""Peak memory of a run beside bare torch, and what it has to hold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence

from normexp.bench.commands import answer, usage
from normexp.bench.result import Result
from normexp.children import normexp, python
from normexp.config import compose
from normexp.config.instantiate import instantiate

SMALL = ("norm=batch", "model=cnn", "model.widths=[8,8]", "threads=1")  # so that the data are what is seen
WORKS = {
    "digits cnn": ("norm=batch", "model=cnn", "steps=20", "eval_every=20"),
    "digits mlp": ("norm=batch", "model=mlp", "steps=20", "eval_every=20"),
}
CIFAR = {
    "CIFAR-10, small network": ("dataset=cifar10", *SMALL, "steps=2", "eval_every=2"),
    "CIFAR-10, cropped and flipped": (
        "dataset=cifar10", "dataset.crop=4", "dataset.flip=true", *SMALL, "steps=2", "eval_every=2",
    ),
}  # fmt: skip
STORED = """
import sys, torch
from normexp.training.build import build_examples
from normexp.config import compose
from normexp.data.loading import load
config = compose(sys.argv[1:])
splits = build_examples(config, load(config), torch.device("cpu")).values()
print(sum(split.x.untyped_storage().nbytes() for split in splits))
"""
MEGA = 2**20


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Measure fresh processes; overrides name a configuration of the user's own, or where CIFAR-10 lies."""
    bare = usage(python("import torch, numpy; torch.ones(8, 8) @ torch.ones(8, 8)")).memory
    cells: list[list[str]] = []
    data: dict[str, object] = {"bare": bare}
    for name, work in works(overrides).items():
        with tempfile.TemporaryDirectory() as folder:
            peak = usage(normexp("run", *work, f"results_dir={folder}", "--quiet")).memory
        stored = int(answer(python(STORED, *work)))
        cells.append([name, *(f"{part / MEGA:.0f}" for part in (peak, peak - bare, stored, peak - bare - stored))])
        data[name] = {"peak": peak, "data": stored}
    yield Result(
        name="memory",
        caption=f"Peak resident memory in MiB; a process that imports torch has {bare / MEGA:.0f}. The data are uint8 "
        "(every image and its mirror image, padded, where they are cropped and flipped), or float32 where few.",
        headers=["run", "peak", "beyond bare torch", "the data", "what is left"],
        cells=cells,
        data=data,
    )


def works(overrides: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the runs; CIFAR-10 among them where it is in the cache, or where its archive is named."""
    archive = tuple(word for word in overrides if word.startswith("dataset.archive="))
    if any(word not in ("dataset=cifar10", *archive) for word in overrides):
        return {" ".join(overrides): tuple(overrides)}
    here = archive or instantiate(compose(["dataset=cifar10"])["dataset"]).find()
    return {**WORKS, **({name: (*work, *archive) for name, work in CIFAR.items()} if here else {})}
