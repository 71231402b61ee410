"""A few samples at a time: the same numbers as all at once, forward and backward."""

from copy import deepcopy

import pytest
import torch
from every_scheme import randomize

from normexp.norms.decorrelated import DecorrelatedBatchNorm
from normexp.norms.derf import Derf
from normexp.norms.dyisru import DyISRU
from normexp.norms.dynamic_tanh import DynamicTanh
from normexp.norms.evonorm_b0 import EvoNormB0
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.filter_response import FilterResponseNorm
from normexp.norms.group import GroupNorm
from normexp.norms.instance import InstanceNorm
from normexp.norms.kernels import by_sample, tiles
from normexp.norms.kernels.moments import moments, scale_shift
from normexp.norms.online import OnlineNorm
from normexp.norms.rms import RMSNorm
from normexp.norms.scale_norm import ScaleNorm
from normexp.norms.ssnorm import SSNorm
from normexp.norms.switchable import SwitchableNorm

FORMATS = [torch.contiguous_format, torch.channels_last]
IN_TILES = {
    "dynamic_tanh": DynamicTanh(),
    "decorrelated": DecorrelatedBatchNorm(group_size=3, eps=1e-3),
    "derf": Derf(shift=0.3),
    "dyisru": DyISRU(),
    "filter_response": FilterResponseNorm(),
    "evonorm_b0": EvoNormB0(),
    "evonorm_s0": EvoNormS0(),
    "rms": RMSNorm(),
    "scale_norm": ScaleNorm(),
    "ssnorm": SSNorm(),
    "switchable": SwitchableNorm(),
    "online": OnlineNorm(),
}


def results(module, x, cotangent):
    """Return output, gradients and state after one step of a copy of the module."""
    module, x = deepcopy(module), x.clone().requires_grad_()
    y = module(x)
    return [y, *torch.autograd.grad(y, [x, *module.parameters()], cotangent), *module.buffers()]


def close(found, expected):
    for each, other in zip(found, expected, strict=True):
        torch.testing.assert_close(each, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("per_tile", [1, 2])
@pytest.mark.parametrize("name", IN_TILES)
def test_tiles_change_nothing(name, per_tile, memory_format, monkeypatch):
    module = randomize(IN_TILES[name].normalization(6).double())
    x, cotangent = (torch.randn(5, 6, 3, 2, dtype=torch.double).to(memory_format=memory_format) for _ in range(2))
    expected = results(module, x, cotangent)
    monkeypatch.setattr(tiles, "TILE", per_tile * x[0].numel())
    found = results(module, x, cotangent)
    close(found, expected)
    assert found[0].stride() == found[1].stride() == x.stride()


@pytest.mark.parametrize("name", IN_TILES)
def test_evaluation_in_tiles(name, monkeypatch):
    module = randomize(IN_TILES[name].normalization(6).double()).eval()
    x = torch.randn(5, 6, 3, 2, dtype=torch.double)
    with torch.no_grad():
        expected = module(x)
        monkeypatch.setattr(tiles, "TILE", 1)
        close([module(x)], [expected])


@pytest.mark.parametrize("name", [name for name in IN_TILES if name != "online"])
def test_gradient_without_a_graph_is_the_one_with(name):
    """The first is written by hand, the second derived from the formula."""
    module = randomize(IN_TILES[name].normalization(6).double())
    x = torch.randn(5, 6, 3, 2, dtype=torch.double, requires_grad=True)
    y = module(x)
    wanted, cotangent = [x, *module.parameters()], torch.randn_like(x)
    close(
        *(torch.autograd.grad(y, wanted, cotangent, create_graph=graph, retain_graph=True) for graph in (False, True))
    )


def test_tiles_are_slices_of_samples_and_shared_vectors(monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 12)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # every thread has a cache of its own
    x, rows, vector = torch.randn(5, 3, 2), torch.randn(5, 3), torch.randn(3)
    found = list(tiles.tiles(x, rows, vector))
    assert [len(part) for part, _, _ in found] == [2, 2, 1]
    assert torch.equal(torch.cat([part for part, _, _ in found]), x)
    assert torch.equal(torch.cat([part for _, part, _ in found]), rows)
    assert all(part is vector for _, _, part in found)


@pytest.mark.parametrize("shape", [(5, 3), (5, 3, 4), (5, 3, 2, 2)])
def test_moments_and_scale_shift_in_tiles(shape, monkeypatch):
    x, scale = torch.randn(shape, dtype=torch.double, requires_grad=True), torch.rand(3, dtype=torch.double)
    expected = [*moments(x), scale_shift(x, scale.requires_grad_(), scale)]
    monkeypatch.setattr(tiles, "TILE", 1)
    found = [*moments(x), scale_shift(x, scale, scale)]
    close(found, expected)
    close(*(torch.autograd.grad(sum(each.sin().sum() for each in both), [x, scale]) for both in (found, expected)))


BY_SAMPLE = {
    "group": GroupNorm(num_groups=2),
    "instance": InstanceNorm(),
    "instance, no affine": InstanceNorm(affine=False),
    "rms": RMSNorm(),
    "rms, no affine": RMSNorm(affine=False),
    "scale_norm": ScaleNorm(eps=0.1),
    "ssnorm": SSNorm(),
}


@pytest.mark.parametrize("shape", [(3, 6, 4, 2), (2, 6, 2, 3, 2)])
@pytest.mark.parametrize("name", BY_SAMPLE)
def test_large_maps_in_channels_last_sample_by_sample(name, shape, monkeypatch):
    last = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    module = randomize(BY_SAMPLE[name].normalization(6).double())
    x, cotangent = (torch.randn(shape, dtype=torch.double).to(memory_format=last) + 0.3 for _ in range(2))
    expected = results(module, x, cotangent)
    monkeypatch.setattr(by_sample, "LARGE", 0)
    assert "StandardizeSamples" in str(module(x.clone().requires_grad_()).grad_fn)
    found = results(module, x, cotangent)
    close(found, expected)
    close(results(module, x, cotangent.contiguous()), expected)
    assert found[0].stride() == found[1].stride() == x.stride()
    leaf = x.requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: module(x.to(memory_format=last)), [leaf], fast_mode=True)


# Mean in deviations -> roundings allowed: up to 32 a thousand values are added up one by one, beyond that in parts.
@pytest.mark.parametrize(("offset", "roundings"), [(0.0, 4), (30.0, 250), (1000.0, 1000)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", BY_SAMPLE)
def test_large_maps_at_an_offset(name, dtype, offset, roundings, monkeypatch):
    monkeypatch.setattr(by_sample, "LARGE", 0)
    x = (torch.randn(3, 6, 32, 32) + offset).to(dtype).to(memory_format=torch.channels_last)
    cotangent, both = torch.randn_like(x), []
    for leaf in (x.clone().requires_grad_(), x.double().requires_grad_()):
        module = BY_SAMPLE[name].normalization(6).to(torch.promote_types(leaf.dtype, torch.float32))
        y = module(leaf)
        both.append([each.double() for each in (y, *torch.autograd.grad(y, [leaf], cotangent.to(y.dtype)))])
    for found, expected in zip(*both, strict=True):
        assert (found - expected).abs().max() < roundings * torch.finfo(dtype).eps * expected.abs().max()
