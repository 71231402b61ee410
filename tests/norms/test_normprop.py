"""Normalization propagation: its constants, and what its paper and slides prove or claim."""

import math

import pytest
import torch
from torch import nn

from normexp.norms.base import weight_layers
from normexp.norms.convert import convert
from normexp.norms.kernels.gaussian import activation_moments, maximum_moments, nodes
from normexp.norms.normprop import RELU_GAIN, NormProp, Standardized
from normexp.norms.stack import Stack

SAME = NormProp(jacobian="none", project=False)
CONSTANTS = {  # mean, std and Jacobian factor E[s'^2] / var under N(0, 1), computed elsewhere
    "relu": (nn.ReLU(), 0.398942, 0.583819, 1.466942),
    "leaky_relu 0.1": (nn.LeakyReLU(0.1), 0.359048, 0.613257, 1.342783),
    "leaky_relu 0.01": (nn.LeakyReLU(0.01), 0.394953, 0.586568, 1.453371),
    "elu": (nn.ELU(), 0.160521, 0.786879, 1.079013),
    "sigmoid": (nn.Sigmoid(), 0.5, 0.208276, 1.033592),
    "tanh": (nn.Tanh(), 0.0, 0.627929, 1.177807),
}
each_constant = pytest.mark.parametrize(("fn", "mean", "std", "factor"), CONSTANTS.values(), ids=CONSTANTS)


@each_constant
def test_constants(fn, mean, std, factor):
    assert activation_moments(fn) == pytest.approx((mean, std), abs=1e-6)
    y, density = nodes()
    y = y.clone().requires_grad_()
    (slope,) = torch.autograd.grad(fn(y).sum(), y)
    assert (density * slope**2).sum().item() / std**2 == pytest.approx(factor, abs=1e-5)


def test_relu_constants_in_closed_form():
    c2, c1 = activation_moments(nn.ReLU(inplace=True))
    assert c2 == pytest.approx(math.sqrt(1 / (2 * math.pi)), abs=1e-14)
    assert c1 == pytest.approx(math.sqrt((1 - 1 / math.pi) / 2), abs=1e-14)
    assert math.sqrt(0.5 / c1**2) == pytest.approx(math.sqrt(math.pi / (math.pi - 1)), abs=1e-12)
    assert round(math.sqrt(0.5) / c1, 2) == RELU_GAIN


@pytest.mark.parametrize("fn", [nn.Hardswish(), nn.ReLU6(), nn.Hardtanh(), nn.Softshrink(0.5), nn.GELU(), nn.SiLU()])
def test_constants_of_other_functions_agree_with_a_fine_sum(fn):
    y = torch.linspace(-12, 12, 2_400_001, dtype=torch.double)
    density = (-(y**2) / 2).exp() / math.sqrt(2 * math.pi) * 1e-5
    mean = (density * fn(y)).sum().item()
    std = (density * (fn(y) - mean).square()).sum().sqrt().item()
    assert activation_moments(fn) == pytest.approx((mean, std), abs=1e-8)


def test_maximum_constants():
    assert maximum_moments(1) == pytest.approx((0, 1), abs=1e-12)
    assert maximum_moments(2) == pytest.approx((1 / math.sqrt(math.pi), math.sqrt(1 - 1 / math.pi)), abs=1e-12)
    assert maximum_moments(4) == pytest.approx((1.029375, 0.701224), abs=1e-6)
    assert maximum_moments(9) == pytest.approx((1.485013, 0.597790), abs=1e-6)


@pytest.mark.parametrize(
    "fn",
    [nn.Softmax(0), nn.Softmax(1), nn.PReLU(3), nn.Sequential(nn.ReLU(), nn.Softmax(0)), nn.GLU(), nn.Threshold(9, 1)],
)
def test_functions_without_moments_are_refused_in_one_line(fn):
    with pytest.raises(ValueError, match=r"^.*(element by element|constant).*$"):
        NormProp().nonlinearity(fn)


def test_the_function_itself_is_not_changed():
    fn = nn.PReLU()
    NormProp().nonlinearity(fn)
    assert fn.weight.dtype == torch.float32
    assert fn.training


@each_constant
def test_a_standard_normal_input_leaves_with_mean_0_and_variance_1(fn, mean, std, factor):
    y = SAME.nonlinearity(fn)(torch.randn(1_000_000, dtype=torch.double))
    assert y.mean().item() == pytest.approx(0, abs=5e-3)
    assert y.var().item() == pytest.approx(1, abs=1e-2)


def jacobian_singular_values(norm, fn):
    """Return the root of the eigenvalues of E[J J^T] over N(0, 1) inputs, for orthogonal weight vectors."""
    block = norm.block(nn.Linear(128, 64).double(), fn)
    nn.init.orthogonal_(block[0].parametrizations.weight.original, gain=3.0)
    nn.init.zeros_(block[0].bias)
    a = block[0](torch.randn(20_000, 128, dtype=torch.double)).detach().requires_grad_()
    (slope,) = torch.autograd.grad(block[1](a).sum(), a)
    weight = block[0].weight.detach()
    return torch.linalg.eigvalsh(slope.T @ slope / len(slope) * (weight @ weight.T)).sqrt()


@each_constant
def test_jacobians_singular_values_are_the_root_of_the_factor(fn, mean, std, factor):
    values = jacobian_singular_values(SAME, fn)
    assert values.min().item() == pytest.approx(math.sqrt(factor), rel=0.03)
    assert values.max().item() == pytest.approx(math.sqrt(factor), rel=0.03)


def test_relu_layers_singular_values_are_near_1_21():
    """E[J J^T] = pi / (pi - 1) I, so 1.47 and 1.21 as printed."""
    values = jacobian_singular_values(SAME, nn.ReLU())
    assert values.square().mean().item() == pytest.approx(math.pi / (math.pi - 1), rel=0.01)
    assert values.mean().item() == pytest.approx(1.2112, rel=0.01)


@pytest.mark.parametrize("jacobian", ["gamma", "weight"])
def test_the_factor_1_21_brings_them_to_1(jacobian):
    values = jacobian_singular_values(NormProp(jacobian=jacobian), nn.ReLU())
    assert values.min().item() == pytest.approx(1, rel=0.03)
    assert values.max().item() == pytest.approx(1, rel=0.03)


def deep(norm, depth=12, width=300):
    model = nn.Sequential(*(norm.block(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)))
    for layer in weight_layers(model):
        nn.init.orthogonal_(layer.parametrizations.weight.original)
        nn.init.zeros_(layer.bias)
    return model


def forward_and_backward_growth(norm, depth=12):
    """Return the variance of the output, and the growth of the gradient's length per layer."""
    model = deep(norm, depth)
    x = torch.randn(300, 300, requires_grad=True)
    y = model(x)
    cotangent = torch.randn_like(y)
    (grad,) = torch.autograd.grad(y, x, cotangent)
    return y.var().item(), (grad.norm() / cotangent.norm()).item() ** (1 / depth)


def test_the_two_aims_exclude_each_other():
    variance, growth = forward_and_backward_growth(SAME)
    assert variance == pytest.approx(1, abs=0.1)
    assert growth == pytest.approx(1.2112, abs=0.03)
    variance, growth = forward_and_backward_growth(NormProp(jacobian="gamma"))
    assert variance < 0.6
    assert growth == pytest.approx(1, abs=0.05)


def test_gamma_and_weight_are_the_same_function_with_other_gradients():
    x, grads, outputs = torch.randn(5, 9, dtype=torch.double), [], []
    for jacobian in ("gamma", "weight"):
        torch.manual_seed(3)
        layer = NormProp(jacobian=jacobian).parametrize(nn.Linear(9, 6).double())
        outputs.append(layer(x))
        (grad,) = torch.autograd.grad(outputs[-1].square().sum(), layer.parametrizations.weight[0].gamma)
        grads.append(grad)
    torch.testing.assert_close(*outputs)
    torch.testing.assert_close(grads[0], grads[1] * RELU_GAIN)


@pytest.mark.parametrize("lr", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("make", [lambda: nn.Linear(9, 6), lambda: nn.Conv2d(3, 6, 3)])
def test_weights_are_orthogonal_to_their_update_and_grow(make, lr):
    layer = NormProp(project=False).parametrize(make().double())
    weight = layer.parametrizations.weight.original
    optimizer = torch.optim.SGD([weight], lr)
    old = weight.detach().clone().flatten(1)
    layer.weight.backward(torch.randn_like(layer.weight))
    optimizer.step()
    update = weight.detach().flatten(1) - old
    assert (update * old).sum(1).abs().max() < 1e-12
    c = update.norm(dim=1) / old.norm(dim=1)
    torch.testing.assert_close(weight.detach().flatten(1).norm(dim=1), (1 + c**2).sqrt() * old.norm(dim=1))


def test_projection_sets_every_length_to_1_and_changes_no_output():
    norm = NormProp()
    model = nn.Sequential(
        norm.block(nn.Conv2d(3, 6, 3), nn.ReLU()), nn.Flatten(), norm.block(nn.Linear(96, 5)), nn.Linear(5, 2)
    ).double()
    x = torch.randn(2, 3, 6, 6, dtype=torch.double)
    expected, last = model(x), model[3].weight.detach().clone()
    norm.step_hook(model)()
    torch.testing.assert_close(model(x), expected)
    for layer in weight_layers(model)[:-1]:
        original = layer.parametrizations.weight.original.detach()
        torch.testing.assert_close(original.flatten(1).norm(dim=1), torch.ones(len(original), dtype=torch.double))
    assert torch.equal(model[3].weight, last)


def test_projection_costs_nothing_where_it_is_off():
    model = NormProp(project=False).block(nn.Linear(4, 3))
    assert NormProp(project=False).step_hook(model) is None
    assert NormProp().step_hook(nn.Linear(4, 3)) is None


def test_stack_projects_too():
    norm = Stack(weights=NormProp())
    model = norm.block(nn.Linear(4, 3))
    norm.step_hook(model)()
    torch.testing.assert_close(model[0].parametrizations.weight.original.norm(dim=1), torch.ones(3))


def test_initialization_sets_beta_and_the_lengths():
    norm = NormProp(beta=0.25)
    model = nn.Sequential(norm.block(nn.Linear(4, 3), nn.ReLU()), nn.Linear(3, 2))
    last = model[1].bias.detach().clone()
    norm.initialize(model, torch.randn(5, 4))
    assert model[0][0].bias.tolist() == [0.25] * 3
    torch.testing.assert_close(model[0][0].parametrizations.weight.original.norm(dim=1), torch.ones(3))
    assert torch.equal(model[1].bias, last)


@pytest.mark.parametrize(
    ("pool", "shape"),
    [
        (nn.MaxPool2d(2), (10, 20, 32, 32)),
        (nn.MaxPool2d([3, 2]), (10, 20, 33, 32)),
        (nn.AvgPool2d(2, divisor_override=1), (10, 20, 32, 32)),
        (nn.MaxPool2d((3, 2)), (10, 20, 33, 32)),
        (nn.AvgPool2d(3), (20, 20, 33, 33)),
        (nn.AvgPool1d(4), (50, 100, 64)),
        (nn.MaxPool1d(2), (50, 100, 64)),
        (nn.MaxPool3d(2), (10, 10, 16, 16, 16)),
        (type("Same", (nn.AvgPool2d,), {})(3), (20, 20, 33, 33)),
    ],
)
def test_pooling_keeps_mean_0_and_variance_1(pool, shape):
    y = NormProp().pool(pool)(torch.randn(shape))
    assert y.mean().item() == pytest.approx(0, abs=0.02)
    assert y.var().item() == pytest.approx(1, abs=0.03)


def test_pooling_can_be_left_alone():
    pool = nn.MaxPool2d(2)
    assert NormProp(correct_pooling=False).pool(pool) is pool
    other = nn.AdaptiveAvgPool2d(1)
    assert NormProp().pool(other) is other


def test_pooling_that_returns_indices_is_refused():
    """It has two outputs, of which constants can standardize one alone."""
    pool = nn.MaxPool2d(2, return_indices=True)
    with pytest.raises(ValueError, match="indices"):
        NormProp().pool(pool)
    assert NormProp(correct_pooling=False).pool(pool) is pool
    with pytest.raises(ValueError, match=r"pool \(MaxPool2d\): .*indices"):
        convert(Unpooled(), NormProp())


class Unpooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.act, self.last = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 1)
        self.pool, self.unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, where = self.pool(self.act(self.conv(x)))
        return self.last(self.unpool(y, where))


@pytest.mark.parametrize("pool", [nn.MaxPool1d(2), nn.AvgPool1d(2)])
def test_pooling_of_a_converted_network_is_corrected_in_any_rank(pool):
    model = convert(nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU(), pool, nn.Flatten(), nn.Linear(8, 2)), NormProp())
    assert isinstance(model[2], Standardized)


def test_networks_ask_for_their_pooling():
    from normexp.models.cnn import CNN

    pools = [str(module) for module in CNN((3, 8, 8), 10, NormProp()).features if "MaxPool" in str(module)]
    assert len(pools) == 2
    assert all("mean=1.029375, std=0.701224" in pool for pool in pools)


def coherence(w):
    unit = nn.functional.normalize(w, dim=1)
    return (unit @ unit.T - torch.eye(len(w), dtype=w.dtype)).abs().max()


@pytest.mark.parametrize("rows", [2, 5, 20])
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_canonical_error_bound(rows, scale):
    """|Cov(Wx) - diag(alpha)| <= s2 mu sqrt(sum_{i != j} |W_i|^2 |W_j|^2) if Cov(x) = s2 I, alpha_i = s2 |W_i|^2."""
    for seed in range(20):
        torch.manual_seed(seed)
        w = torch.randn(rows, 30, dtype=torch.double) * scale
        covariance = 1.7 * w @ w.T
        squares = w.square().sum(1)
        off_diagonal = torch.outer(squares, squares).sum() - squares.square().sum()
        error = torch.linalg.matrix_norm(covariance - torch.diag(1.7 * squares))
        bound = 1.7 * coherence(w) * off_diagonal.sqrt()
        assert error <= bound * (1 + 1e-12)
        if rows == 2:
            torch.testing.assert_close(error, bound)  # one pair: nothing is lost
        worse = covariance - torch.diag(1.7 * squares * 1.1)
        assert torch.linalg.matrix_norm(worse) > error  # alpha is the best diagonal


def test_orthogonal_unit_rows_have_no_canonical_error():
    layer = SAME.parametrize(nn.Linear(30, 20).double())
    nn.init.orthogonal_(layer.parametrizations.weight.original, gain=5.0)
    torch.testing.assert_close(layer.weight @ layer.weight.T, torch.eye(20, dtype=torch.double))
