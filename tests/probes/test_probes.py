"""Probes measure a network while it trains, and change nothing."""

import copy
import csv
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.config import compose, option, options
from normexp.config.instantiate import instantiate
from normexp.errors import Impossible, UserError
from normexp.norms.weight import WeightNorm
from normexp.probes.base import Probe, Situation
from normexp.probes.covariance_spectrum import CovarianceSpectrum
from normexp.probes.effective_rate import EffectiveRate
from normexp.probes.gradient_norm import GradientNorm
from normexp.probes.jacobian import Jacobian
from normexp.probes.layers import blocks
from normexp.probes.moments import Moments
from normexp.probes.percentiles import Percentiles
from normexp.probes.several import Several, make
from normexp.probes.update_angle import UpdateAngle
from normexp.probes.weight_norm import WeightNorms
from normexp.records import RunDirectory
from normexp.runs import trainer
from normexp.training.build import build, initialize_from_data

TINY = ("model=mlp", "model.widths=[6,5]", "model.activation=sigmoid", "norm=batch", "batch_size=16", "steps=12")
TINY += ("eval_every=5", "device=cpu", "threads=1")
RESIDUAL = ("model=resnet_small", "model.blocks=1", "norm=batch", "batch_size=16", "steps=4", "eval_every=2")
RESIDUAL += ("dataset.subset=200", "optim.weight_decay=0.01", "optim.momentum=0.9", "device=cpu", "threads=1")
ASK_MUCH = ("equilibrium", "residual_variance")  # of the network or the optimizer: RESIDUAL has what they ask for
PROBES = tuple(name for name in options("probe") if name not in ("none", "several", *ASK_MUCH))


@pytest.fixture
def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = (nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sigmoid(), nn.Linear(4, 2), nn.Tanh(), nn.Linear(2, 2))
    return nn.Sequential(*layers)


def facing(model: nn.Module, x: Tensor, y: Tensor | None = None, rate: float = 0.1) -> Situation:
    """The situation of a network that has these examples for training and test; squared error."""
    target = torch.zeros(len(x)) if y is None else y

    def take(count: int) -> tuple[Tensor, Tensor]:
        return x[:count], target[:count]

    def loss(outputs: Tensor, y: Tensor) -> Tensor:
        return (outputs.sum(1) - y).square().mean()

    return Situation(model=model, test=take, training=take, loss=loss, rate=rate)


def found(probe: Probe, situation: Situation) -> dict[tuple[str, str], float]:
    readings = probe.measure(situation)
    assert len({reading[:2] for reading in readings}) == len(readings)
    return {(layer, statistic): value for layer, statistic, value in readings}


@pytest.mark.parametrize("unit", [0, 1, 6])
def test_percentiles_are_those_of_numpy(network, unit):
    x = torch.randn(101, 3)
    found = Percentiles(unit=unit, at=(0.0, 15.0, 50.0, 97.5)).measure(facing(network, x))
    network.eval()
    expected = []
    with torch.no_grad():
        for name, entering in (("nonlinearity 1", network[:2](x)), ("nonlinearity 2", network[:4](x))):
            values = entering[:, unit % entering.shape[1]].numpy()
            expected += [(name, f"p{p:g}", np.percentile(values, p)) for p in (0, 15, 50, 97.5)]
    assert [reading[:2] for reading in found] == [reading[:2] for reading in expected]
    np.testing.assert_allclose([value for *_, value in found], [value for *_, value in expected], rtol=1e-5, atol=1e-7)


def test_percentiles_of_feature_maps_are_over_examples_and_positions():
    x = torch.randn(7, 3, 4, 5)
    found = Percentiles(unit=2, at=(50.0,)).measure(facing(nn.Sequential(nn.ReLU()), x))
    assert found[0][2] == pytest.approx(np.percentile(x[:, 2].numpy(), 50), rel=1e-5)


def test_percentiles_of_more_values_than_torch_takes(monkeypatch):
    """1000 maps of 130 x 130 are too many for torch.quantile in some versions, and ended the run in its error."""
    x, usual = torch.randn(5, 3, 4, 5), torch.quantile

    def with_a_limit(values: Tensor, shares: Tensor) -> Tensor:
        if values.numel() > 64:
            raise RuntimeError("quantile() input tensor is too large")
        return usual(values, shares)

    monkeypatch.setattr(torch, "quantile", with_a_limit)
    monkeypatch.setattr("normexp.probes.percentiles.MOST", 64, raising=False)
    found = Percentiles(at=(15.0, 85.0)).measure(facing(nn.Sequential(nn.ReLU()), x))
    np.testing.assert_allclose([value for *_, value in found], np.percentile(x[:, 0].numpy(), (15, 85)), rtol=1e-6)


def test_percentiles_are_of_what_enters_a_function_that_works_in_place():
    x = torch.randn(9, 3)
    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    readings = [Percentiles().measure(facing(nn.Sequential(layer, nn.ReLU(each)), x)) for each in (False, True)]
    assert readings[0] == readings[1]
    assert readings[0][0][2] < 0


def test_moments_are_those_of_numpy(network):
    x = torch.randn(50, 3) + 1
    values = found(Moments(), facing(network, x))
    network.eval()
    with torch.no_grad():
        entering = {"0": x, "nonlinearity 1": network[:2](x), "3": network[:3](x)}
    for name, each in entering.items():
        mean, std = each.numpy().mean(0), each.numpy().std(0)
        expected = {"mean": each.numpy().mean(), "std": each.numpy().std(), "unit_mean_abs": abs(mean).mean()}
        expected |= {"unit_std_mean": std.mean(), "unit_std_spread": std.std()}
        for statistic, value in expected.items():
            assert values[name, statistic] == pytest.approx(value, rel=1e-4, abs=1e-7)
    assert {layer for layer, _ in values} == {"nonlinearity 1", "nonlinearity 2", "0", "3", "5"}


def test_moments_of_maps_are_per_channel():
    conv = nn.Sequential(nn.Conv2d(2, 3, 1))
    x = torch.stack([torch.full((4, 4), 5.0), torch.full((4, 4), -3.0)]).expand(6, 2, 4, 4)
    values = found(Moments(), facing(conv, x))
    assert values["0", "unit_mean_abs"] == pytest.approx(4.0)
    assert values["0", "unit_std_mean"] == pytest.approx(0.0, abs=1e-6)
    assert values["0", "std"] == pytest.approx(4.0)


def test_gradient_norm_is_that_of_finite_differences(network):
    network = network.double()
    situation = facing(network, torch.randn(20, 3, dtype=torch.double), torch.randn(20, dtype=torch.double))
    values = found(GradientNorm(), situation)
    x, y = situation.training(20)

    def loss(name: str, place: int, shift: float) -> float:
        moved = copy.deepcopy(network)
        with torch.no_grad():
            moved.get_parameter(name).view(-1)[place] += shift
            return float(situation.loss(moved(x), y))

    total = 0.0
    for name, parameter in network.named_parameters():
        slopes = [(loss(name, i, 1e-6) - loss(name, i, -1e-6)) / 2e-6 for i in range(parameter.numel())]
        assert values[name, "gradient_norm"] == pytest.approx(np.linalg.norm(slopes), rel=1e-5, abs=1e-8)
        total += np.square(slopes).sum()
    assert values["network", "gradient_norm"] == pytest.approx(math.sqrt(total), rel=1e-5)


def test_gradient_norm_shrinks_as_a_normalized_weight_grows(network):
    network = network.double()
    network[1].eps = 1e-30
    situation = facing(network, torch.randn(20, 3, dtype=torch.double))
    before = found(GradientNorm(), situation)
    with torch.no_grad():
        network[0].weight.mul_(3)
    after = found(GradientNorm(), situation)
    assert after["0.weight", "gradient_norm"] == pytest.approx(before["0.weight", "gradient_norm"] / 3, rel=1e-10)
    assert after["3.weight", "gradient_norm"] == pytest.approx(before["3.weight", "gradient_norm"], rel=1e-10)


def weight_normalized(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    scheme = WeightNorm()
    return nn.Sequential(scheme.parametrize(nn.Linear(5, 4)), nn.Tanh(), scheme.parametrize(nn.Linear(4, 2))).double()


def test_weight_norm_is_of_the_weight_in_use_and_of_the_one_behind_it():
    model = weight_normalized()
    layer = model[0]
    layer.parametrizations.weight.original0.data = torch.tensor([[3.0], [4.0], [-12.0], [0.0]]).double()
    v = layer.parametrizations.weight.original1.data
    values = found(WeightNorms(), facing(model, torch.randn(1, 5)))
    assert values["0.weight", "norm"] == pytest.approx(13.0, rel=1e-12)
    assert values["0.weight", "unit_norm"] == pytest.approx(19 / 4, rel=1e-12)
    name = "0.parametrizations.weight.original1"
    assert values[name, "norm"] == pytest.approx(np.sqrt((v.numpy() ** 2).sum()), rel=1e-12)
    assert values[name, "unit_norm"] == pytest.approx(np.sqrt((v.numpy() ** 2).sum(1)).mean(), rel=1e-12)


def test_weight_norm_of_a_layer_with_one_input_is_of_v_and_not_of_g():
    layer = WeightNorm().parametrize(nn.Linear(1, 2))
    assert ("0.parametrizations.weight.original1", "norm") in found(
        WeightNorms(), facing(nn.Sequential(layer), torch.randn(1, 1))
    )


def test_weight_norm_of_a_plain_convolution():
    conv = nn.Conv2d(2, 3, 3)
    values = found(WeightNorms(), facing(nn.Sequential(conv), torch.randn(1, 2, 4, 4)))
    lengths = np.sqrt((conv.weight.detach().numpy().astype(np.float64) ** 2).sum((1, 2, 3)))
    assert values == {
        ("0.weight", "norm"): pytest.approx(np.linalg.norm(lengths), rel=1e-12),
        ("0.weight", "unit_norm"): pytest.approx(lengths.mean(), rel=1e-12),
    }


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0])
def test_update_is_orthogonal_to_the_direction_of_weight_normalization(rate):
    model, x = weight_normalized(), torch.randn(30, 5, dtype=torch.double)
    values = found(UpdateAngle(), facing(model, x, torch.randn(30).double(), rate))
    for place in (0, 2):
        name = f"{place}.parametrizations.weight.original1"
        assert abs(values[name, "cosine"]) < 1e-12
        assert values[name, "unit_cosine"] < 1e-12
        growth = values[name, "growth"]
        assert growth == pytest.approx(math.sqrt(1 + values[name, "relative_step"] ** 2), rel=1e-13)
        assert growth == pytest.approx(values[name, "growth_if_orthogonal"], rel=1e-13)
        assert growth > 1 + 1e-9


def test_update_angle_tells_what_a_step_of_sgd_does(network):
    situation = facing(network, torch.randn(40, 3), torch.randn(40), rate=0.3)
    values = found(UpdateAngle(), situation)
    after = copy.deepcopy(network)
    optimizer = torch.optim.SGD(after.parameters(), lr=0.3)
    x, y = situation.training(40)
    situation.loss(after(x), y).backward()
    optimizer.step()
    for place in (0, 3, 5):
        old, new = (each[place].weight.detach().double().numpy() for each in (network, after))
        step = new - old
        expected = {
            "growth": np.linalg.norm(new) / np.linalg.norm(old),
            "relative_step": np.linalg.norm(step) / np.linalg.norm(old),
            "cosine": (old * step).sum() / np.linalg.norm(old) / np.linalg.norm(step),
            "unit_cosine": max(
                abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(old, step, strict=True)
            ),
        }
        for statistic, value in expected.items():
            assert values[f"{place}.weight", statistic] == pytest.approx(value, rel=1e-3, abs=1e-5)


def test_jacobian_of_a_linear_network_is_the_product_of_its_weights():
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(a, b)) for a, b in ((7, 5), (5, 6), (6, 4))))
    product = np.linalg.multi_dot([block[0].weight.detach().numpy().astype(np.float64) for block in reversed(model)])
    values = found(Jacobian(count=3), facing(model, torch.randn(9, 7)))
    for name, matrix in (("network", product), ("1", model[1][0].weight.detach().numpy())):
        singular = np.linalg.svd(matrix, compute_uv=False)
        expected = {"min": singular.min(), "max": singular.max(), "median": np.median(singular)}
        expected |= {"mean_square": np.mean(singular**2), "row_mean_square": (matrix**2).sum(1).mean()}
        assert {s: v for (layer, s), v in values.items() if layer == name} == pytest.approx(expected, rel=1e-4)
    assert {layer for layer, _ in values} == {"0", "1", "2", "network"}


def test_jacobian_of_batch_normalization_is_that_of_its_fixed_map():
    torch.manual_seed(0)
    block = nn.Sequential(nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4))
    block[1].running_var = torch.tensor([0.1, 1.0, 4.0, 9.0])
    block[1].weight.data = torch.tensor([1.0, 2.0, 0.5, 3.0])
    fixed = (torch.diag(block[1].weight / (block[1].running_var + 1e-5).sqrt()) @ block[0].weight).detach()
    values = found(Jacobian(), facing(nn.Sequential(block), torch.randn(6, 4)))
    assert values["0", "max"] == pytest.approx(float(torch.linalg.matrix_norm(fixed, 2)), rel=1e-4)
    assert values["0", "mean_square"] == pytest.approx(float(fixed.square().sum()) / 4, rel=1e-4)


@pytest.mark.parametrize(
    "data", [("dataset=cloze",), ("dataset=text", "model=gpt", "model.layers=1", "model.width=16")]
)
def test_jacobian_of_a_network_that_reads_numbers_of_words_is_one_line(cli, results, data):
    words = ("probe=jacobian", "inputs=none", "batch_size=8", "steps=1", "device=cpu", "threads=1")
    status, _, stderr = cli("run", *words, *data, f"results_dir={results}", "--quiet")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "numbers of words or characters, which have no derivative" in stderr


def test_jacobian_differs_from_example_to_example():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
    model[0].weight.data = torch.eye(2)
    x = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])  # Jacobians of rank 2, 1 and 0
    values = found(Jacobian(), facing(model, x))
    assert values["network", "mean_square"] == pytest.approx(3 / 6)
    assert (values["network", "min"], values["network", "max"]) == (0, 1)


def test_jacobian_of_a_large_block_is_estimated_without_bias():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(2, 5, 3, padding=1), nn.Tanh()), torch.randn(4, 2, 6, 6)
    exact = found(Jacobian(), facing(model, x))
    estimated = found(Jacobian(entries=0, projections=2000), facing(model, x))
    assert {statistic for _, statistic in estimated} == {"mean_square", "row_mean_square"}
    for statistic in ("mean_square", "row_mean_square"):
        assert estimated["network", statistic] == pytest.approx(exact["network", statistic], rel=0.02)
        assert estimated["network", statistic] != exact["network", statistic]
    assert exact["network", "mean_square"] == pytest.approx(exact["network", "row_mean_square"] * 5 / 2)


def test_jacobian_of_a_normprop_layer_is_near_the_constant_of_the_paper():
    overrides = ("model=mlp", "norm=normprop", "norm.jacobian=none", "model.widths=[400,400]", "steps=1")
    components = built(*overrides)
    values = found(Jacobian(count=4), facing(components.model, torch.randn(4, 1, 8, 8)))
    assert values["hidden.1", "row_mean_square"] == pytest.approx(math.pi / (math.pi - 1), rel=0.1)


def test_jacobian_blocks_are_a_layer_and_what_follows_it():
    block = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    model = nn.Sequential(
        block, nn.Sequential(nn.ReLU(), nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 3))
    )
    assert list(blocks(model)) == ["0", "1.1", "2.0", "2.1"]
    assert blocks(model)["0"] is block


def numpy_spectrum(rows: np.ndarray) -> dict[str, float]:
    values = np.linalg.eigvalsh(rows.T @ rows / len(rows))
    values = values[values > 1e-8 * values.max()]
    share = values / values.sum()
    return {
        "largest": values.max(),
        "smallest": values.min(),
        "trace": values.sum(),
        "condition": values.max() / values.min(),
        "effective_rank": np.exp(-(share * np.log(share)).sum()),
    }


def assert_spectrum(values: dict[tuple[str, str], float], layer: str, rows: Tensor) -> None:
    inputs = rows.double().numpy()
    for kind, each in (("uncentred", inputs), ("centred", inputs - inputs.mean(0))):
        expected = {f"{kind}_{name}": value for name, value in numpy_spectrum(each).items()}
        measured = {name: values[layer, name] for name in expected}
        assert measured == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("examples", [40, 6])
def test_spectrum_of_a_linear_layer_is_that_of_numpy(network, examples):
    network[0] = nn.Linear(9, 4)
    x = torch.randn(examples, 9) * torch.arange(1, 10) + 2
    x[:, 3] = 0  # an input that is always off has the eigenvalue 0, which does not count
    values = found(CovarianceSpectrum(), facing(network, x))
    assert_spectrum(values, "0", x)


CONVOLUTIONS = {
    "plain": {"kernel_size": 3},
    "padded": {"kernel_size": (3, 2), "padding": (1, 0), "stride": 2},
    "dilated": {"kernel_size": 2, "dilation": 2, "padding": 1},
}


@pytest.mark.parametrize("arguments", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_spectrum_of_a_convolution_is_that_of_its_patches(arguments):
    conv, x = nn.Conv2d(2, 3, **arguments), torch.randn(30, 2, 7, 6)
    values = found(CovarianceSpectrum(), facing(nn.Sequential(conv), x))
    assert_spectrum(values, "0", F.unfold(x, **arguments).movedim(1, 2).flatten(0, 1))


def test_spectrum_of_a_grouped_convolution_is_that_of_its_first_group():
    conv, x = nn.Conv2d(4, 4, 3, groups=2, padding="same"), torch.randn(20, 4, 5, 5)
    values = found(CovarianceSpectrum(), facing(nn.Sequential(conv), x))
    assert_spectrum(values, "0", F.unfold(x[:, :2], 3, padding=1).movedim(1, 2).flatten(0, 1))


def test_spectrum_of_many_patches_is_near_that_of_all():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(1, 2, 3)), torch.randn(200, 1, 12, 12)
    few, again, every = (
        found(CovarianceSpectrum(patches=patches), facing(model, x)) for patches in (4000, 4000, 10**6)
    )
    assert few == again
    assert few["0", "centred_trace"] != every["0", "centred_trace"]
    assert few["0", "centred_trace"] == pytest.approx(every["0", "centred_trace"], rel=0.05)


def test_effective_rate_is_of_scale_invariant_weights_alone(network):
    network[1].eps = 1e-12
    values = found(EffectiveRate(), facing(network, torch.randn(64, 3), rate=0.2))
    squared = float(network[0].weight.detach().double().square().sum())
    assert values["0.weight", "effective_rate"] == pytest.approx(0.2 / squared, rel=1e-6)
    assert values["0.weight", "squared_norm"] == pytest.approx(squared, rel=1e-6)
    assert values["0.weight", "output_change"] < 1e-4
    assert {name for name, statistic in values if statistic == "effective_rate"} == {"0.weight"}
    assert values["3.weight", "output_change"] > 0.01


class ByName(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(input=x)


def test_a_layer_that_is_called_with_a_named_input_is_seen():
    assert {reading[0] for reading in Moments().measure(facing(ByName(), torch.randn(8, 3)))} == {"layer"}


def test_effective_rate_is_of_v_under_weight_normalization():
    values = found(EffectiveRate(), facing(weight_normalized(), torch.randn(8, 5).double()))
    names = {name for name, statistic in values if statistic == "effective_rate"}
    assert names == {f"{place}.parametrizations.weight.original1" for place in (0, 2)}


@pytest.mark.parametrize("name", PROBES)
def test_probe_leaves_the_network_as_it_was(network, name):
    model = nn.Sequential(network, nn.Dropout(0.5), parametrize_spectrally(nn.Linear(2, 3)))
    model[1].eval()  # a mode of its own
    modes = [module.training for module in model.modules()]
    x = torch.randn(9, 3)
    model(x).sum().backward()
    before, gradients = copy.deepcopy(model.state_dict()), [each.grad.clone() for each in model.parameters()]
    random = torch.get_rng_state()
    assert make(name).measure(facing(model, x))
    assert torch.equal(torch.get_rng_state(), random)
    assert [module.training for module in model.modules()] == modes
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(torch.equal(each.grad, old) for each, old in zip(model.parameters(), gradients, strict=True))


class Renormed(nn.Linear):
    """Shortens its weights before it uses them, in either mode, as an Embedding with `max_norm` does."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.weight.renorm_(2, 0, 0.1)
        return super().forward(x)


@pytest.mark.parametrize("name", PROBES)
def test_probe_leaves_weights_that_a_forward_pass_writes_into(network, name):
    model = nn.Sequential(network, Renormed(2, 3))
    before = copy.deepcopy(model.state_dict())
    assert make(name).measure(facing(model, torch.randn(9, 3)))
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def parametrize_spectrally(layer: nn.Linear) -> nn.Module:
    from normexp.norms.spectral import SpectralNorm

    assert not parametrize.is_parametrized(layer)
    return SpectralNorm().parametrize(layer)


@pytest.mark.parametrize("name", PROBES)
def test_probe_measures_the_same_twice(network, name):
    situation = facing(nn.Sequential(network, nn.Dropout(0.5)), torch.randn(40, 3))
    before = make(name).measure(situation)
    torch.rand(5)  # the run draws from the same stream; the noise of a measurement does not depend on it
    assert make(name).measure(situation) == before


@pytest.mark.parametrize("name", PROBES)
def test_probe_of_a_diverged_network_is_not_a_number(network, name):
    model = nn.Sequential(network, nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 2))
    with torch.no_grad():
        network[3].weight.fill_(math.nan)
    assert any(math.isnan(value) for *_, value in make(name).measure(facing(model, torch.randn(20, 3))))


def built(*overrides: str):
    """Build and initialize the components of a run on digits."""
    config = compose([*overrides, "device=cpu", "threads=1"])
    components = build(config, instantiate(config["dataset"]).load(0))
    initialize_from_data(components)
    return components


def as_executed(components) -> Situation:
    test = components.evaluated["test"]
    return Situation(
        model=components.model,
        test=lambda count: test.take(torch.arange(min(count, 40))),
        training=lambda count: components.batches.first(min(count, 40)),
        loss=components.task.loss,
        rate=0.1,
    )


@pytest.mark.parametrize("norm", options("norm"))
@pytest.mark.parametrize(
    "model", ["mlp model.widths=[64,64]", pytest.param("cnn model.widths=[4,4]", marks=pytest.mark.slow)]
)
def test_probe_works_with_every_norm_and_changes_nothing(model, norm):
    small = ["norm.num_groups=2"] if norm == "group" else []
    try:
        components = built(*f"model={model}".split(), f"norm={norm}", *small, "steps=1")
    except Impossible:
        assert option("norm", norm).get("_needs_") == "maps"
        return
    before = copy.deepcopy(components.model.state_dict())
    rows = Several(of=PROBES).rows("several", as_executed(components))
    assert all(torch.equal(value, before[key]) for key, value in components.model.state_dict().items())
    seen = {name for name, *_ in rows}
    assert seen == {*PROBES} - ({"percentiles"} if not has_nonlinearity(components.model) else set())
    undefined = {(name, statistic) for name, _, statistic, value in rows if not math.isfinite(value)}
    assert not undefined


def has_nonlinearity(model: nn.Module) -> bool:
    return any(isinstance(module, nn.ReLU) for module in model.modules())


def test_several_gives_every_probe_its_rows_under_its_own_name(network):
    situation = facing(network, torch.randn(40, 3))
    rows = Several(of=("weight_norm", "moments")).rows("several", situation)
    expected = [(name, *reading) for name in ("weight_norm", "moments") for reading in make(name).measure(situation)]
    assert rows == expected


def test_no_two_probes_share_a_statistic_of_a_layer(network):
    rows = Several(of=PROBES).rows("several", facing(network, torch.randn(40, 3)))
    assert len({(layer, statistic) for _, layer, statistic, _ in rows}) == len(rows)


def test_several_lists_every_probe():
    spec = option("probe", "several")["_allowed_"]["of"].removeprefix("list of ")
    assert sorted(spec.split(" | ")) == sorted([*PROBES, *ASK_MUCH])


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("[weigth_norm]", r"probe.of=.*must be.*percentiles, moments.*did you mean weight_norm\?"),
        ("[several]", "must be"),
        ("[none]", "must be"),
    ],
)
def test_several_refuses_unknown_names_when_composing(given, complaint):
    with pytest.raises(UserError, match=complaint):
        compose(["probe=several", f"probe.of={given}"])


def test_several_takes_one_name_without_brackets():
    assert compose(["probe=several", "probe.of=weight_norm"])["probe"]["of"] == ["weight_norm"]


@pytest.mark.parametrize("given", ["[]", "[moments,moments]"])
def test_several_refuses_none_and_twice(cli, results, given):
    status, _, error = cli("run", "probe=several", f"probe.of={given}", f"results_dir={results}")
    assert status == 2
    assert error == f"normexp: probe.of={given}: name at least one probe, and each once\n"
    assert not results.exists()


def run(path: Path, *overrides: str, network: tuple[str, ...] = TINY) -> RunDirectory:
    config = compose([*network, *overrides])
    data = instantiate(config["dataset"]).load(config["seed"])
    trainer.train(config, data, RunDirectory(path), force=False)
    return RunDirectory(path)


def check_equal_training(one: RunDirectory, other: RunDirectory) -> None:
    """Curves, weights, optimizer and random states; a checkpoint also knows the probes' own file."""
    assert (one.path / "metrics.csv").read_bytes() == (other.path / "metrics.csv").read_bytes()
    saved, expected = (load_file(run.path / "checkpoint.safetensors") for run in (one, other))
    assert saved.keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in saved.items())


@pytest.mark.parametrize("norm", ["batch", "online", "spectral_penalty", "weight_mean_only"])
def test_probe_changes_nothing_in_the_run(tmp_path, norm):
    every = ("probe=several", f"probe.of=[{','.join(PROBES)}]")
    with_probes, without = run(tmp_path / "with", f"norm={norm}", *every), run(tmp_path / "without", f"norm={norm}")
    check_equal_training(with_probes, without)
    rows = list(csv.DictReader((with_probes.path / "probes.csv").read_text().splitlines()))
    assert {row["probe"] for row in rows} == {*PROBES}
    assert (without.path / "probes.csv").read_text() == "step,probe,layer,statistic,value\n"


@pytest.mark.parametrize("name", [*PROBES, *ASK_MUCH])
def test_probe_alone_changes_nothing_in_the_run(tmp_path, name):
    network = RESIDUAL if name in ASK_MUCH else TINY
    with_probe, without = (
        run(tmp_path / "with", f"probe={name}", network=network),
        run(tmp_path / "without", network=network),
    )
    check_equal_training(with_probe, without)
    assert len((with_probe.path / "probes.csv").read_text().splitlines()) > 4


def test_probe_knows_the_rate_of_the_next_step(tmp_path):
    path = run(tmp_path, "probe=effective_rate", "schedule=cosine", "optim.lr=0.3").path
    rates = {row["step"]: float(row["lr"]) for row in csv.DictReader((path / "metrics.csv").read_text().splitlines())}
    rows = list(csv.DictReader((path / "probes.csv").read_text().splitlines()))
    named = {(row["step"], row["layer"], row["statistic"]): float(row["value"]) for row in rows}
    for step, rate in rates.items():
        square = named[step, "hidden.0.0.weight", "squared_norm"]
        assert named[step, "hidden.0.0.weight", "effective_rate"] == pytest.approx(rate / square, rel=1e-9)
    assert len(set(rates.values())) > 2


def test_probe_writes_a_row_per_evaluation_layer_and_statistic(tmp_path):
    path = run(tmp_path, "probe=percentiles").path / "probes.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    layers, statistics = ("nonlinearity 1", "nonlinearity 2"), ("p15", "p50", "p85")
    keys = [(row["step"], row["probe"], row["layer"], row["statistic"]) for row in rows]
    steps = ("0", "5", "10", "12")
    assert keys == [(step, "percentiles", layer, name) for step in steps for layer in layers for name in statistics]
    levels = [float(row["value"]) for row in rows if row["layer"] == layers[0]]
    assert all(low < middle < high for low, middle, high in zip(*[iter(levels)] * 3, strict=True))


@pytest.mark.parametrize(("saved", "dies"), [(6, 7), (7, 11), (99, 3)])
def test_probe_rows_survive_a_killed_run(tmp_path, monkeypatch, saved, dies):
    expected = (run(tmp_path / "whole", "probe=percentiles").path / "probes.csv").read_bytes()

    def poll(self: trainer.Trainer) -> bool:
        if self.position.step == saved:
            self.save("running")
        if self.position.step == dies:
            raise KeyboardInterrupt
        return False

    with monkeypatch.context() as patch:
        patch.setattr(trainer.Trainer, "_poll", poll)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "killed", "probe=percentiles")
    assert (run(tmp_path / "killed", "probe=percentiles").path / "probes.csv").read_bytes() == expected
