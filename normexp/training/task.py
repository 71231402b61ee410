"""What is learned: how outputs become a loss, and a loss becomes the metric that people read."""

from __future__ import annotations

import math
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

    def num_correct(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Return how many examples are right, as a tensor without axes on the outputs' device; 0 where none can be."""
        return outputs.new_zeros(())

    @abstractmethod
    def of_each(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of every example and whether it is right, (N,) both: what each of stacked runs adds up."""

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

    def of_each(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.loss(outputs, y, reduction="none"), outputs.argmax(1) == y

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
        error, _ = self.of_each(outputs, y)
        return error.mean() if reduction == "mean" else error.sum()

    def of_each(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return (outputs.float() - y).square().mean(1), outputs.new_zeros(len(outputs))

    def metrics(self, loss: float, correct: float) -> dict[str, float]:
        return {"loss": loss, "rmse": self.scale * max(loss, 0.0) ** 0.5}


@dataclass(frozen=True)
class LanguageModel(Task):
    """Cross-entropy of the next token in nats, averaged over positions; the metric is its bits per byte of the text.

    Shapes: outputs (N, T, C), y (N, T) int64.

    Args:
        bytes_per_token: of the whole text, on average; 1 of bytes and of ASCII characters.
    """

    bytes_per_token: float = 1.0
    metric = "bits_per_byte"

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        nats = self.nats(outputs, y, reduction)
        return nats if reduction == "mean" else nats / y.shape[1]

    def of_each(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.nats(outputs, y, "none").view(y.shape).mean(1), outputs.new_zeros(len(outputs))

    def nats(self, outputs: Tensor, y: Tensor, reduction: str) -> Tensor:
        return F.cross_entropy(outputs.flatten(0, 1).float(), y.flatten(), reduction=reduction)

    def metrics(self, loss: float, correct: float) -> dict[str, float]:
        return {"loss": loss, "bits_per_byte": loss / (math.log(2) * self.bytes_per_token)}


def task_of(data: Data) -> Task:
    """Return the task that a data set poses."""
    if data.task == "language":
        return LanguageModel(float(data.bytes_per_token))
    return Classification() if data.task == "classification" else Regression(float(data.target_scale))
