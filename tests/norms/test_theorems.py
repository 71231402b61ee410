"""Theorems of the papers, in float64, for every scheme that they are about."""

import copy

import pytest
import torch
from every_scheme import CONFIGS, instantiate
from invariances import CHANGES, EXPECTED
from torch import nn

from normexp.norms.base import free_weight, weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.batch_renorm import BatchRenorm
from normexp.norms.checks.batch_dependence import depends_on_batch, train_eval_gap
from normexp.norms.checks.gradient_factor import gradient_factor
from normexp.norms.checks.invariance import sensitivities
from normexp.norms.checks.subject import draw, make_subject, settle, without_eps

EXACT = [name for name, config in CONFIGS.items() if config.get("_gradient_") != "approximate"]
SCALE_FREE = [name for name in EXACT if name in EXPECTED and EXPECTED[name][CHANGES[0]]]


def test_every_scheme_has_a_row_in_the_invariance_table(scheme):
    assert scheme in EXPECTED, "derive its row: INVARIANCES in tests/norms/references/NAME.py"


def test_invariance_table(scheme, norm):
    """Ba, Kiros & Hinton 2016, Table 1, and its extension to every scheme."""
    for change, moved in sensitivities(norm).items():
        assert moved < 1e-9 if EXPECTED[scheme][change] else moved > 1e-3, change


def test_invariance_table_of_batch_renorm_that_corrects():
    """With r and d at work: they, too, are constants once the running estimates have settled."""
    for change, moved in sensitivities(BatchRenorm(warmup=0, rmax_at=0, dmax_at=0)).items():
        assert moved < 1e-9 if EXPECTED["batch_renorm"][change] else moved > 1e-3


def scaled(subject, factor):
    """Return a copy with the free weights multiplied by `factor`, running estimates settled."""
    other = subject.copy()
    with torch.no_grad():
        other.weight.mul_(factor)
    settle(other)
    return other


def loss(subject, direction, step=0.0):
    """Return a smooth loss of the block's output at W + step * direction."""
    moved = subject.copy()
    with torch.no_grad():
        moved.weight.add_(step * direction)
    return moved.block(moved.x).sin().sum()


def slope(subject, direction, step):
    """Return the derivative of the loss along `direction` by a central difference."""
    with torch.no_grad():
        return (loss(subject, direction, step) - loss(subject, direction, -step)) / (2 * step)


@pytest.mark.parametrize("c", [0.2, 7.0])
def test_batch_norm_does_not_see_the_scale_of_the_weights_and_its_gradient_takes_the_inverse(c):
    """Ioffe & Szegedy 2015, section 3.3: BN(c W x) = BN(W x), dBN(c W x)/d(c W) = 1/c dBN(W x)/dW."""
    block = without_eps(BatchNorm()).block(nn.Linear(8, 4)).double()
    larger = copy.deepcopy(block)
    with torch.no_grad():
        larger[0].weight.mul_(c)
    x = draw((20, 8)).requires_grad_()
    outputs = [each(x) for each in (block, larger)]
    torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-12, atol=1e-12)
    cotangent = torch.randn_like(outputs[0])
    (first, by_input), (second, by_input_too) = (
        torch.autograd.grad(y, [each[0].weight, x], cotangent) for y, each in zip(outputs, (block, larger), strict=True)
    )
    torch.testing.assert_close(second, first / c, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(by_input_too, by_input, rtol=1e-10, atol=1e-12)  # the scale does not propagate


@pytest.mark.parametrize("name", SCALE_FREE)
def test_gradient_takes_the_inverse_of_the_weights_scale_by_finite_differences(name):
    """The same for every scheme that does not see c, without trusting backward."""
    c = 3.0
    subject = make_subject(instantiate(CONFIGS[name]))
    settle(subject)
    direction = torch.randn_like(subject.weight)
    larger = scaled(subject, c)
    found, expected = slope(larger, direction, 3e-5), slope(subject, direction, 1e-5)
    torch.testing.assert_close(found * c, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", SCALE_FREE)
def test_gradient_takes_the_inverse_of_the_weights_scale(name):
    assert gradient_factor(instantiate(CONFIGS[name])) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("name", SCALE_FREE)
def test_gradient_is_orthogonal_to_weights_whose_scale_does_not_matter(name):
    """Euler: f(c W) = f(W) gives <df/dW, W> = 0, so a step lengthens: ||W - s||^2 = ||W||^2 + ||s||^2."""
    if CONFIGS[name].get("_gradient_") == "approximate":
        pytest.skip("its backward is not the derivative, as published")
    subject = make_subject(instantiate(CONFIGS[name]))
    settle(subject)
    (gradient,) = torch.autograd.grad(loss_of(subject), [subject.weight])
    weight = subject.weight.detach()
    assert abs((gradient * weight).sum()) < 1e-9 * gradient.norm() * weight.norm()
    torch.testing.assert_close((weight - gradient).norm() ** 2, weight.norm() ** 2 + gradient.norm() ** 2)


def loss_of(subject):
    return subject.block(subject.x).sin().sum()


def test_gradient_without_normalization_is_not_orthogonal_and_keeps_its_size():
    norm = instantiate(CONFIGS["none"])
    subject = make_subject(norm)
    (gradient,) = torch.autograd.grad(loss_of(subject), [subject.weight])
    assert abs((gradient * subject.weight).sum()) > 1e-3 * gradient.norm() * subject.weight.norm()
    assert gradient_factor(norm) == pytest.approx(3)


def test_batch_dependence_is_what_the_config_says(scheme, norm):
    """Layer norm's independence of the batch, and the dependence of batch norm, for every scheme."""
    assert depends_on_batch(norm, training=True) == CONFIGS[scheme]["_batch_statistics_"]
    assert not depends_on_batch(norm, training=False)


@pytest.mark.parametrize("scheme", [name for name, about in CONFIGS.items() if not about["_batch_statistics_"]])
def test_training_equals_evaluation_without_batch_statistics(norm):
    assert train_eval_gap(norm) < 1e-6


def test_training_of_batch_norm_is_evaluation_but_for_the_noise_of_its_statistics():
    assert 0.02 < train_eval_gap(BatchNorm()) < 0.3  # that of a mean over 96 examples is 1/sqrt(96), about 10 %


def test_layer_norm_of_one_example_is_its_row_of_the_batch():
    block = instantiate(CONFIGS["layer"]).block(nn.Linear(6, 5)).double()
    x = draw((4, 6))
    torch.testing.assert_close(block(x[:1]), block(x)[:1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(12, 3), (4, 3, 5), (4, 3, 5, 2)])
def test_gradient_of_batch_norm_flows_through_mean_and_variance(shape):
    """Ioffe & Szegedy 2015, section 3: without these paths, parameters grow while the loss stands still.

    The path through the mean makes a channel's gradients sum to 0, the one through the variance makes them
    orthogonal to the normalized values.
    """
    module = without_eps(BatchNorm()).normalization(3).double()
    x = draw(shape).requires_grad_()
    y = module(x)
    cotangent = torch.randn_like(y)
    (gradient,) = torch.autograd.grad(y, x, cotangent)
    channels = [0, *range(2, len(shape))]
    torch.testing.assert_close(gradient.sum(channels), torch.zeros(3).double(), rtol=0, atol=1e-12)
    torch.testing.assert_close((gradient * y).sum(channels), torch.zeros(3).double(), rtol=0, atol=1e-12)
    var = x.detach().var(channels, correction=0, keepdim=True)
    assert (gradient - cotangent / var.sqrt()).norm() > 0.05 * gradient.norm()  # what detached statistics give


def test_free_weight_of_weight_norm_is_its_direction():
    (layer,) = weight_layers(instantiate(CONFIGS["weight"]).block(nn.Linear(3, 2)))
    assert free_weight(layer)[1] is layer.parametrizations.weight.original1
