"""Online normalization: the whole batch at once against a loop over examples, forward and backward."""

import numpy as np
import pytest
import torch
from every_scheme import CONFIGS
from reference import gradient
from references.online import Formula

from normexp.norms.kernels.scan import scan
from normexp.norms.online import OnlineNorm

SHAPES = [(13, 3), (13, 3, 5), (6, 3, 2, 2), (1, 3)]
FAST = {"momentum": 0.1, "control_rate": 0.2}  # so that every term shows within a few batches


@pytest.mark.parametrize("steps", [1, 2, 13, 16, 300])
@pytest.mark.parametrize("decay", [None, 0.0, 0.99, 1.0])
def test_scan_is_the_loop(decay, steps):
    increment, state = torch.randn(steps, 4, dtype=torch.double), torch.randn(4, dtype=torch.double)
    decays = torch.randn(steps, 4, dtype=torch.double) if decay is None else torch.full_like(increment, decay)
    if decay is None:
        decays[steps // 2] = 0
    states, last = scan(decays if decay is None else decay, increment, state)
    before = []
    for n in range(steps):
        before.append(state)
        state = decays[n] * state + increment[n]
    torch.testing.assert_close(states, torch.stack(before))
    torch.testing.assert_close(last, state)


def made(options):
    module = OnlineNorm(**options).normalization(3).double()
    with torch.no_grad():
        module.weight.copy_(torch.tensor([0.5, 1.0, 1.5]))
        module.bias.copy_(torch.tensor([-1.0, 0.0, 2.0]))
    return module, Formula({**CONFIGS["online"], **options})


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("control", ["layer_scaling", "clamp", "none"])
def test_every_batch_is_the_loop_over_examples(shape, control):
    module, formula = made({**FAST, "control": control})
    weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, cotangent = rng.normal(1.7, 3, shape), rng.normal(0.3, 1, shape)
        leaf = torch.tensor(x, requires_grad=True)
        z = module(leaf)
        found = torch.autograd.grad(z, [leaf, module.weight, module.bias], torch.tensor(cotangent))
        y, std, _ = formula.loop(x)
        np.testing.assert_allclose(z.detach().numpy(), formula.train(x, weight, bias), rtol=1e-9, atol=1e-11)
        expected = [
            formula.backward(gradient(lambda y: formula.tail(y, weight, bias), y, cotangent), y, std),
            gradient(lambda moved, y=y: formula.tail(y, moved, bias), weight, cotangent),
            gradient(lambda moved, y=y: formula.tail(y, weight, moved), bias, cotangent),
        ]
        formula.observe(x)
        for grad, each in zip(found, expected, strict=True):
            np.testing.assert_allclose(grad.numpy(), each, rtol=1e-8, atol=1e-10)
        for key, value in formula.running.items():
            np.testing.assert_allclose(getattr(module, key).numpy(), value, rtol=1e-9, atol=1e-11)
    x = rng.normal(size=shape)
    found = module.eval()(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, formula.evaluate(x, weight, bias), rtol=1e-9, atol=1e-11)


def test_batches_do_not_matter():
    """One batch of 12, three of 4, or 12 of 1: the same outputs, gradients and state."""
    x, cotangent = torch.randn(12, 3, 2, dtype=torch.double), torch.randn(12, 3, 2, dtype=torch.double)
    results = []
    for size in (12, 4, 1):
        module, leaf = made(FAST)[0], x.clone().requires_grad_()
        outputs = []
        for part, grad in zip(leaf.split(size), cotangent.split(size), strict=True):
            outputs.append(module(part))
            outputs[-1].backward(grad)
        results.append([torch.cat(outputs), leaf.grad, *module.buffers()])
    for found in results[1:]:
        for each, expected in zip(found, results[0], strict=True):
            torch.testing.assert_close(each, expected)


def test_gradients_add_up_to_the_controls_which_stay_bounded():
    """So their average over time tends to 0, where that of the incoming gradient stays 3."""
    module = OnlineNorm(momentum=0.01, control_rate=0.05, control="none", affine=False).normalization(1).double()
    total, count = 0.0, 0
    for _ in range(100):
        x = torch.randn(64, 1, dtype=torch.double, requires_grad=True)
        y = module(x)
        (grad,) = torch.autograd.grad(y, x, (2 * y + 3).detach())
        total, count = total + grad.sum().item(), count + len(x)
    assert total == pytest.approx(module.mean_control.item())
    assert abs(total / count) < 0.03


@pytest.mark.parametrize("options", [{"control": "layer"}, {"control_rate": 0.0}])
def test_impossible_options_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        OnlineNorm(**options)
