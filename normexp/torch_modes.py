"""The modes of torch in which a network is trained or looked at, whatever the caller has set or is inside of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn


@contextmanager
def gradients_and_full_precision() -> Iterator[None]:
    """Leave inference mode, in which nothing has a gradient, and autocast, whose rounding would pass for an effect."""
    with torch.inference_mode(False), ExitStack() as stack:
        for kind in ("cpu", "cuda", "mps"):
            if torch.is_autocast_enabled(kind):  # torch drops cached weights where the outermost ends: none are cached
                stack.enter_context(torch.autocast(kind, enabled=False, cache_enabled=False))
        yield


@contextmanager
def as_it_was_made(model: nn.Module) -> Iterator[None]:
    """Leave inference mode, but for a network that was made in it: what is made there can never be trained."""
    inside = torch.is_inference_mode_enabled() and any(parameter.is_inference() for parameter in model.parameters())
    with torch.inference_mode(inside):
        yield


@contextmanager
def made_on_cpu() -> Iterator[None]:
    """Have tensors that nobody gives a device on the CPU, whatever `torch.set_default_device` says."""
    with ExitStack() as stack:
        if torch.get_default_device().type != "cpu":  # this mode costs time in every call of torch
            stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def threads_kept() -> Iterator[None]:
    """Put back, at the end, the number of torch's threads, which is the process's."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
