"""Batch renormalization: r and d, their limits and schedule, and what the gradient does not see."""

import copy

import numpy as np
import pytest
import torch
from every_scheme import CONFIGS
from reference import gradient
from references.batch_renorm import Formula

from normexp.norms.batch import BatchNorm
from normexp.norms.batch_renorm import BatchRenorm

ACTIVE = {"warmup": 2, "rmax_at": 6, "dmax_at": 4, "momentum": 0.2, "rmax": 1.5, "dmax": 0.5}
SHAPES = [(8, 3), (4, 3, 5), (4, 3, 2, 2)]


def made(**options):
    """Return the module in double, and its reference."""
    norm = BatchRenorm(**{**ACTIVE, **options})
    module = norm.normalization(3).double()
    with torch.no_grad():
        module.weight.copy_(torch.tensor([0.5, 1.0, 1.5]))
        module.bias.copy_(torch.tensor([-1.0, 0.0, 2.0]))
    return module, Formula({**CONFIGS["batch_renorm"], **ACTIVE, **options})


def batch(shape, seed):
    return np.random.default_rng(seed).normal(0.4, 1.5, shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("options", [{}, {"warmup": 0, "rmax_at": 0, "dmax_at": 0}, {"rmax": 100.0, "dmax": 100.0}])
def test_every_step_of_the_schedule_matches_the_reference(shape, options):
    module, formula = made(**options)
    weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
    seen = set()
    for step in range(9):
        x = batch(shape, step)
        formula.constants = r, d = formula.correction(x)
        seen |= {*np.round(r, 9), *np.round(d, 9)}
        leaf = torch.tensor(x, requires_grad=True)
        cotangent = np.random.default_rng(99).normal(size=shape)
        y = module(leaf)
        found = torch.autograd.grad(y, [leaf, module.weight, module.bias], torch.tensor(cotangent))
        np.testing.assert_allclose(y.detach().numpy(), formula.train(x, weight, bias), rtol=1e-9, atol=1e-10)
        functions = [
            (lambda moved, x=x: formula.train(moved, weight, bias), x),
            (lambda moved, x=x: formula.train(x, moved, bias), weight),
            (lambda moved, x=x: formula.train(x, weight, moved), bias),
        ]
        for grad, (function, point) in zip(found, functions, strict=True):
            np.testing.assert_allclose(grad.numpy(), gradient(function, point, cotangent), rtol=1e-8, atol=1e-9)
        formula.observe(x)
    assert len(seen) > 5  # the correction did something
    for key, value in formula.running.items():
        np.testing.assert_allclose(getattr(module, key).numpy(), value, rtol=1e-10)
    x = batch(shape, 100)
    found = module.eval()(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, formula.evaluate(x, weight, bias), rtol=1e-9, atol=1e-10)


def test_without_correction_it_is_batch_normalization():
    module, batch_norm = BatchRenorm(rmax=1, dmax=0, warmup=0).normalization(3), BatchNorm().normalization(3)
    module(torch.randn(8, 3) * 5)  # running estimates that would show
    x = torch.randn(8, 3, 4, requires_grad=True)
    results = []
    for each in (module, batch_norm):
        y = each(x)
        results.append([y, *torch.autograd.grad(y.sin().sum(), [x, *each.parameters()])])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


def test_without_limits_training_is_evaluation():
    """(x - mean) / std * std / running_std + (mean - running_mean) / running_std: the batch drops out."""
    module = BatchRenorm(rmax=1e9, dmax=1e9, warmup=0, rmax_at=0, dmax_at=0).normalization(3).double()
    for _ in range(5):
        module(torch.randn(8, 3, dtype=torch.double) * 2 + 1)
    x = torch.randn(8, 3, dtype=torch.double)
    expected = module.eval()(x)
    torch.testing.assert_close(module.train()(x), expected)


def test_correction_is_within_its_limits():
    module = BatchRenorm(rmax=1.5, dmax=0.5, warmup=0, rmax_at=0, dmax_at=0).normalization(3)
    for mean, std in ((100.0, 1000.0), (-100.0, 1e-3)):
        r, d = module.correction(torch.full((3,), mean), torch.full((3,), std))
        assert r.tolist() == pytest.approx([1.5 if std > 1 else 1 / 1.5] * 3)
        assert d.tolist() == pytest.approx([0.5 if mean > 0 else -0.5] * 3)


@pytest.mark.parametrize(("step", "rmax", "dmax"), [(0, 1, 0), (5000, 1, 0), (15000, 1.571, 2.5), (10**6, 3, 5)])
def test_published_schedule(step, rmax, dmax):
    module = BatchRenorm().normalization(1)
    module.num_batches_tracked.fill_(step)
    r, d = module.correction(torch.tensor([1e6]), torch.tensor([1e6]))
    assert (r.item(), d.item()) == (pytest.approx(rmax, abs=1e-3), pytest.approx(dmax))


def test_schedule_goes_on_after_a_resume():
    module, _ = made()
    for seed in range(4):
        module(torch.tensor(batch((8, 3), seed)))
    copy, _ = made()
    copy.load_state_dict(module.state_dict())
    x = torch.tensor(batch((8, 3), 5))
    assert torch.equal(module(x), copy(x))
    assert not torch.allclose(module(x), made()[0](x))


def test_a_constant_has_no_gradient_whatever_the_correction():
    """So a layer's bias before it can be dropped."""
    module, _ = made(warmup=0, rmax_at=0, dmax_at=0)
    x = torch.tensor(batch((8, 3), 0))
    constant = torch.zeros(3, dtype=torch.double, requires_grad=True)
    module(x + constant).sin().sum().backward()
    assert constant.grad.abs().max() < 1e-12


@pytest.mark.parametrize("options", [{"rmax": 0.5}, {"dmax": -1.0}, {"warmup": -1}])
def test_impossible_limits_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be at least"):
        BatchRenorm(**options)


@pytest.mark.slow
def test_gradients_are_those_of_the_estimates_before_also_where_it_is_compiled() -> None:
    """In one graph the backward pass made r and d anew, of the estimates that the forward pass had moved."""
    module = BatchRenorm(warmup=0, rmax_at=0, dmax_at=0, momentum=0.5).normalization(4)
    x, grads = torch.randn(64, 4), []
    for each in (module, torch.compile(copy.deepcopy(module), backend="aot_eager", fullgraph=True)):
        each(x).backward(x.cos())
        grads.append([parameter.grad for parameter in each.parameters()])
    torch.testing.assert_close(*grads)
