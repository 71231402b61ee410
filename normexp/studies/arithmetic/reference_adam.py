"""Adam in float64 NumPy, written from the paper and from the authors' code of weight normalization."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from normexp.studies.arithmetic.numbers import Array


class Moments:
    """First and second moment of one parameter's gradient, continued from those of torch's Adam.

    Source: Kingma & Ba 2015, arXiv:1412.6980, algorithm 1.
    """

    def __init__(self, state: dict[str, Tensor]) -> None:
        self.m, self.v = (numpy(state[name]) for name in ("exp_avg", "exp_avg_sq"))
        self.t = int(state["step"])

    def update(self, gradient: Array, lr: float, betas: tuple[float, float], eps: float, inside: bool) -> Array:
        """Take one gradient in and return what is added to the parameter.

        Args:
            inside: eps stands inside the root, as in Salimans & Kingma's code; otherwise outside, as in the paper.
        """
        beta1, beta2 = betas
        self.t += 1
        self.m = beta1 * self.m + (1 - beta1) * gradient
        self.v = beta2 * self.v + (1 - beta2) * gradient**2
        m, v = self.m / (1 - beta1**self.t), self.v / (1 - beta2**self.t)
        return -lr * m / (np.sqrt(v + eps) if inside else np.sqrt(v) + eps)


class ContinuedAdam(Optimizer):
    """An Adam that goes on where torch's stands, with the same groups and moments."""

    def __init__(self, adam: Optimizer) -> None:
        super().__init__([p for group in adam.param_groups for p in group["params"]], dict(adam.defaults))
        self.adam = adam
        self.moments = {p: Moments(state) for p, state in adam.state.items()}

    def _update(self, parameter: Tensor, group: dict[str, Any], inside: bool) -> Array:
        moments, gradient = self.moments[parameter], numpy(parameter.grad)
        return moments.update(gradient, group["lr"], group["betas"], group["eps"], inside)


class AuthorsAdam(ContinuedAdam):
    """Adam as in the code of Salimans & Kingma: eps inside the root, float64."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter += torch.as_tensor(self._update(parameter, group, inside=True)).to(parameter)


class ComparedAdam(ContinuedAdam):
    """torch's own Adam, with the largest distance of its updates from the formula's on the same gradients.

    `distance` is relative to the length of the formula's update, over all parameters.
    """

    distance = 0.0

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        (group,) = self.param_groups
        (theirs,) = self.adam.param_groups
        theirs.update(lr=group["lr"], betas=group["betas"])
        before = [numpy(p) for p in group["params"]]
        self.adam.step()
        expected = [self._update(p, group, inside=False) for p in group["params"]]
        found = [numpy(p) - old for p, old in zip(group["params"], before, strict=True)]
        error = sum(float(((a - b) ** 2).sum()) for a, b in zip(found, expected, strict=True))
        self.distance = max(self.distance, (error / sum(float((b**2).sum()) for b in expected)) ** 0.5)


def numpy(tensor: Tensor | None) -> Array:
    """Return the values of a parameter or gradient as a new float64 array."""
    assert tensor is not None
    return tensor.detach().cpu().numpy().astype(np.float64)
