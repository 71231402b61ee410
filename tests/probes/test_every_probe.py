"""Every probe leaves the network as it was, and measures the same twice."""

import copy
import math

import pytest
import torch
from situations import PROBES, built, facing
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.config import option, options
from normexp.errors import Impossible
from normexp.probes.base import Situation
from normexp.probes.several import Several, make


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
