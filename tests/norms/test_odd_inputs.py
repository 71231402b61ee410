"""Inputs that few networks give a scheme: half precision throughout, maps without a position."""

from __future__ import annotations

import copy

import pytest
import torch
from every_scheme import CONFIGS, ON_ACTIVATIONS, accepts, instantiate, randomize
from torch import nn

from normexp.norms import BatchNorm, BatchRenorm, FilterResponseNorm, OnlineNorm
from normexp.norms.checks.clauses_of_sizes import answered

CHANNELS = 8
OPTIONS = {
    "ghost_batch": {"chunk_size": 2},
    "decorrelated": {"group_size": 2},
    "group": {"num_groups": 4},
    "evonorm_s0": {"num_groups": 4},
}
VECTORS_AND_MAPS = [(6, CHANNELS), (2, CHANNELS, 4, 4)]
HALF = {torch.float16: 3e-3, torch.bfloat16: 2e-2}


def made(name: str) -> nn.Module:
    torch.manual_seed(0)
    return randomize(instantiate(CONFIGS[name], **OPTIONS.get(name, {})).normalization(CHANNELS))


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in ON_ACTIVATIONS for shape in VECTORS_AND_MAPS if accepts(name, shape)],
    ids=str,
)
def test_a_module_in_half_precision(name, shape, dtype):
    """`network.half()` or `.bfloat16()`, without autocast."""
    module, x = made(name).to(dtype), torch.randn(shape).to(dtype).requires_grad_()
    expected = copy.deepcopy(module).double()(x.detach().double())
    y = module(x)
    y.sum().backward()
    assert (y.dtype, bool(x.grad.isfinite().all())) == (dtype, True)
    assert (y.double() - expected).abs().max() < HALF[dtype] * expected.abs().max()


@pytest.mark.parametrize("scheme", [BatchRenorm(), BatchNorm(running="source", bias_correction=True)], ids=str)
def test_a_deviation_that_float16_holds_is_divided_by(scheme):
    """... though its square is infinite there."""
    module, x = scheme.normalization(2), torch.randn(64, 2) * 300
    module.momentum = 1.0
    module(x)
    expected = module.eval()(x)
    torch.testing.assert_close(module.half()(x.half()).float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("affine", [True, False])
def test_layer_scaling_of_a_large_map_in_float16(affine):
    """The sum of its squares, 90,000, is infinite in float16; all outputs were 0."""
    module, x = OnlineNorm(affine=affine).normalization(2).eval(), torch.randn(1, 2, 300, 300)
    expected = module(x)
    torch.testing.assert_close(module.half()(x.half()).float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("scheme", [FilterResponseNorm(eps=1e-8), OnlineNorm(eps=1e-8)], ids=str)
def test_an_eps_below_the_least_number_of_float16_keeps_zeros_finite(scheme):
    module = scheme.normalization(2).half().eval()
    assert module(torch.zeros(1, 2, 3, 3, dtype=torch.float16)).isfinite().all()


@pytest.mark.parametrize("layout", ["channels first", "channels last"])
@pytest.mark.parametrize("shape", [(2, CHANNELS, 0), (2, CHANNELS, 4, 0), (0, CHANNELS, 0, 0)], ids=str)
@pytest.mark.parametrize("name", ON_ACTIVATIONS)
def test_maps_without_a_position_are_refused_or_empty_and_leave_no_nan(name, shape, layout):
    module, x = made(name), torch.zeros(shape)
    x = x.movedim(1, -1).contiguous().movedim(-1, 1) if layout == "channels last" else x
    for mode in (module.train(), module.eval()):
        if (y := answered(mode, x.clone().requires_grad_())) is not None:
            assert y.shape == x.shape
            y.sum().backward()
    for kept in (*module.state_dict().values(), *(each.grad for each in module.parameters() if each.grad is not None)):
        assert kept.isfinite().all()


@pytest.mark.parametrize("name", ["decorrelated", "group", "spectral"])
def test_a_layer_on_the_cpu_stays_there_whatever_the_default_device(name):
    """Sums of samples, and what stands for no number, were made on the default device."""
    scheme, layer, x = instantiate(CONFIGS[name]), nn.Conv2d(3, 64, 3), torch.randn(2, 3, 34, 34)
    module = scheme.normalization(64)
    with torch.device("meta"):  # a GPU, as torch.set_default_device("cuda") has it, is as wrong
        y = module(scheme.parametrize(layer)(x.contiguous(memory_format=torch.channels_last)))
    assert y.device.type == "cpu"
