"""What is learned: how outputs become a loss, and a loss becomes the metric that people read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from normexp.data.base import Data


class Task(ABC):
    """A kind of learning problem.

    Attributes:
        metric: the name of the metric beside the loss.
    """

    metric: ClassVar[str]

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        """Return the loss, as `mean` or `sum` over the examples."""

    @abstractmethod
    def num_correct(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return how many examples are right, as a tensor without axes on the outputs' device."""

    @abstractmethod
    def metrics(self, loss: float, correct: float) -> dict[str, float]:
        """Return {"loss": ..., metric: ...} from the mean loss and the fraction of examples that are right."""


@dataclass(frozen=True)
class Classification(Task):
    """Cross-entropy in nats; the metric is the accuracy in [0, 1]. Shapes: outputs (N, C), y (N,) int64."""

    metric = "accuracy"

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        return F.cross_entropy(outputs.float(), y, reduction=reduction)

    def num_correct(self, outputs: Tensor, y: Tensor) -> Tensor:
        return (outputs.argmax(1) == y).sum()

    def metrics(self, loss: float, correct: float) -> dict[str, float]:
        return {"loss": loss, "accuracy": correct}


@dataclass(frozen=True)
class Regression(Task):
    """Squared error averaged over targets; the metric is its root in the target's units. Shapes: (N, T) both.

    Args:
        scale: factor from the trained target to its own units.
    """

    scale: float = 1.0
    metric = "rmse"

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        error = (outputs.float() - y).square().mean(1)
        return error.mean() if reduction == "mean" else error.sum()

    def num_correct(self, outputs: Tensor, y: Tensor) -> Tensor:
        return outputs.new_zeros(())

    def metrics(self, loss: float, correct: float) -> dict[str, float]:
        return {"loss": loss, "rmse": self.scale * max(loss, 0.0) ** 0.5}


def task_of(data: Data) -> Task:
    """Return the task that a data set poses."""
    return Classification() if data.task == "classification" else Regression(data.target_scale)
