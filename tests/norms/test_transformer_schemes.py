"""Schemes made for transformers: how they begin, and what they are at the limits of their formulae."""

from __future__ import annotations

import pytest
import torch

from normexp.norms.derf import Derf
from normexp.norms.dyisru import DyISRU
from normexp.norms.rms import RMSNorm
from normexp.norms.scale_norm import ScaleNorm
from normexp.norms.ssnorm import SSNorm

X = torch.randn(5, 64, generator=torch.Generator().manual_seed(0), dtype=torch.double) * 3


@pytest.mark.parametrize("made", [ScaleNorm(), SSNorm()])
def test_one_gain_begins_where_root_mean_square_normalization_does(made):
    module = made.normalization(64).double()
    torch.testing.assert_close(module(X), RMSNorm(affine=False).normalization(64)(X), rtol=1e-5, atol=0)
    assert [tuple(parameter.shape) for parameter in module.parameters()] == [()]


def test_derf_and_dyisru_measure_nothing_and_stay_within_1():
    for scheme in (Derf(), DyISRU()):
        module = scheme.normalization(64).double()
        torch.testing.assert_close(module(X)[:1], module(X[:1]), rtol=0, atol=0)
        assert module(1e6 * X).abs().max() <= 1
        torch.testing.assert_close(module(-X), -module(X))


def test_derf_and_dyisru_begin_as_their_authors_say():
    torch.testing.assert_close(Derf().normalization(64).double()(X), torch.erf(0.5 * X))
    torch.testing.assert_close(DyISRU(alpha=4.0).normalization(64).double()(X), X / (4 + X * X).sqrt())
    for scheme in (Derf, DyISRU):
        with pytest.raises(ValueError, match="alpha must be above 0, not 0"):
            scheme(alpha=0.0)
