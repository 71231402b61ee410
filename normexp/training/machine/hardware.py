"""Where a run computes: device and threads; and what the record says of it."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib.metadata import version
from typing import Any

import torch
from torch import nn

from normexp.errors import Unavailable
from normexp.norms.base import weight_layers
from normexp.training.commit import commit
from normexp.training.machine.cores import physical_cores
from normexp.training.machine.processor import describe_arithmetic, describe_processor, load_average, processor_name

# Multiply-adds of one forward pass over a batch below which a second thread costs more than it brings.
SMALL_WORK = 20_000_000


def choose_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu`, `cuda` or `mps`. Raises Unavailable where this machine has none."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if available[kind])
    if not available[name]:
        usable = ", ".join(kind for kind, there in available.items() if there)
        raise Unavailable(f"device={name}: not available on this machine; available: auto, {usable}")
    return torch.device(name)


def choose_threads(asked: int | None, model: nn.Module, rows: int) -> int:
    """Return the number of CPU threads: as asked, or one where the work of a step is too small to share.

    Args:
        rows: how often a step computes with every weight: for each example, of a text for each of its tokens.
    """
    if asked is not None:
        return asked
    convolutional = any(not isinstance(layer, nn.Linear) for layer in weight_layers(model))
    weights = sum(parameter.numel() for parameter in model.parameters())
    return _cores() if convolutional or weights * rows > SMALL_WORK else 1


def describe(device: torch.device, threads: int) -> dict[str, Any]:
    """Return versions, commit and hardware for environment.json."""
    return {
        "normexp": _packages()["normexp"],
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: each for name, each in _packages().items() if name != "normexp"},
        "platform": platform.platform(),
        "device": str(device),
        "processor": torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name(),
        "cpu": describe_processor(),
        "arithmetic": describe_arithmetic(),
        "cores": _cores(),
        "threads": threads,
        "load": load_average(),
    }


def peak_memory(device: torch.device) -> int:
    """Return the most memory used so far, in bytes: of the GPU, else of this process."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB


def _cores() -> int:
    """Return the physical cores this process may use, or as many as OMP_NUM_THREADS leaves it (in a sweep)."""
    return min(physical_cores(), _default_threads)


_default_threads = torch.get_num_threads()  # read before anybody changes it


@cache
def _packages() -> dict[str, str]:
    names = ("normexp", "torch", "torchvision", "numpy", "hydra-core", "omegaconf", "safetensors")
    return {name: version(name) for name in names}
