"""How the gradient of a layer's weights shrinks as the weights grow."""

from __future__ import annotations

import torch
from torch import Tensor

from normexp.norms.base import Norm
from normexp.norms.checks.invariance import FACTOR, SAME, rescale_weight_matrix
from normexp.norms.checks.subject import Subject, distance, make_subject, reproducible, settle


def gradient_factor(norm: Norm) -> float | None:
    """Return f c, where the gradient at c W is f times the gradient at W; None if the two are not parallel.

    A layer with norm(c W x) = norm(W x) has f = 1/c, so f c = 1 (Ioffe & Szegedy 2015, section 3.3): larger
    weights get smaller gradients. Without normalization f = 1 for a linear layer, so f c = c. Measured in
    float64 with c = 3 and a random cotangent.
    """
    with reproducible():
        subject = make_subject(norm)
        larger = subject.copy()
        with torch.no_grad():
            rescale_weight_matrix(larger)
        cotangent = torch.randn_like(subject.copy().block(subject.x))
        before, after = gradient(subject, cotangent), gradient(larger, cotangent)
    factor = float((before * after).sum() / before.square().sum())
    return factor * FACTOR if factor and distance(after, factor * before) < SAME else None


def gradient(subject: Subject, cotangent: Tensor) -> Tensor:
    """Return the gradient of sum(cotangent y) in the free weights."""
    settle(subject)
    (result,) = torch.autograd.grad(subject.block(subject.x), [subject.weight], cotangent)
    return result
