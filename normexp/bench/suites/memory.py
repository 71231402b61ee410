"""Peak memory of a run beside bare torch, and what it has to hold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence

from normexp.bench.commands import normexp, peak_memory, python
from normexp.bench.result import Result

WORKS = {
    "digits cnn": ("norm=batch", "model=cnn", "steps=20", "eval_every=20"),
    "digits mlp": ("norm=batch", "model=mlp", "steps=20", "eval_every=20"),
}
MEGA = 2**20


def run(quick: bool, rounds: int, overrides: Sequence[str]) -> Iterator[Result]:
    """Measure fresh processes; overrides name a configuration of the user's own (for example CIFAR-10)."""
    works = {" ".join(overrides): tuple(overrides)} if overrides else WORKS
    bare = peak_memory(python("import torch, torchvision, numpy; torch.ones(8, 8) @ torch.ones(8, 8)"))
    cells, data = [], {"bare": bare}
    for name, work in works.items():
        with tempfile.TemporaryDirectory() as folder:
            peak = peak_memory(normexp("run", *work, f"results_dir={folder}", "--quiet"))
        cells.append([name, f"{peak / MEGA:.0f}", f"{(peak - bare) / MEGA:.0f}"])
        data[name] = peak
    yield Result(
        name="memory",
        caption=f"Peak resident memory in MiB; a process that imports torch and torchvision has {bare / MEGA:.0f}.",
        headers=["run", "peak", "beyond bare torch"],
        cells=cells,
        data=data,
    )
