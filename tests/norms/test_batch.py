"""Batch normalization's option to keep its running estimate as the source's text says."""

import numpy as np
import pytest
import torch

from normexp.norms.batch import BatchNorm

SHAPES = [(8, 3), (4, 3, 5), (4, 3, 2, 2)]


def batches(shape, count=4):
    rng = np.random.default_rng(0)
    return [rng.normal(2, 3, shape) for _ in range(count)]


def text(seen, momentum, bias_correction):
    """Average mean and biased standard deviation with alpha = 1 - momentum, both from 0, in NumPy."""
    alpha, mean, std = 1 - momentum, 0.0, 0.0
    for x in seen:
        columns = np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)
        mean = alpha * mean + (1 - alpha) * columns.mean(axis=1)
        std = alpha * std + (1 - alpha) * columns.std(axis=1)
    share = 1 - alpha ** len(seen) if bias_correction else 1
    return mean / share, std / share


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bias_correction", [True, False])
def test_estimates_are_those_of_the_text(shape, bias_correction):
    norm = BatchNorm(running="source", momentum=0.3, bias_correction=bias_correction, affine=False)
    module = norm.normalization(3).double()
    for x in batches(shape):
        module(torch.tensor(x))
    mean, std = text(batches(shape), 0.3, bias_correction)
    x = batches(shape, 5)[-1]
    view = (1, 3, *[1] * (len(shape) - 2))
    expected = (x - mean.reshape(view)) / np.sqrt(std.reshape(view) ** 2 + norm.eps)
    np.testing.assert_allclose(module.eval()(torch.tensor(x)).numpy(), expected, rtol=1e-10)


def test_training_is_the_same():
    x = torch.randn(8, 3, 2, 2, dtype=torch.double, requires_grad=True)
    results = []
    for norm in (BatchNorm(), BatchNorm(running="source")):
        y = norm.normalization(3).double()(x)
        results.append((y, *torch.autograd.grad(y.sin().sum(), x)))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_the_estimates_start_at_zero_and_shrink_the_deviation():
    """What the text's rule does after one batch: mean and deviation are a tenth of the batch's."""
    source, corrected = (
        BatchNorm(running="source", bias_correction=each, affine=False).normalization(2) for each in (False, True)
    )
    x = torch.randn(1000, 2) * 2 + 3
    source(x), corrected(x)
    torch.testing.assert_close(source.running_std, 0.1 * x.std(0, correction=0))
    torch.testing.assert_close(corrected.eval()(x), BatchNorm(affine=False).normalization(2)(x), rtol=1e-4, atol=1e-4)
    assert source.eval()(x).std() > 9


def test_average_of_deviations_is_below_the_root_of_the_average_variance():
    source = BatchNorm(running="source", bias_correction=True).normalization(1)
    torchs = BatchNorm().normalization(1)
    for _ in range(300):
        x = torch.randn(4, 1)
        source(x), torchs(x)
    _, std = source.estimates()
    assert std < torchs.running_var.sqrt() - 0.1


def test_evaluation_before_training_is_finite():
    module = BatchNorm(running="source", bias_correction=True).normalization(3).eval()
    assert module(torch.randn(4, 3)).isfinite().all()


def test_estimates_survive_the_state_dict():
    module, copy = (BatchNorm(running="source", bias_correction=True).normalization(3) for _ in range(2))
    module(torch.randn(4, 3))
    copy.load_state_dict(module.state_dict())
    x = torch.randn(4, 3)
    assert torch.equal(module.eval()(x), copy.eval()(x))


def test_half_precision_and_one_value():
    module = BatchNorm(running="source").normalization(3)
    assert module(torch.randn(4, 3, 2, 2).bfloat16()).dtype == torch.bfloat16
    with pytest.raises(ValueError, match="more than one value"):
        module(torch.randn(1, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"running": "mean"}, "running must be 'torch' or 'source', not 'mean'"),
        ({"bias_correction": True}, "bias_correction needs running=source"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(ValueError, match=message):
        BatchNorm(**options)
