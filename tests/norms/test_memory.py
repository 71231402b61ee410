"""Schemes that keep their input for backward, or nothing at all, and no second tensor of its size."""

import pytest
import torch

from normexp.norms.checks.memory import kept_by
from normexp.norms.evonorm_b0 import EvoNormB0
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.filter_response import FilterResponseNorm
from normexp.norms.mean_only import MeanOnlyBatchNorm
from normexp.norms.online import OnlineNorm
from normexp.norms.switchable import SwitchableNorm

MOST = {  # of the input's bytes, beside the input
    EvoNormB0(): 0.1,
    EvoNormS0(): 0.1,
    FilterResponseNorm(): 0.3,  # a byte per value, for the threshold
    MeanOnlyBatchNorm(): 0.0,
    MeanOnlyBatchNorm(affine=False): 0.0,
    OnlineNorm(): 0.1,
    SwitchableNorm(): 0.1,
}


@pytest.mark.parametrize(("norm", "most"), MOST.items(), ids=str)
def test_a_scheme_keeps_its_input_at_most(norm, most):
    x = torch.randn(8, 32, 20, 20, requires_grad=True)
    assert kept_by(norm.normalization(32), x) <= most * x.nbytes


def test_mean_only_batch_normalization_keeps_not_even_its_input():
    module, x, kept = MeanOnlyBatchNorm().normalization(4), torch.randn(6, 4, 5, 3, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        module(x)
    assert sum(kept) <= 8
