"""The group `init`: what each option draws, for whom, and in which order it meets the scheme's own."""

import math

import pytest
import torch
from drawn_weights import drawn_weights
from random_images import random_images
from torch import Tensor, nn

from normexp.config import compose, options
from normexp.config.instantiate import instantiate
from normexp.models.init.data_dependent import DataDependent
from normexp.models.init.gaussian import Gaussian
from normexp.models.init.lsuv import LSUV
from normexp.norms.base import Norm, weight_layers
from normexp.norms.spectral import SpectralNorm
from normexp.norms.weight import WeightNorm
from normexp.seeding import generator
from normexp.training.build import build, build_model, build_norm, initialize_from_data


def network(init: str, norm: str = "none", seed: int = 0, model: str = "mlp", *more: str) -> nn.Module:
    widths = ["model.widths=[300,200]"] if model == "mlp" else []
    config = compose([f"model={model}", f"init={init}", f"norm={norm}", f"seed={seed}", *widths, *more])
    return build_model(config, build_norm(config), (1, 16, 16), 10)


STD = {  # of a weight with this fan-in and fan-out
    "default": lambda i, o: 1 / math.sqrt(3 * i),
    "glorot": lambda i, o: math.sqrt(2 / (i + o)),
    "he": lambda i, o: math.sqrt(2 / i),
    "gaussian": lambda i, o: 0.05,
    "orthogonal": lambda i, o: 1 / math.sqrt(max(i, o)),
    "lsuv": lambda i, o: 1 / math.sqrt(max(i, o)),
    "data_dependent": lambda i, o: 0.05,
    "uniform_gain": lambda i, o: 1 / math.sqrt(3 * i),
}


@pytest.mark.parametrize("init", options("init"))
def test_init_standard_deviations(init):
    for weight in drawn_weights(network(init)):
        fan_out, fan_in = weight.shape
        assert weight.std().item() == pytest.approx(STD[init](fan_in, fan_out), rel=0.03)
        assert abs(weight.mean().item()) < 0.1 * weight.std().item()


@pytest.mark.parametrize("init", options("init"))
def test_init_biases_are_0_but_for_the_default(init):
    biases = torch.cat([layer.bias.detach() for layer in weight_layers(network(init))])
    assert bool(biases.any()) == (init in ("default", "uniform_gain"))


def test_gains_begin_uniform_and_the_same_for_every_scheme():
    plain, batch, group = network("default", "batch"), *(network("uniform_gain", norm) for norm in ("batch", "group"))
    for drawn, expected in zip(drawn_weights(batch), drawn_weights(plain), strict=True):
        assert torch.equal(drawn, expected)
    first, second = gains(batch)
    assert 0 < first.min() < 0.05  # of 300
    assert 0.95 < first.max() < 1
    assert first.mean() == pytest.approx(0.5, abs=0.06)
    assert not torch.equal(first[:200], second)
    assert all(map(torch.equal, (first, second), gains(group)))
    assert not torch.equal(first, gains(network("uniform_gain", "batch", 1))[0])


def test_without_gains_there_is_nothing_to_draw():
    assert gains(network("uniform_gain")) == []
    assert gains(network("uniform_gain", "batch", 0, "mlp", "norm.affine=false")) == []


def gains(model: nn.Module) -> list[Tensor]:
    layers = {id(layer.weight) for layer in weight_layers(model)}
    return [p.detach() for name, p in model.named_parameters() if name.endswith("weight") and id(p) not in layers]


def test_init_convolutions_count_the_kernel():
    *convolutions, _ = drawn_weights(network("he", model="cnn"))
    for weight in convolutions:
        assert weight.std().item() == pytest.approx(math.sqrt(2 / weight[0].numel()), rel=0.1)


def test_init_options_reach_the_weights():
    assert drawn_weights(network("gaussian", "none", 0, "mlp", "init.std=0.2"))[0].std().item() == pytest.approx(
        0.2, rel=0.03
    )
    fan_out = drawn_weights(network("he", "none", 0, "mlp", "init.mode=fan_out", "init.slope=1"))[1]
    assert fan_out.std().item() == pytest.approx(math.sqrt(1 / 200), rel=0.03)
    assert drawn_weights(network("glorot", "none", 0, "mlp", "init.gain=2"))[1].abs().max() <= 2 * math.sqrt(6 / 500)


@pytest.mark.parametrize("init", ["orthogonal", "lsuv"])
def test_init_orthogonal_rows_or_columns(init):
    for weight in drawn_weights(network(init)):
        rows = weight if weight.shape[0] <= weight.shape[1] else weight.T
        torch.testing.assert_close(rows @ rows.T, torch.eye(len(rows)), rtol=0, atol=1e-5)


def test_init_default_is_drawn_as_ever():
    """Runs recorded before there was a group `init` start from the same bits."""
    for place, layer in enumerate(weight_layers(network("default"))):
        source, bound = generator(0, "initialization", place), 1 / math.sqrt(layer.in_features)
        assert torch.equal(layer.weight, torch.empty(layer.weight.shape).uniform_(-bound, bound, generator=source))
        assert torch.equal(layer.bias, torch.empty(layer.bias.shape).uniform_(-bound, bound, generator=source))


def test_init_default_changes_no_identity():
    assert "init" not in compose(["norm=batch"]).changes
    assert compose(["init=default"]).name == compose([]).name
    assert compose(["init=he"]).name != compose([]).name


@pytest.mark.parametrize("init", options("init"))
@pytest.mark.parametrize("norm", ["batch", "weight", "spectral", "normprop"])
def test_init_weights_are_those_of_every_other_norm(init, norm):
    for one, other in zip(drawn_weights(network(init, norm)), drawn_weights(network(init)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("init", options("init"))
def test_init_seeds_are_different(init):
    zero, again, one = (drawn_weights(network(init, seed=seed)) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(zero, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(zero, one, strict=True))


@pytest.mark.slow
def test_init_torchvision_keeps_its_own_unless_asked():
    def first(init: str) -> torch.Tensor:
        return drawn_weights(network(init, "none", 0, "torchvision"))[1]

    assert first("default").std().item() == pytest.approx(math.sqrt(2 / (64 * 9)), rel=0.1)  # He's, by fan-out
    assert first("gaussian").std().item() == pytest.approx(0.05, rel=0.1)


def deep(norm: Norm) -> nn.Module:
    model = nn.Sequential(
        *(norm.block(nn.Conv2d(3, 8, 3), nn.ReLU()), norm.block(nn.Conv2d(8, 6, 3), nn.ReLU()), nn.Dropout(0.5)),
        *(nn.Flatten(), norm.block(nn.Linear(6 * 16, 20), nn.Tanh()), nn.Linear(20, 5)),
    )
    LSUV().apply(model, seed=3)
    return model


def output_variances(model: nn.Module, batch: torch.Tensor) -> list[float]:
    seen: list[float] = []
    hooks = [
        layer.register_forward_hook(lambda _, __, y: seen.append(y.var(correction=0).item()))
        for layer in weight_layers(model)
    ]
    model(batch)
    for hook in hooks:
        hook.remove()
    return seen


@pytest.mark.parametrize("norm", [Norm(), WeightNorm()])
def test_lsuv_gives_every_layer_variance_1(norm):
    model, batch = deep(norm), torch.randn(40, 3, 8, 8) * 3 + 1
    state = torch.get_rng_state()
    LSUV().fit(model, batch)
    assert torch.equal(torch.get_rng_state(), state)
    assert output_variances(model, batch) == pytest.approx([1] * 4, abs=0.02)  # the same dropout mask


def test_lsuv_keeps_what_is_near_enough():
    model, batch = deep(Norm()), torch.randn(40, 3, 8, 8)
    LSUV(tolerance=1e9).fit(model, batch)
    assert all(torch.equal(*pair) for pair in zip(drawn_weights(model), drawn_weights(deep(Norm())), strict=True))


def test_lsuv_stops_under_a_scheme_that_undoes_it():
    norm = SpectralNorm()
    model, batch = deep(norm), torch.randn(40, 3, 8, 8) * 3
    LSUV(max_iterations=4).fit(model, batch)
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert output_variances(model, batch)[-1] == pytest.approx(1, abs=0.05)  # the output layer is free


def test_lsuv_survives_a_dead_layer():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    LSUV().apply(model, 0)
    LSUV().fit(model, torch.zeros(5, 4))
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def unit_moments(model: nn.Module, batch: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return mean and standard deviation of every unit's output, per layer."""
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def look(layer: nn.Module, _: object, y: torch.Tensor) -> None:
        units = y if isinstance(layer, nn.Linear) else y.movedim(1, -1).flatten(0, -2)
        seen.append((units.mean(0), units.std(0, correction=0)))

    hooks = [layer.register_forward_hook(look) for layer in weight_layers(model)]
    model(batch)
    for hook in hooks:
        hook.remove()
    return seen


def test_data_dependent_init_gives_every_unit_mean_0_and_deviation_1():
    model, batch = deep(Norm()), torch.randn(40, 3, 8, 8) * 3 + 1
    DataDependent().apply(model, seed=3)
    state = torch.get_rng_state()
    DataDependent().fit(model, batch)
    assert torch.equal(torch.get_rng_state(), state)
    for mean, std in unit_moments(model, batch):  # the same dropout mask
        torch.testing.assert_close(mean, torch.zeros_like(mean), rtol=0, atol=1e-5)
        torch.testing.assert_close(std, torch.ones_like(std), rtol=1e-5, atol=0)


def test_data_dependent_init_is_the_one_of_weight_normalization():
    """Without weight normalization it makes the same network as that scheme's own initialization."""
    batch = torch.randn(40, 3, 8, 8) * 3 + 1
    plain, normalized = deep(Norm()), deep(WeightNorm())
    for model in (plain, normalized):
        DataDependent().apply(model, seed=3)
    DataDependent().fit(plain, batch)
    WeightNorm().initialize(normalized, batch)
    pairs = list(zip(weight_layers(plain), weight_layers(normalized), strict=True))
    for one, other in pairs[:-1]:  # the output layer of `deep` has no scheme
        torch.testing.assert_close(one.weight, other.weight, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(one.bias, other.bias, rtol=1e-4, atol=1e-5)


def test_a_singular_vector_stays_with_the_weight_that_was_set():
    """One from before it would leave the first forward pass a norm of up to 1.3, and units of other deviations."""
    torch.manual_seed(1)
    norm = SpectralNorm()
    model = nn.Sequential(norm.parametrize(nn.Linear(20, 50)), nn.ReLU(), norm.parametrize(nn.Linear(50, 50)))
    count, inputs = nn.BatchNorm1d(20), torch.randn(64, 20) * torch.logspace(-2, 1, 20)
    DataDependent().fit(nn.Sequential(count, model), inputs)
    for layer in (model[0], model[2]):
        assert torch.linalg.matrix_norm(layer.weight.detach(), 2).item() == pytest.approx(1, abs=0.04)
    assert count.num_batches_tracked == 0  # other buffers are as they were


def test_data_dependent_init_scales_a_layer_without_bias():
    model, batch = nn.Sequential(nn.Linear(6, 4, bias=False)), torch.randn(50, 6) + 2
    DataDependent().apply(model, 0)
    DataDependent().fit(model, batch)
    ((mean, std),) = unit_moments(model, batch)
    assert mean.abs().min() > 0.01
    torch.testing.assert_close(std, torch.ones(4), rtol=1e-5, atol=0)


def test_init_comes_before_the_schemes_own():
    """LSUV sets one scale per layer; weight norm then one per unit, and has the last word."""
    config = compose(["model=cnn", "init=lsuv", "norm=weight", "batch_size=16", "device=cpu", "threads=1"])
    components = build(config, random_images())
    order: list[str] = []
    fit, initialize = LSUV.fit, WeightNorm.initialize
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LSUV, "fit", lambda *given: (order.append(f"fit {len(given[2])}"), fit(*given)))
        patch.setattr(WeightNorm, "initialize", lambda *given: (order.append("initialize"), initialize(*given)))
        initialize_from_data(components)
    assert order == ["fit 16", "initialize"]  # LSUV sees the first training batch
    components.model.train()
    layer = weight_layers(components.model)[0]
    units = layer(components.batches.first(500)[0]).movedim(1, -1).flatten(0, -2)
    torch.testing.assert_close(units.std(0, correction=0), torch.ones(units.shape[1]), rtol=1e-3, atol=0)


def test_init_lsuv_trains(cli, results):
    tiny = ["model=cnn", "model.widths=[8,8]", "steps=2", "batch_size=16", "dataset.subset=64", "threads=1"]
    status, _, stderr = cli("run", "init=lsuv", "norm=batch", *tiny, f"results_dir={results}", "--quiet")
    assert status == 0, stderr


def test_init_instantiates_with_its_defaults():
    assert instantiate({"_target_": "normexp.models.init.gaussian.Gaussian"}) == Gaussian(std=0.05)
