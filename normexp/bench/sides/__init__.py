"""The competitors, one per file: each makes `Work` into a function from steps to losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from normexp.bench.work import Train, Work

ABOUT: Mapping[str, str] = {
    "normexp": "normexp's own parts and loop",
    "script_0": "plain script: torchvision and PIL transforms, DataLoader in the same process, eager, fp32 NCHW",
    "script_2": "the same with 2 DataLoader workers",
    "resident": "plain loop over resident float32 tensors, augmentation by tensor operations, eager, NCHW",
    "hand_written": "best loop by hand: resident uint8 windows, channels_last, allocator setting, fused optimizer",
    "plain_gpt": "plain decoder and loop in eager torch, as nanoGPT's on a CPU",
    "lightning": "Lightning's Trainer with CSVLogger over the resident tensors",
    "skorch": "skorch's partial_fit over the resident tensors",
}
TUNED = ("normexp", "hand_written")  # sides that set the process up as normexp does for a run
MODULES = {"normexp": "ours", "lightning": "lightning_trainer", "skorch": "skorch_net"}  # side -> its file
NEEDS = {"lightning": "lightning", "skorch": "skorch"}  # side -> package of the extra `bench`


def side(name: str) -> Callable[[Work], Train]:
    """Return a competitor by its name."""
    module, _, workers = name.partition("_") if name.startswith("script") else (name, "", "")
    train: Callable[..., Train] = import_module(f"normexp.bench.sides.{MODULES.get(module, module)}").train
    return (lambda work: train(work, int(workers))) if workers else train
