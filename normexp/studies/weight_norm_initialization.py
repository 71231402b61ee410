"""Data-dependent initialization of weight normalization: a slide's formula beside the one that normalizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.seeding import seeded
from normexp.studies.base import Number, Outcome, Study, StudyContext

TOLERANCE = 1e-9  # float64


@dataclass(frozen=True, kw_only=True)
class WeightNormInitialization(Study):
    """Mean and standard deviation of every unit's first pre-activations, gamma w.x / ||w|| + beta, on the batch
    that they were initialized from.

    Args:
        formula: `printed` gamma = 1/sqrt(var(w.x) / ||w||), beta = -E[w.x / ||w||] / sqrt(var(w.x) / ||w||);
            `derived` with var(w.x / ||w||), the same as ||w|| / std(w.x), in both denominators.
        units, inputs, examples: sizes of the layer and the batch.
        std: of the Gaussian initial weights.

    Source: Arpit, Normalization Techniques (slides), "Weight normalized pre-activation"; Salimans & Kingma 2016,
    arXiv:1602.07868, section 3, g = 1/std[t] and b = -mean[t]/std[t] with t = v.x / ||v||.
    """

    formula: str = "printed"
    units: int = 100
    inputs: int = 50
    examples: int = 500
    std: float = 0.05

    def measure(self, context: StudyContext) -> Outcome:
        with seeded(context.seed, "weight norm initialization"):
            weight = self.std * torch.randn(self.units, self.inputs, dtype=torch.float64)
            x = 2 + 3 * torch.randn(self.examples, self.inputs, dtype=torch.float64)
        first = self._initialized(weight, x)
        mean, deviation = first.mean(0), first.std(0, correction=0)
        metrics = {
            "largest_mean": float(mean.abs().max()),
            "smallest_deviation": float(deviation.min()),
            "largest_deviation": float(deviation.max()),
            "norm": float(weight.norm(dim=1).mean()),
        }
        numbers = self._numbers(metrics) if self.formula == "printed" else []
        return Outcome([{"step": 0, **metrics}], {}, list(numbers))

    def _initialized(self, weight: Tensor, x: Tensor) -> Tensor:
        norm, product = weight.norm(dim=1), x @ weight.T
        t, variance = product / norm, product.var(0, correction=0)
        scale = (variance / norm if self.formula == "printed" else variance / norm.square()).sqrt()
        return t / scale - t.mean(0) / scale

    def _numbers(self, metrics: dict[str, float]) -> Iterator[Number]:
        ends = metrics["smallest_deviation"], metrics["largest_deviation"]
        yield Number(
            document="S002",
            place="slide on weight normalized pre-activations",
            quantity="with the printed gamma and beta the pre-activations of the first batch are normalized",
            printed="gamma = 1/sqrt(var(Wx)/||W||), beta with the same denominator",
            computed=f"standard deviations from {ends[0]:.4g} to {ends[1]:.4g}",
            agrees=max(abs(1 - end) for end in ends) < TOLERANCE,
            remark="The norm belongs inside the variance: gamma = 1/sqrt(var(Wx/||W||)) = ||W||/std(Wx), which gives "
            "standard deviation 1; with the printed one it is 1/sqrt(||W||).",
        )
