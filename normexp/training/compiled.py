"""Forward and backward of a step as one function of torch.compile: what pays off for tiny networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Gradient = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # (x, y) -> (loss, outputs), after its backward pass
KEEPS_ROUNDING: dict[str, Any] = {"emulate_precision_casts": True}


def compile_fullgraph(gradient: Gradient, keeps_rounding: bool = False) -> Gradient:
    """Compile a function that calls `backward`; one that cannot be a single graph is called as it is.

    Never in pieces: where a graph breaks before its backward pass, torch's compiler leaves out gradients without a
    word. Some schemes' own backward passes break it, and so does a torch that does not trace `backward` (see
    `normexp.training.process.compiler_set`).

    Args:
        keeps_rounding: numbers are rounded to bfloat16 by a cast there and back, which torch's compiler leaves out
            unless it is told not to.
    """
    from torch._dynamo.exc import TorchDynamoException

    chosen: Gradient = torch.compile(gradient, fullgraph=True, options=KEEPS_ROUNDING if keeps_rounding else None)

    def learn(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        nonlocal chosen
        try:
            return chosen(x, y)
        except TorchDynamoException:
            if chosen is gradient:
                raise
            chosen = gradient
            return gradient(x, y)

    return learn
