"""Running estimates beside the statistics of the data: stale, undersampled, never updated, broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from normexp.diagnosis.finding import NOTE, Finding
from normexp.diagnosis.normalizations import Moments, keeps_statistics

LEAST = 0.25  # standard deviations, the smallest deviation that counts
NOISE = 2.0  # standard errors of a mean over independent examples
FEW = 4.0  # batches that an average should run over at least


def deviation(module: Any, seen: Moments, remains: float = 0.0) -> float:
    """Return by how much running statistics are off, the root mean square over channels.

    That of the mean is in standard deviations of the data, that of the variance half the difference of its logarithm;
    the larger counts. A channel of the data that never changes is left out.

    Args:
        remains: weight of the first values, 0 and 1, that is taken out of the estimates before.
    """
    mean = module.running_mean.double() / (1 - remains)
    variance = ((module.running_var.double() - remains) / (1 - remains)).clamp(min=0)
    return apart(mean, variance, seen, _eps(module))


def apart(mean: Any, variance: Any, seen: Moments, eps: float) -> float:
    """Return the deviation of a mean and a variance (C,) from those of the data."""
    real = seen.variance > 0
    if mean.shape != real.shape or not real.any():
        return 0.0
    scale = (seen.variance + eps)[real]
    centre = (mean - seen.mean)[real] / scale.sqrt()
    spread = ((variance[real] + eps) / scale).log() / 2
    return max(float(centre.square().mean().sqrt()), float(spread.square().mean().sqrt()))


def _eps(module: Any) -> float:
    return float(getattr(module, "eps", 0.0))


def explained(module: nn.Module, seen: Moments, examples: int) -> float:
    """Return the deviation that so many examples may have by chance.

    At least it is by how much one half of them differs from the other: the variance of a channel that is seldom active
    is that of few examples, however many there are.
    """
    least = max(LEAST, NOISE / examples**0.5)
    first, second = seen.halves
    if min(first.count, second.count) < 2:
        return least
    return max(least, apart(first.mean, first.variance, second, _eps(module)))


def of_running_estimates(path: str, module: nn.Module, seen: Moments, examples: int) -> Iterator[Finding]:
    """Yield what is wrong with a module's running statistics.

    Args:
        seen: of the data that enters it in training mode.
        examples: how many of them there were.
    """
    if not keeps_statistics(module):
        return
    if not _is_finite(module):
        held = "inf, NaN or a variance below 0"
        yield Finding("not finite", path, f"running statistics hold {held}, so evaluation gives NaN; recalibrate")
    elif (between := _between_calls(module, seen)) > explained(module, seen, examples):
        told = f"is called {1 + len(seen.calls)} times a pass, with inputs {between:.2g} standard deviations off all"
        yield Finding("shared", path, f"{told}, so that its running statistics fit none; give each call its own")
    elif (off := deviation(module, seen)) > explained(module, seen, examples):
        yield Finding(*_reason(path, module, seen, off))
    momentum = getattr(module, "momentum", None)
    if isinstance(momentum, float) and momentum > 0 and (2 - momentum) / momentum < FEW:
        told = f"momentum={momentum:g} averages over {(2 - momentum) / momentum:.2g} batches; PyTorch's 0.1 over 19"
        yield Finding("undersampled", path, f"{told} (momentum is the weight of the new batch)", NOTE)


def _reason(path: str, module: Any, seen: Moments, off: float) -> tuple[str, str, str]:
    """Return kind, layer and text; undersampled are estimates that fit once their first values are taken out."""
    told = f"running statistics are {off:.2g} standard deviations off the data"
    if _is_new(module):
        return "never updated", path, f"{told}, as they were before training; recalibrate, or load them"
    if getattr(module, "momentum", None) == 0:
        return "stale", path, f"{told}, and momentum=0 never moves them"
    remains = _of_first_values(module)
    if remains and deviation(module, seen, remains) < off / 2:
        still = f"after so few batches {remains:.1%} of them are the first values; recalibrate"
        return "undersampled", path, f"{told}: {still}"
    return "stale", path, f"{told}; recalibrate, and look whether evaluation prepares its data as training does"


def _between_calls(module: Any, seen: Moments) -> float:
    """Return by how much what enters in one of several calls of a pass is off what enters in all; 0 of one call."""
    return max((apart(call.mean, call.variance, seen, _eps(module)) for call in seen.calls), default=0.0)


def _of_first_values(module: Any) -> float:
    """Return the weight that the values from before training have in a moving average, by its count of batches."""
    tracked, momentum = getattr(module, "num_batches_tracked", None), getattr(module, "momentum", None)
    return (1 - momentum) ** int(tracked) if tracked is not None and momentum and int(tracked) > 0 else 0.0


def _is_new(module: Any) -> bool:
    return bool((module.running_mean == 0).all() and (module.running_var == 1).all())


def _is_finite(module: Any) -> bool:
    mean, variance = module.running_mean, module.running_var
    return bool(torch.isfinite(mean).all() and torch.isfinite(variance).all() and (variance >= 0).all())
