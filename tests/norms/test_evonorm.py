"""EvoNorm: what its two layers are made of, and where they stand."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normexp.norms.evonorm_b0 import EvoNormB0
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.group import GroupNorm


def test_s0_is_a_swish_over_the_deviation_of_group_normalization():
    x = torch.randn(4, 8, 5, 3)
    deviation = F.silu(x) / EvoNormS0(num_groups=2).normalization(8)(x)
    centred = x - x.view(4, 2, -1).mean(2).repeat_interleave(4, 1).view(4, 8, 1, 1)
    torch.testing.assert_close(centred / deviation, GroupNorm(num_groups=2).normalization(8)(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("norm", [EvoNormS0(), EvoNormB0()])
def test_v_and_the_gain_start_at_1_and_the_bias_at_0(norm):
    parts = dict(norm.normalization(64).named_parameters())
    assert {name: set(part.tolist()) for name, part in parts.items()} == {"weight": {1.0}, "bias": {0.0}, "v": {1.0}}


def test_s0_works_where_v_is_zero():
    """x sigmoid(0) = x / 2; a form that divides by v would not."""
    module = EvoNormS0().normalization(64).double()
    x = torch.randn(4, 64, 3, 3, dtype=torch.double, requires_grad=True)
    one = module(x)
    with torch.no_grad():
        module.v.zero_()
    y = module(x)
    torch.testing.assert_close(y, one / x.sigmoid() / 2)
    y.square().sum().backward()
    assert module.v.grad.isfinite().all()


def test_b0_without_v_divides_by_the_larger_deviation():
    module = EvoNormB0().normalization(3).double()
    with torch.no_grad():
        module.v.zero_()
    x = torch.randn(6, 3, 4, 4, dtype=torch.double) * torch.arange(1, 7).view(6, 1, 1, 1)
    instance = x.var((2, 3), correction=0, keepdim=True).sqrt()
    batch = x.var((0, 2, 3), correction=0, keepdim=True).sqrt()
    assert (instance > batch).any()
    assert (instance < batch).any()
    torch.testing.assert_close(module(x), x / torch.maximum(instance, batch), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", [EvoNormS0(), EvoNormB0()])
def test_replaces_the_nonlinearity_and_leaves_an_output_layer_alone(norm):
    assert [type(step).__name__ for step in norm.block(nn.Conv2d(3, 64, 3), nn.ReLU())][1:] == [
        type(norm.normalization(64)).__name__
    ]
    (only,) = norm.block(nn.Linear(3, 10))
    assert only.bias is not None


def test_one_value_is_refused():
    with pytest.raises(ValueError, match="more than one value per map"):
        EvoNormB0().normalization(32)(torch.randn(4, 32))
