"""Batch normalization orthogonalizes a random net's hidden examples, down to a level that falls with the width."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.probes.gram_distance import gram_distance
from normexp.seeding import generator
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.studies.orthogonal_depth import BatchRootMeanSquare
from normexp.studies.unit_squares import check_unit_squares
from normexp.training.build import build_norm

FALLING = 10  # layers; then the noise of the level is as large as what is left


@dataclass(frozen=True, kw_only=True)
class Orthogonalization(Study):
    """The distance of the hidden Gram matrix from I/n along a linear net at initialization, and its level by width.

    Step k is width k. `level` is the mean distance over the last half of the layers; `early`, over the first tenth.
    `slope` is that of log level against log width over all widths, `slope_early` and `slope_middle` (second fifth) what
    it would be with other layers averaged: the decay towards the level is in them. The table `layers` has the distance
    by layer.

    Derived, the level: with H orthogonal, H' = rows of W H divided by their length is width independent random
    directions in n dimensions; their Gram matrix is I/n plus a mean of `width` independent matrices of mean 0, whose
    Frobenius norm is of order width^(-1/2), so the slope is -1/2 with a remainder of 1 / width.

    With `alike` above 0 the examples share a part at first, and `fall` tells how they lose it. With G the Gram matrix
    of trace 1 and e the direction that all have in common, a = n e'Ge - 1 is n - 1 where they are the same and 0 where
    they are orthogonal. `fall` is the least-squares factor between a after a layer and what is expected of it from a
    before, over the first 10 layers; NaN without a shared part.

    Derived, the fall: a row of W H is normal with the covariance G; let its variance be (1 + a) / n along e and equal
    in all other directions. Divided by its length, the share of its square that lies along e is x (1 + a) over
    x (1 + a) + (1 - x)(1 - a / (n - 1)), with x from Beta(1/2, (n - 1) / 2); n times its mean less 1 is the expected a.
    For small a that is n a / (n + 2): the distance falls by a constant factor per layer. A net of finite width adds the
    level's noise, so that `fall` is 1 with a remainder of 1 / width.

    Args:
        widths: of the nets.
        depth: layers.
        examples: in the batch, n, standard normal.
        alike: the share of their variance that all examples have in common at first.
        centre: whether the norm subtracts the mean over the batch, which makes the rank n - 1; the theory's does not.

    Raises: UserError for fewer than two widths, or one that is given twice; for a scheme with another normalization
        than one that gives every unit the mean square 1 over the batch.

    Source: Daneshmand, Joudaki & Bach 2021, arXiv:2106.03970 [set-up from the authors' code,
    hadidaneshmand/batchnorm21; the text says width 800, the notebook 500]; printed slope -0.46.
    """

    widths: Sequence[int] = (16, 32, 64, 128, 256, 512)
    depth: int = 500
    examples: int = 4
    alike: float = 0.0
    centre: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        if len(set(self.widths)) < max(2, len(self.widths)):
            raise UserError(f"study.widths={list(self.widths)}: a slope needs two different widths or more, each once")
        norm = build_norm(context.config)
        self._check(norm, f"study=orthogonalization norm={context.config.choices['norm']}")
        hidden = {width: list(self._hidden(norm, context.seed, width)) for width in self.widths}
        by_width = {width: [gram_distance(h) for h in layers] for width, layers in hidden.items()}
        falls = [self._fall(hidden[width]) for width in self.widths]
        parts = {"level": (0.5, 1.0), "early": (0.0, 0.1), "middle": (0.2, 0.4)}
        means = {name: [_mean(each, *part) for each in by_width.values()] for name, part in parts.items()}
        slopes = {name: _slope(self.widths, values) for name, values in means.items()}
        rows: list[Row] = [
            {"step": width, "level": means["level"][i], "early": means["early"][i], "slope": slopes["level"],
             "slope_early": slopes["early"], "slope_middle": slopes["middle"], "minus_half": -0.5,
             "remainder": 1 / min(self.widths), "fall": falls[i], "one": 1.0, "of_width": 1 / width}
            for i, width in enumerate(self.widths)
        ]  # fmt: skip
        shown = [k for k in range(self.depth) if k < 20 or k % 10 == 0]
        layers = [{"width": width, "layer": k + 1, "distance": by_width[width][k]} for width in by_width for k in shown]
        return Outcome(rows, {"layers": layers})

    def _check(self, norm: Norm, who: str) -> None:
        normalization = norm.linear_normalization(self.widths[0]).train()
        if not isinstance(normalization, nn.Identity):  # without a normalization it is the law's control
            x = torch.randn(self.examples, self.widths[0], generator=generator(0, "trial"))
            check_unit_squares(normalization, x, who, control=False)

    def _hidden(self, norm: Norm, seed: int, width: int) -> Iterator[Tensor]:
        """Yield the hidden examples (n, width) of layer after layer."""
        source = generator(seed, "inputs", width)
        h = torch.randn(self.examples, width, generator=source)
        if self.alike:
            h = math.sqrt(1 - self.alike) * h + math.sqrt(self.alike) * torch.randn(1, width, generator=source)
        source = generator(seed, "weights", width)
        normalization = norm.linear_normalization(width).train() if self.centre else self._uncentred(norm)
        with torch.no_grad():
            for _ in range(self.depth):
                h = normalization(h @ torch.randn(width, width, generator=source).div_(math.sqrt(width)))
                yield h

    def _fall(self, hidden: Sequence[Tensor]) -> float:
        """Return the factor between a, by how much the examples are alike, and what is expected of it."""
        if not self.alike:
            return math.nan
        a = [float(h.sum(0).square().sum() / h.square().sum()) - 1 for h in hidden[:FALLING]]
        expected = np.array([expected_likeness(each, self.examples) for each in a[:-1]])
        return float(expected @ a[1:] / (expected @ expected))

    def _uncentred(self, norm: Norm) -> nn.Module:
        return nn.Identity() if isinstance(norm.linear_normalization(1), nn.Identity) else BatchRootMeanSquare()


def expected_likeness(a: float, examples: int) -> float:
    """Return the expected a behind a layer and its norm, of one in front, in a net that is infinitely wide."""
    along, across = 1 + a, 1 - a / (examples - 1)
    share = stats.beta(0.5, (examples - 1) / 2).expect(lambda x: x * along / (x * along + (1 - x) * across))
    return examples * float(share) - 1


def _mean(values: Sequence[float], first: float, last: float) -> float:
    return float(np.mean(values[int(first * len(values)) : max(1, int(last * len(values)))]))


def _slope(widths: Sequence[int], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(widths), np.log(values), 1)[0])
