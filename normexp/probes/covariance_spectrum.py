"""Eigenvalues of the second moments of what enters every layer: how well conditioned its regression is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.probes.base import Probe, Reading, Situation, inputs_of
from normexp.probes.layers import layers
from normexp.seeding import generator


@dataclass(frozen=True, kw_only=True)
class CovarianceSpectrum(Probe):
    """Eigenvalues of E[x x^T] (`uncentred_*`) and of the covariance (`centred_*`) of every layer's input x.

    x is what one output unit multiplies its weights by: the input vector of a Linear layer, a zero-padded patch
    of a convolution (of its first group). `largest`; `smallest` that is not 0 (above the rounding of float32
    data); `trace`; `condition`, their ratio; `effective_rank`, exp of the entropy of the eigenvalues as shares
    of the trace. With fewer rows than entries of x, the eigenvalues are those of a sample covariance and the
    smallest ones lie too low.

    Args:
        count: number of test examples, the same at every evaluation.
        patches: most inputs per layer; of more, a fixed random choice is taken.

    Measured in evaluation mode; both moments divide by the number of rows.

    Source: LeCun, Bottou, Orr & Mueller 1998, "Efficient BackProp", for why the eigenvalues of E[x x^T] bound
    the learning rate; Roy & Vetterli 2007 for the effective rank.
    """

    count: int = 512
    patches: int = 2048

    def measure(self, situation: Situation) -> list[Reading]:
        model, (x, _) = situation.model, situation.test(self.count)
        found = {path: layer for path, layer in layers(model).items() if not is_transposed(layer)}
        readings = []
        for path, entering in inputs_of(model, found, x).items():
            inputs = choose(*positions(found[path], entering), self.patches).cpu().double()
            for kind, each in (("uncentred", inputs), ("centred", inputs - inputs.mean(0))):
                readings += [(path, f"{kind}_{name}", value) for name, value in spectrum(each).items()]
        return readings


def is_transposed(layer: nn.Module) -> bool:
    """Tell layers that have no patches: each of their inputs is spread over a patch of the output."""
    return isinstance(layer, nn.modules.conv._ConvTransposeNd)


def positions(layer: Any, x: Tensor) -> tuple[Tensor, int]:
    """Return the inputs of one unit at every position, without copying, and the number of leading dimensions.

    Linear: (N, *, D) as it is; Conv: (N, *, C, *kernel).
    """
    if isinstance(layer, nn.Linear):
        return x, x.dim() - 1
    rank = len(layer.kernel_size)
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    view = F.pad(x[:, : layer.in_channels // layer.groups], layer._reversed_padding_repeated_twice, mode)
    for dim, (size, stride, dilation) in enumerate(zip(layer.kernel_size, layer.stride, layer.dilation, strict=True)):
        view = view.unfold(2 + dim, (size - 1) * dilation + 1, stride)[..., ::dilation]
    return view.movedim(1, 1 + rank), 1 + rank


def choose(view: Tensor, leading: int, rows: int) -> Tensor:
    """Return at most `rows` of the vectors at the leading dimensions, as a matrix (rows, D)."""
    shape = view.shape[:leading]
    total = math.prod(shape)
    order = torch.randperm(total, generator=generator(0, "covariance")) if total > rows else torch.arange(total)
    index = torch.unravel_index(order[:rows].to(view.device), shape)
    return view[index].flatten(1)


def spectrum(x: Tensor) -> dict[str, float]:
    """Return the statistics of the eigenvalues of x^T x / n, for x of shape (n, D) in float64."""
    values = eigenvalues(x)
    if not len(values):
        return dict.fromkeys(("largest", "smallest", "trace", "condition", "effective_rank"), math.nan)
    share = values / values.sum()
    return {
        "largest": float(values[-1]),
        "smallest": float(values[0]),
        "trace": float(values.sum()),
        "condition": float(values[-1] / values[0]),
        "effective_rank": float(torch.exp(-(share * share.log()).sum())),
    }


def eigenvalues(x: Tensor) -> Tensor:
    """Return the eigenvalues of x^T x / n that are not 0, ascending; none if x is 0 or not finite."""
    if not x.isfinite().all():
        return x.new_empty(0)
    n, d = x.shape
    # The smaller of the two products has the same eigenvalues but for zeros.
    values = torch.linalg.eigvalsh((x.T @ x if d <= n else x @ x.T) / n)
    rounding = (max(n, d) * torch.finfo(torch.float32).eps) ** 2  # of singular values, squared
    return values[values > rounding * values[-1].clamp(min=0)]
