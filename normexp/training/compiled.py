"""Forward and backward of a step as one function of torch.compile: what pays off for tiny networks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Gradient = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # (x, y) -> (loss, outputs), after its backward pass


def compile_fullgraph(gradient: Gradient) -> Gradient:
    """Compile a function that calls `backward`; one that cannot be a single graph is called as it is.

    Never in pieces: where a graph breaks before its backward pass, torch's compiler leaves out gradients without a
    word. Some schemes' own backward passes break it, and so does a torch that does not trace `backward` (see
    `normexp.training.process.compiler_set`).
    """
    from torch._dynamo.exc import TorchDynamoException

    chosen: Gradient = torch.compile(gradient, fullgraph=True)

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
