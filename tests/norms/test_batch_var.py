"""Batch normalization's option to divide by the unbiased variance of the batch in training."""

import copy

import pytest
import torch
from torch import Tensor, nn

from normexp import convert, fold
from normexp.norms import BatchNorm, LayerNorm
from normexp.norms.kernels.batched import AnyRankBatchNorm

SHAPES = [(4, 3), (2, 3), (2, 3, 5), (4, 3, 2, 2), (2, 3, 2, 1, 2)]
LAYOUTS = {4: torch.channels_last, 5: torch.channels_last_3d}


def formula(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """weight (x - mean) / sqrt(var n / (n - 1) + eps) + bias, by the sums that mean and var are."""
    rows = x.movedim(1, -1).flatten(0, -2)
    centered = rows - rows.sum(0) / len(rows)
    y = centered / (centered.square().sum(0) / (len(rows) - 1) + eps).sqrt()
    y = y if weight is None or bias is None else y * weight + bias
    return y.unflatten(0, [len(x), *x.shape[2:]]).movedim(-1, 1)


def made(affine: bool = True, eps: float = 1e-5) -> nn.Module:
    module = BatchNorm(var="unbiased", affine=affine, eps=eps).normalization(3)
    for parameter in module.parameters():
        nn.init.uniform_(parameter, 0.5, 1.5)
    return module


@pytest.mark.parametrize("eps", [1e-5, 0.5])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_output_and_gradients_are_those_of_the_formula(shape, affine, eps):
    module, x = made(affine, eps).double(), torch.randn(shape, dtype=torch.double, requires_grad=True)
    grad, variables = torch.randn(shape, dtype=torch.double), [x, *module.parameters()]
    for inputs in (x, x.contiguous(memory_format=LAYOUTS.get(len(shape), torch.contiguous_format))):
        found, expected = module(inputs), formula(x, module.weight, module.bias, eps)
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
        both = [torch.autograd.grad(y, variables, grad) for y in (found, expected)]
        torch.testing.assert_close(*both, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("affine", [True, False])
def test_the_gradient_can_be_differentiated_again(affine):
    module, x = made(affine, eps=0.1).double(), torch.randn(4, 3, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x, *_: module(x), (x, *module.parameters()))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_half_precision_rounds_the_output_alone(layout, affine):
    module, x = made(affine), (torch.randn(4, 3, 2, 2) * 2 + 3).bfloat16().contiguous(memory_format=layout)
    y, expected = module(x), formula(x.double(), module.weight, module.bias, module.eps)
    assert y.dtype == torch.bfloat16
    assert (y.double() - expected).abs().max() <= torch.finfo(torch.bfloat16).eps * expected.abs().max()


def test_estimates_and_evaluation_are_those_of_the_biased_one():
    modules = [BatchNorm(var=var).normalization(3) for var in ("unbiased", "biased")]
    x = torch.randn(4, 3, 2)
    outputs = [module(x) for module in modules]
    assert (outputs[0] - outputs[1]).abs().max() > 0.01
    states = [module.state_dict() for module in modules]
    assert all(torch.equal(states[0][name], value) for name, value in states[1].items())
    assert torch.equal(*[module.eval()(x) for module in modules])


@pytest.mark.parametrize("count", [4, 100, 10_000])
def test_it_is_smaller_by_a_factor_that_goes_to_1(count):
    x = torch.randn(count, 3).double()
    unbiased, biased = (BatchNorm(var=var, eps=1e-12).normalization(3).double()(x) for var in ("unbiased", "biased"))
    torch.testing.assert_close(unbiased / biased, torch.full_like(x, 1 - 1 / count).sqrt())


def test_population_estimates_are_those_of_batches_that_passed_it():
    """Behind a first layer, whose outputs in training they are of."""
    norm, inputs = BatchNorm(var="unbiased", estimates="population"), torch.randn(4, 3)
    model = nn.Sequential(norm.normalization(3), norm.normalization(3))
    norm.before_evaluation(model, lambda count: inputs[:count])
    found = model[1].running_var
    torch.testing.assert_close(found, formula(inputs.double(), None, None, 1e-5).var(0).float())
    assert (found - 1).abs().max() < 1e-4  # a third less where the first divided by the biased one


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))


def test_a_converted_network_divides_by_it_and_can_be_converted_again():
    old = network()
    new = convert(copy.deepcopy(old), BatchNorm(var="unbiased"))
    x = torch.randn(4, 4)
    expected = formula(old[0](x), old[1].weight, old[1].bias, old[1].eps)
    torch.testing.assert_close(new[1](new[0](x)), expected)
    assert not any(isinstance(each, AnyRankBatchNorm) for each in convert(new, LayerNorm()).modules())


def test_a_folded_network_computes_what_it_did():
    model = convert(network(), BatchNorm(var="unbiased"))
    model(torch.randn(4, 4))
    x = torch.randn(8, 4)
    expected = model.eval()(x)
    folded = fold(model)
    assert not any(isinstance(each, AnyRankBatchNorm) for each in folded.modules())
    torch.testing.assert_close(folded(x), expected)


def test_it_is_told():
    assert "unbiased" in repr(made())
    assert "unbiased" not in repr(BatchNorm().normalization(3))


def test_other_words_and_other_estimates_are_refused():
    with pytest.raises(ValueError, match=r"^var must be 'biased' or 'unbiased', not 'sample'$"):
        BatchNorm(var="sample")
    with pytest.raises(ValueError, match=r"^var=unbiased needs running=torch: "):
        BatchNorm(var="unbiased", running="source")
    with pytest.raises(ValueError, match="more than one value"):
        made()(torch.randn(1, 3))
