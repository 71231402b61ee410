"""How near the covariance of W x is to that of x, for rows W of length 1: at the start, after training, in use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.norms.networks.trial import watched
from normexp.seeding import generator
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.studies.trained import trained
from normexp.training.components import Components


@dataclass(frozen=True, kw_only=True)
class Incoherence(Study):
    """Covariance of u = W x beside the identity, for the rows of every hidden linear layer, each made 1 long.

    One row of metrics per layer, which `step` counts. `coherence` is the largest |cosine| of two rows, `distance`
    ||Cov(u) - I||_F / sqrt(m (m - 1)) for m units and inputs of mean 0 and covariance I, and `distance_in_use` the same
    for the inputs that the layer has from the training split, in units of their mean variance. In float64.

    Derived: Cov(u) = W W^T has 1 on its diagonal and the rows' cosines beside it. None is larger than the coherence, so
    that `distance` is at most that: the paper's bound for rows of one length. Rows of independent entries, symmetric
    around 0 and of one distribution, have E cos^2 = 1 / n for n inputs, because terms of different inputs have mean 0;
    so E distance^2 = 1 / n. Pairs are uncorrelated and Var cos^2 < 2 / n^2, so the root lowers the mean by the share
    1 / (2 m (m - 1)) at most, to first order: `remainder` is that of `formula` = n^(-1/2).

    Args:
        learned: measure after training; False takes the network as it starts.
        cosine: of any two rows with each other, on average, by a direction that all of them get; 0 leaves them alone.
        examples: drawn inputs, made to have covariance I exactly, and at most so many of the training split.

    Raises: UserError for a network without two hidden units side by side, or too few examples for a covariance.

    Source: Arpit et al. 2016, arXiv:1603.01431; Arpit, Normalization Techniques (slides),
    "Key idea" of normalization propagation.
    """

    learned: bool = True
    cosine: float = 0.0
    examples: int = 4096

    def measure(self, context: StudyContext) -> Outcome:
        components = trained(context) if self.learned else context.components
        layers = hidden_layers(components.model)
        used = inputs_of(components, layers, self.examples)
        return Outcome([self._row(context.seed, k, *pair) for k, pair in enumerate(zip(layers, used, strict=True), 1)])

    def _row(self, seed: int, step: int, layer: nn.Linear, used: Tensor) -> Row:
        rows = self._rows(layer, seed, step)
        units, inputs = rows.shape
        if self.examples <= inputs:
            raise UserError(f"study.examples={self.examples}: a layer has {inputs} inputs; give more examples")
        drawn = torch.randn(self.examples, inputs, dtype=torch.double, generator=generator(seed, "inputs", step))
        white, coherence = distance(rows, whitened(drawn)), float((rows @ rows.T).fill_diagonal_(0).abs().max())
        in_use, formula = distance(rows, used.double().cpu()), inputs**-0.5
        return {
            "step": step,
            "coherence": coherence,
            "distance": white,
            "share_of_bound": white / coherence,
            "formula": formula,
            "remainder": formula / (2 * units * (units - 1)),
            "distance_in_use": in_use,
            "times": in_use / white,
        }

    def _rows(self, layer: nn.Linear, seed: int, step: int) -> Tensor:
        rows = nn.functional.normalize(layer.weight.detach().double().cpu())
        common = torch.randn(rows.shape[1], dtype=torch.double, generator=generator(seed, "common", step))
        mixed = math.sqrt(1 - self.cosine) * rows + math.sqrt(self.cosine) * nn.functional.normalize(common, dim=0)
        return nn.functional.normalize(mixed)


def hidden_layers(model: nn.Module) -> list[nn.Linear]:
    """Return the linear layers but the last, in order. Raises UserError where there is none, or a single unit."""
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)][:-1]
    if not layers or any(layer.out_features < 2 for layer in layers):
        raise UserError("study=incoherence: needs hidden linear layers of two units or more, as model=mlp has")
    return layers


def inputs_of(components: Components, layers: Sequence[nn.Linear], examples: int) -> list[Tensor]:
    """Return what enters each layer, (N, inputs), for the first examples of the training split in evaluation mode."""
    seen: dict[str, Tensor] = {}
    named = {str(index): layer for index, layer in enumerate(layers)}
    components.model.eval()
    with watched(named, lambda name, x: seen.update({name: x.flatten(0, -2)})), torch.no_grad(), components.autocast():
        components.model(components.batches.first(examples)[0])
    return [seen[name] for name in named]


def whitened(x: Tensor) -> Tensor:
    """Return x (N, D) with a mean of 0 and covariance I, divisor N, exactly but for rounding."""
    q, _ = torch.linalg.qr(x - x.mean(0))
    return q * math.sqrt(len(x))


def distance(rows: Tensor, x: Tensor) -> float:
    """Return ||Cov(W x) / s - I||_F / sqrt(m (m - 1)) for W (m, D) and x (N, D); s is the mean variance of x."""
    units = len(rows)
    u = (x - x.mean(0)) @ rows.T
    covariance = u.T @ u / len(x) / x.var(0, correction=0).mean()
    return float(torch.linalg.matrix_norm(covariance - torch.eye(units))) / math.sqrt(units * (units - 1))
