"""Schemes against torch.nn where torch has the layer, and against each other where two formulae coincide."""

import pytest
import torch
from every_scheme import randomize
from torch import nn

from normexp.norms.batch import BatchNorm
from normexp.norms.group import GroupNorm
from normexp.norms.instance import InstanceNorm
from normexp.norms.kernels.grouped import largest_divisor
from normexp.norms.layer import LayerNorm
from normexp.norms.mean_only import MeanOnlyBatchNorm

C = 6
PAIRS = [
    (BatchNorm(), nn.BatchNorm1d(C), (5, C)),
    (BatchNorm(momentum=0.3, eps=0.1), nn.BatchNorm1d(C, momentum=0.3, eps=0.1), (5, C, 4)),
    (BatchNorm(affine=False), nn.BatchNorm2d(C, affine=False), (5, C, 4, 3)),
    (BatchNorm(), nn.BatchNorm3d(C), (2, C, 4, 3, 2)),
    (LayerNorm(), nn.LayerNorm(C), (5, C)),
    (LayerNorm(eps=0.1), nn.GroupNorm(1, C, eps=0.1), (5, C, 4, 3)),
    (InstanceNorm(), nn.InstanceNorm1d(C, affine=True), (5, C, 4)),
    (InstanceNorm(eps=0.1, affine=False), nn.InstanceNorm2d(C, eps=0.1), (5, C, 4, 3)),
    (GroupNorm(num_groups=3), nn.GroupNorm(3, C), (5, C, 4, 3)),
    (GroupNorm(num_groups=3, affine=False), nn.GroupNorm(3, C, affine=False), (5, C)),
    (GroupNorm(num_groups=1), LayerNorm().normalization(C), (5, C, 4, 3)),
    (GroupNorm(num_groups=C), InstanceNorm().normalization(C), (5, C, 4, 3)),
    (InstanceNorm(), BatchNorm().normalization(C), (1, C, 4, 3)),
]


@pytest.mark.parametrize(("norm", "other", "sizes"), PAIRS, ids=lambda part: str(part)[:40])
def test_same_function_and_gradients(norm, other, sizes):
    module, other = norm.normalization(C).double(), randomize(other.double())
    module.load_state_dict(other.state_dict(), strict=False)
    assert dict(module.named_parameters()).keys() == dict(other.named_parameters()).keys()
    x = torch.randn(sizes, dtype=torch.double, requires_grad=True)
    cotangent = torch.randn_like(x)
    results = []
    for each in (module, other):
        y = each(x)
        results.append([y, *torch.autograd.grad(y, [x, *each.parameters()], cotangent)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_batch_state_dict_is_torchs():
    torchs = nn.BatchNorm2d(C)
    torchs(torch.randn(4, C, 3, 3))
    ours = BatchNorm().normalization(C)
    ours.load_state_dict(torchs.state_dict())  # strict
    assert ours.state_dict().keys() == torchs.state_dict().keys()


def test_mean_only_is_batch_norm_without_the_division():
    x = torch.randn(50, C, 3, dtype=torch.double) * 3 + 1
    std = x.movedim(1, 0).reshape(C, -1).std(1, correction=0).view(1, -1, 1)
    found = MeanOnlyBatchNorm().normalization(C).double()(x)
    torch.testing.assert_close(found / std, BatchNorm(eps=1e-12).normalization(C).double()(x))


@pytest.mark.parametrize(("channels", "groups"), [(96, 32), (10, 10), (32, 32), (48, 24), (7, 7), (37, 1)])
def test_number_of_groups(channels, groups):
    assert largest_divisor(channels, 32) == groups
    assert GroupNorm().normalization(channels).num_groups == groups
