"""The largest singular value: divided out (spectral), penalized (spectral_penalty)."""

import pytest
import torch
from torch import nn

from normexp.norms.base import set_weight, weight_layers
from normexp.norms.kernels.power_iteration import WARM_UP
from normexp.norms.spectral import SpectralNorm
from normexp.norms.spectral_penalty import SpectralPenalty

LAYERS = [
    lambda: nn.Linear(9, 6),
    lambda: nn.Conv2d(3, 6, 3),
    lambda: nn.Conv2d(4, 8, 3, groups=4),
    lambda: nn.ConvTranspose2d(3, 6, 3),
]
each_layer = pytest.mark.parametrize("make", LAYERS)


def matrix(layer, tensor):
    """Return (output channels, all that enters one)."""
    return tensor.movedim(int(isinstance(layer, nn.ConvTranspose2d)), 0).flatten(1)


def sigma(layer, tensor):
    return torch.linalg.matrix_norm(matrix(layer, tensor.detach()), 2)


@each_layer
def test_spectral_norm_is_1(make):
    layer = SpectralNorm().parametrize(make().double())
    for _ in range(300):
        weight = layer.weight
    assert sigma(layer, weight).item() == pytest.approx(1, abs=1e-9)


@each_layer
def test_is_near_1_from_the_first_forward_pass_also_with_a_new_weight(make):
    layer = SpectralNorm().parametrize(make())
    assert sigma(layer, layer.weight).item() == pytest.approx(1, abs=0.05)
    drawn = torch.randn(layer.weight.shape, generator=torch.Generator().manual_seed(1))
    set_weight(layer, drawn * 7)
    assert sigma(layer, layer.weight).item() == pytest.approx(1, abs=0.05)


def test_gradient_holds_the_singular_vectors_constant():
    layer = SpectralNorm().parametrize(nn.Linear(7, 5).double())
    u = layer.parametrizations.weight[0].u
    before, original = u.clone(), layer.parametrizations.weight.original
    cotangent = torch.randn(5, 7, dtype=torch.double)
    layer.weight.backward(cotangent)
    w = original.detach()
    v = nn.functional.normalize(w.T @ before, dim=0)
    u = nn.functional.normalize(w @ v, dim=0)
    s = u @ w @ v
    expected = cotangent / s - (cotangent * w).sum() / s**2 * torch.outer(u, v)
    torch.testing.assert_close(original.grad, expected)


def test_training_keeps_u_and_evaluation_does_not():
    layer = SpectralNorm().parametrize(nn.Linear(7, 5).double())
    u = layer.parametrizations.weight[0].u
    before = u.clone()
    layer.eval()(torch.randn(2, 7, dtype=torch.double))
    assert torch.equal(u, before)
    layer.train()(torch.randn(2, 7, dtype=torch.double))
    assert not torch.equal(u, before)


def test_weights_of_zeros_leave_an_estimate_for_the_weights_that_come_after_them():
    """A layer that starts from zeros and is initialized later; once u was 0 it stayed 0, and every weight nan."""
    layer = nn.Linear(7, 5)
    nn.init.zeros_(layer.weight)
    layer = SpectralNorm().parametrize(layer)
    _ = layer.weight  # nan: zeros over their largest singular value
    set_weight(layer, torch.randn(5, 7))
    assert sigma(layer, layer.weight).item() == pytest.approx(1, abs=0.05)


def test_one_step_per_training_forward_pass():
    layer = SpectralNorm().parametrize(nn.Linear(7, 5).double())
    u, w = layer.parametrizations.weight[0].u, layer.parametrizations.weight.original.detach()
    expected = u.clone()
    for _ in range(3):
        layer(torch.randn(2, 7, dtype=torch.double))
        expected = nn.functional.normalize(w @ (w.T @ expected), dim=0)
        torch.testing.assert_close(u, expected)
    assert WARM_UP > 1


def test_more_steps_come_nearer():
    torch.manual_seed(1)
    value, errors = torch.randn(40, 60, dtype=torch.double), []
    for steps in (1, 50):
        layer = SpectralNorm(n_power_iterations=steps).parametrize(nn.Linear(60, 40).double())
        set_weight(layer, value)
        errors.append(abs(sigma(layer, layer.weight).item() - 1))
    assert errors[1] < errors[0] / 10


def test_agrees_with_torch():
    layer = SpectralNorm().parametrize(nn.Conv2d(3, 6, 3).double())
    torchs = nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 6, 3).double())
    torchs.parametrizations.weight.original.data.copy_(layer.parametrizations.weight.original)
    for _ in range(300):
        ours, theirs = layer.weight, torchs.weight
    torch.testing.assert_close(ours, theirs)


NO_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
CUDA = pytest.param("cuda", marks=[pytest.mark.gpu, NO_CUDA])


@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_power_iteration_stays_in_float32_under_autocast(device):
    layer = SpectralNorm().parametrize(nn.Linear(64, 64)).to(device)
    torch.nn.init.orthogonal_(layer.parametrizations.weight.original)
    with torch.autocast(device, torch.bfloat16):
        weight = layer.weight
    assert layer.parametrizations.weight[0].u.dtype == torch.float32
    assert sigma(layer, weight.double().cpu()).item() == pytest.approx(1, abs=1e-5)


def settled(norm, model):
    for _ in range(300):
        norm.penalty(model)
    return norm.penalty(model)


def penalized(norm, *layers):
    return nn.Sequential(*(norm.parametrize(layer.double()) for layer in layers))


def test_penalty_is_half_the_strength_times_the_sum_of_squares():
    norm = SpectralPenalty(strength=0.3)
    model = penalized(norm, *(make() for make in LAYERS))
    expected = 0.15 * sum(sigma(layer, layer.weight) ** 2 for layer in weight_layers(model))
    torch.testing.assert_close(settled(norm, model).detach(), expected)


@each_layer
def test_penalty_gradient_is_strength_sigma_u_v(make):
    norm = SpectralPenalty(strength=0.3)
    model = penalized(norm, make())
    (layer,) = weight_layers(model)
    settled(norm, model).backward()
    u, s, v = torch.linalg.svd(matrix(layer, layer.weight.detach()), full_matrices=False)
    torch.testing.assert_close(matrix(layer, layer.weight.grad), 0.3 * s[0] * torch.outer(u[:, 0], v[0]))


def test_penalty_leaves_the_network_alone():
    layer = nn.Linear(7, 5)
    expected = layer(x := torch.randn(3, 7))
    assert torch.equal(SpectralPenalty().parametrize(layer)(x), expected)


def test_penalty_covers_the_layers_of_the_scheme_alone():
    norm = SpectralPenalty()
    assert norm.penalty(nn.Linear(3, 2)) is None
    model = nn.Sequential(norm.parametrize(nn.Linear(5, 4)), nn.Linear(4, 3))
    norm.penalty(model).backward()
    assert model[1].weight.grad is None
    assert model[0].weight.grad is not None


def test_penalty_resumes_from_the_state_dict():
    norm = SpectralPenalty()
    model, copy = (penalized(norm, nn.Linear(30, 20)) for _ in range(2))
    for _ in range(3):
        norm.penalty(model)
    copy.load_state_dict(model.state_dict())
    assert torch.equal(norm.penalty(model), norm.penalty(copy))
    assert torch.equal(model[0].singular_vector, copy[0].singular_vector)


def test_penalty_in_evaluation_changes_no_state():
    norm = SpectralPenalty()
    model = penalized(norm, nn.Linear(30, 20)).eval()
    before = model[0].singular_vector.clone()
    norm.penalty(model)
    assert torch.equal(before, model[0].singular_vector)


def test_penalty_acts_on_a_weight_that_began_as_zeros():
    """The singular vector of zeros is none: it was kept as zeros, which no later weight moves."""
    norm = SpectralPenalty(strength=1.0)
    model = penalized(norm, nn.Linear(9, 6))
    drawn = model[0].weight.detach().clone()
    torch.nn.init.zeros_(model[0].weight)
    assert norm.penalty(model) == 0
    set_weight(model[0], drawn)
    torch.testing.assert_close(settled(norm, model).detach(), sigma(model[0], drawn).square() / 2)


def test_penalty_acts_in_training():
    norm = SpectralPenalty(strength=1.0)
    model = penalized(norm, nn.Linear(20, 20))
    before = sigma(model[0], model[0].weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(50):
        optimizer.zero_grad()
        norm.penalty(model).backward()
        optimizer.step()
    assert sigma(model[0], model[0].weight) < before / 1.3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SpectralNorm(n_power_iterations=0), "n_power_iterations must be at least 1, not 0"),
        (lambda: SpectralPenalty(strength=0.0), "strength must be above 0, not 0.0"),
    ],
)
def test_impossible_values_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
