"""What a layer can compute under a scheme, beside what it can compute without one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.norms.checks.subject import make_subject, settle
from normexp.seeding import seeded
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.studies.invariances import ROUNDING, SAME
from normexp.training.build import build_norm


@dataclass(frozen=True, kw_only=True)
class ExpressivePower(Study):
    """Whether a layer under a scheme can compute what it computes without, and the reverse.

    The layer is that of `normexp check`: y = W x, 24 inputs, 128 units, 96 examples, float64, all but without eps.

    `left` is how much of W x no gain and shift per unit bring back from the output under the scheme: with z that output
    in training mode, the root of the sum over units of min over a, b of |W x - a z - b|^2, over the root of the sum of
    |W x - mean|^2. `left_in_evaluation` is the same in evaluation mode, running estimates settled, on other examples.
    `not_affine` is how much of z, in evaluation, no layer without the scheme computes: the same with z in place of W x,
    and all affine maps of x in place of a z + b. `reparameterization` is 1 where the last two are rounding.

    Nothing is below the rounding of float64, which counts as that. A scheme with `left_in_evaluation` above 0 may come
    nearer with other weights, which is not tried.

    Source: Normalization (page of machine learning notes), sections on weight and layer normalization; Ferreira 2024,
    section 3; of batch normalization, Ioffe & Szegedy 2015, section 3. The measure is ours.
    """

    def measure(self, context: StudyContext) -> Outcome:
        with seeded(context.seed, "expressive power"), torch.no_grad():
            subject = make_subject(build_norm(context.config))
            weight = subject.weight.clone()
            left = _left(rows(subject.block(subject.x)), _plain(weight, subject.x))
            settle(subject)
            subject.block.eval()
            x = subject.other_cases()
            z = rows(subject.block(x))
            evaluated, not_affine = _left(z, _plain(weight, x)), _unexplained(z, rows(x))
        return Outcome(
            [
                {
                    "step": 0,
                    "left": left,
                    "left_in_evaluation": evaluated,
                    "not_affine": not_affine,
                    "reparameterization": int(max(evaluated, not_affine) < SAME),
                }
            ]
        )


def _plain(weight: Tensor, x: Tensor) -> Tensor:
    return rows(x) @ weight.flatten(1).T


def rows(x: Tensor) -> Tensor:
    """Return (N, C, *) as one row per example and position: (N *, C)."""
    return x.movedim(1, -1).flatten(0, -2)


def _left(z: Tensor, y: Tensor) -> float:
    """Return what is left of y: (N, C) after the best gain and shift of every column of z."""
    z, y = z - z.mean(0), y - y.mean(0)
    gain = (z * y).sum(0) / z.square().sum(0).clamp(min=torch.finfo(z.dtype).tiny)
    return max(float((y - gain * z).norm() / y.norm()), ROUNDING)


def _unexplained(z: Tensor, x: Tensor) -> float:
    """Return what is left of z: (N, C) after the best affine map of x: (N, D), N above D."""
    z, x = z - z.mean(0), x - x.mean(0)
    return max(float((z - x @ torch.linalg.lstsq(x, z).solution).norm() / z.norm()), ROUNDING)
