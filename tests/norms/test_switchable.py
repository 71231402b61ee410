"""Switchable normalization: with all weight on one kind of statistics it is that scheme."""

import pytest
import torch

from normexp.norms.batch import BatchNorm
from normexp.norms.instance import InstanceNorm
from normexp.norms.layer import LayerNorm
from normexp.norms.switchable import SwitchableNorm


@pytest.mark.parametrize(("place", "norm"), list(enumerate([InstanceNorm(), LayerNorm(), BatchNorm()])))
def test_one_kind_alone_is_that_scheme(place, norm):
    module, other = SwitchableNorm().normalization(4).double(), norm.normalization(4).double()
    with torch.no_grad():
        for logits in (module.mean_logits, module.var_logits):
            logits.fill_(-1e3)[place] = 1e3
    x = torch.randn(6, 4, 5, 3, dtype=torch.double, requires_grad=True) * 2 + 1
    results = []
    for each in (module, other):
        y = each(x)
        results.append((y, *torch.autograd.grad(y.sin().sum(), [x, each.weight, each.bias])))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(module.eval()(x), other.eval()(x))


@pytest.mark.parametrize(("place", "norm"), [(1, LayerNorm()), (2, BatchNorm())])
def test_one_kind_alone_on_vectors(place, norm):
    module = SwitchableNorm().normalization(4)
    with torch.no_grad():
        for logits in (module.mean_logits, module.var_logits):
            logits.fill_(-1e3)[place] = 1e3
    x = torch.randn(6, 4)
    torch.testing.assert_close(module(x), norm.normalization(4)(x))


def test_starts_with_equal_shares():
    module = SwitchableNorm().normalization(4)
    for logits in (module.mean_logits, module.var_logits):
        assert logits.tolist() == [1.0] * 3
