"""The feed-forward branch of a transformer: two linear layers at every position, or three with a gate."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from normexp.norms.base import Norm

Made = Callable[[int], nn.Module]  # number of features -> a module on (N, T, features)
KINDS = ("gelu", "swiglu")


class FeedForward(nn.Module):
    """W2 gelu(W1 x), or W2 (silu(W1 x) * W3 x) with two thirds of the hidden width: about as many parameters.

    Args:
        norm: (re)parametrizes the linear layers.
        hidden: of GELU; SwiGLU has round(2 hidden / 3).
        kind: `gelu` or `swiglu`. W1 and W3 are one layer, `expand`.
        entering: what is done to the outputs of W1 and W3, made by `entering(number of them)`.
        inner: what stands in front of W2, made by `inner(hidden)`.

    Shape: (N, T, C) -> (N, T, C).
    Source: Vaswani et al. 2017, section 3.3, with the GELU of Hendrycks & Gimpel 2016; Shazeer 2020, arXiv:2002.05202.
    """

    def __init__(self, width: int, hidden: int, norm: Norm, kind: str, entering: Made, inner: Made, bias: bool) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"model.feed_forward={kind}: is none of {', '.join(KINDS)}")
        self.gated = kind == "swiglu"
        hidden = round(2 * hidden / 3) if self.gated else hidden
        self.expand = norm.parametrize(nn.Linear(width, 2 * hidden if self.gated else hidden, bias))
        self.entering = entering(2 * hidden if self.gated else hidden)
        self.inner = inner(hidden)
        self.output = norm.parametrize(nn.Linear(hidden, width, bias))

    def forward(self, x: Tensor) -> Tensor:
        h = self.entering(self.expand(x))
        if self.gated:
            gate, value = h.chunk(2, -1)
            h = F.silu(gate) * value
        else:
            h = F.gelu(h)
        return self.output(self.inner(h))
