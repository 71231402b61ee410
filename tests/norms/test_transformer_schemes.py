"""Schemes made for transformers: how they begin, and what they are at the limits of their formulae."""

import copy

import pytest
import torch
from torch import nn

from normexp.models.placements.peri import Peri
from normexp.models.placements.reordered import Reordered
from normexp.models.vit import ViT
from normexp.norms.base import Rows
from normexp.norms.derf import Derf
from normexp.norms.dyisru import DyISRU
from normexp.norms.fold import fold
from normexp.norms.rep_batch import ReparametrizedBatchNorm, RepBatchNorm
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


def test_rep_batch_is_folded_into_the_layer_behind_it():
    """A pre-norm transformer has nothing in front of its norms that could take them in."""
    layers = [RepBatchNorm().sequence(6), nn.Linear(6, 4, bias=False), nn.Tanh(), RepBatchNorm().sequence(4)]
    model = nn.Sequential(*layers, nn.Linear(4, 3)).double()
    x = torch.randn(5, 7, 6, generator=torch.Generator().manual_seed(0), dtype=torch.double) * 3 + 1
    for _ in range(3):
        model(x)
    expected = model.eval()(x)
    folded = fold(model)
    torch.testing.assert_close(folded(x), expected, rtol=1e-12, atol=1e-12)
    assert not [module for module in folded.modules() if isinstance(module, ReparametrizedBatchNorm)]


def test_rep_batch_in_a_vision_transformer_is_folded_everywhere():
    model = ViT((1, 8, 8), 10, RepBatchNorm(), layers=2, heads=2, width=8).double()
    x = torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    for _ in range(3):
        model(x)
    expected = model.eval()(x)
    torch.testing.assert_close(fold(model)(x), expected, rtol=1e-12, atol=1e-12)
    left = [name for name, module in model.named_modules() if isinstance(module, ReparametrizedBatchNorm)]
    assert left == ["final.module"]  # its output is read at one position alone


@pytest.mark.parametrize("placement", [Peri(), Reordered()])
def test_a_norm_of_tokens_behind_a_layer_is_folded(placement):
    torch.manual_seed(0)
    model = ViT((1, 8, 8), 4, RepBatchNorm(), placement, layers=1, heads=2, width=8).double()
    x = torch.randn(8, 1, 8, 8).double()
    model(x)
    expected = model.eval()(x)
    torch.testing.assert_close(fold(model)(x), expected, rtol=1e-8, atol=1e-8)
    left = [name for name, module in model.named_modules() if isinstance(module, ReparametrizedBatchNorm)]
    assert not any("within" in name for name in left)


def test_rep_batch_comes_by_way_of_layer_normalization():
    scheme = RepBatchNorm(layer_steps=4)
    module = scheme.normalization(64).double()
    step = scheme.step_hook(module)
    layer, plain = nn.LayerNorm(64).double(), RepBatchNorm().normalization(64).double()
    assert step is not None
    for share in (1, 0.75, 0.5, 0.25, 0, 0):
        torch.testing.assert_close(module(X), share * layer(X) + (1 - share) * plain(X), rtol=1e-6, atol=1e-6)
        step()
    assert RepBatchNorm().step_hook(nn.Sequential(plain)) is None


def test_rep_batch_of_half_precision_counts_more_steps_than_it_can_hold():
    scheme = RepBatchNorm(layer_steps=70_000)  # float16 ends at 65,504
    module, exact = scheme.normalization(64), scheme.normalization(64)
    torch.testing.assert_close(module.half()(X.half()), exact(X.float()).half(), rtol=1e-2, atol=1e-2)


def test_rep_batch_is_folded_only_once_layer_normalization_is_gone():
    scheme = RepBatchNorm(layer_steps=1)
    model = nn.Sequential(scheme.sequence(4), nn.Linear(4, 3)).double()
    step = scheme.step_hook(model)
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    assert isinstance(fold(copy.deepcopy(model))[0], Rows)
    assert step is not None
    step()
    assert isinstance(fold(copy.deepcopy(model))[0], nn.Identity)
    torch.testing.assert_close(fold(copy.deepcopy(model))(x), model.eval()(x), rtol=1e-12, atol=1e-12)
