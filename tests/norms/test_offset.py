"""Batch statistics in channels_last, and of many rows, where means are far above deviations."""

import copy

import pytest
import torch

from normexp.norms import BatchNorm, BatchRenorm, GhostBatchNorm, Norm, RecurrentBatchNorm, RepBatchNorm
from normexp.norms.kernels import batched
from normexp.norms.kernels.batched import shifted_statistics

SCHEMES = {
    "batch": BatchNorm(),
    "batch, unbiased": BatchNorm(var="unbiased"),
    "batch, unbiased, no scale": BatchNorm(var="unbiased", affine=False),
    "batch, source": BatchNorm(running="source"),
    "renorm": BatchRenorm(),
    "ghost": GhostBatchNorm(chunk_size=64),
    "recurrent": RecurrentBatchNorm(estimates="batch"),
    "rep": RepBatchNorm(),
}
# Mean in deviations -> how far an output may be off, and a gradient, as a share of the largest. Added up one by one an
# output is off by 1e-3, 1e-2 and several; at the last offset a mean in float32 is itself a few hundredths off.
OFFSETS = {50: (1e-4, 1e-5), 1e3: (1e-3, 1e-5), 1e6: (0.15, 1e-3)}


def batch(offset: float, dtype: torch.dtype = torch.float32, side: int = 32) -> torch.Tensor:
    torch.manual_seed(0)
    return (torch.randn(128, 2, side, side) + offset).to(dtype).contiguous(memory_format=torch.channels_last)


def trained(module: torch.nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and gradient of the second of two equal batches: by then the estimates have seen one."""
    torch.manual_seed(1)
    grad = torch.randn(x.shape).to(x.dtype)
    grad = grad.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else grad
    for _ in range(2):
        x = x.detach().requires_grad_()
        y = module(x)
        y.backward(grad.to(y.dtype))
    assert x.grad is not None
    return y.detach().double(), x.grad.double()


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("kind", SCHEMES)
def test_channels_last_is_accurate_at_an_offset(kind, offset):
    check(kind, SCHEMES[kind], batch(offset), offset)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("kind", SCHEMES)
def test_many_rows_are_accurate_at_an_offset(kind, offset):
    norm = GhostBatchNorm(chunk_size=2**12) if kind == "ghost" else SCHEMES[kind]
    rows = batch(offset, side=8).movedim(1, -1).reshape(-1, 2).contiguous()
    check(kind, norm, rows, offset)
    check(kind, norm, rows[..., None, None], offset)  # maps of one position


def check(kind: str, norm: Norm, x: torch.Tensor, offset: float) -> None:
    module = norm.normalization(2)
    exact = copy.deepcopy(module).double()
    (y, grad), (expected, slope) = trained(module, x), trained(exact, x.double())
    share = 4e-7 * offset if kind == "rep" else 0.0  # it passes x on, whose own rounding that is
    assert (y - expected).abs().max() < OFFSETS[offset][0] + share
    assert (grad - slope).abs().max() < OFFSETS[offset][1] * slope.abs().max()
    for name, value in exact.state_dict().items():
        assert torch.allclose(module.state_dict()[name].double(), value.double(), rtol=1e-3, atol=1e-3), name


def test_the_way_from_layer_to_batch_normalization_is_accurate_at_an_offset():
    module, x = RepBatchNorm(layer_steps=2).normalization(2), batch(1e3)
    (y, grad), (expected, slope) = trained(module, x), trained(copy.deepcopy(module).double(), x.double())
    assert (y - expected).abs().max() < 1e-3
    assert (grad - slope).abs().max() < 1e-4 * slope.abs().max()


@pytest.mark.parametrize("side", [32, pytest.param(90, marks=pytest.mark.slow)])  # 2^17 values, and eight times as many
@pytest.mark.parametrize("offset", [50, 1e3])
def test_bfloat16_rounds_the_output_alone(offset, side):
    module, x = BatchNorm().normalization(2), batch(offset, torch.bfloat16, side)
    expected, slope = trained(copy.deepcopy(module).double(), x.double())
    y, grad = trained(module, x)
    assert (y - expected).abs().max() < torch.finfo(torch.bfloat16).eps * expected.abs().max()
    assert (grad - slope).abs().max() < torch.finfo(torch.bfloat16).eps * slope.abs().max()


def test_bfloat16_values_that_torch_adds_up_exactly_are_left_to_it(monkeypatch):
    monkeypatch.setattr(batched, "shifted_statistics", None)  # would be called
    BatchNorm().normalization(2)(batch(1e3, torch.bfloat16))
    with pytest.raises(TypeError):
        BatchNorm().normalization(2)(batch(1e3, torch.bfloat16, side=33))


def test_evaluation_by_the_batch_is_accurate_at_an_offset():
    module, x = RecurrentBatchNorm(estimates="batch").normalization(2).eval(), batch(1e3)
    before = copy.deepcopy(module.state_dict())
    exact = copy.deepcopy(module).double()(x.double())
    assert (module(x).double() - exact).abs().max() < 1e-3
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


@pytest.mark.parametrize("kind", ["batch", "batch, source", "renorm", "ghost", "rep"])
def test_nothing_is_computed_twice_once_the_estimates_have_seen_a_batch(kind, monkeypatch):
    module, x = SCHEMES[kind].normalization(2), batch(1e3)
    module.momentum = 0.9
    module(x)
    for kernel in ("native_batch_norm", "batch_norm_update_stats"):
        monkeypatch.delattr(torch, kernel)
    module(x)


def test_statistics_do_not_hang_on_the_first_values():
    """The shift is the mean of a few values, from everywhere: here the first are nothing like the others."""
    x = batch(1e3)
    x[0, :, :4] = 0
    mean, var = shifted_statistics(x)
    exact = x.double().transpose(0, 1).flatten(1)
    assert torch.allclose(mean.double(), exact.mean(1), rtol=1e-6)
    assert torch.allclose(var.double(), exact.var(1, correction=0), rtol=1e-4)
