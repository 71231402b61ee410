"""The small Inception: its published size, its modules, its options, and every scheme on it."""

import math

import pytest
import torch
from drawn_images import CIFAR, images
from torch import nn

from normexp.config import compose, option, options
from normexp.config.instantiate import instantiate
from normexp.models.inception_small import InceptionSmall, SideBySide
from normexp.models.init.he import He
from normexp.norms.base import Norm, weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.normprop import NormProp, Standardized
from normexp.norms.spectral import SpectralNorm
from normexp.training.build import build, initialize_from_data
from normexp.training.fit import fit


def network(norm: Norm | None = None, shape: tuple[int, ...] = CIFAR, **options: object) -> InceptionSmall:
    torch.manual_seed(0)
    return InceptionSmall(shape, 10, norm or Norm(), **{"width": 1 / 16, **options})


def outputs_of(model: nn.Module, kind: type[nn.Module], x: torch.Tensor) -> list[torch.Tensor]:
    seen: list[torch.Tensor] = []
    for module in model.modules():
        if isinstance(module, kind):
            module.register_forward_hook(lambda _, __, y: seen.append(y))
    model(x)
    return seen


def test_inception_small_has_the_published_number_of_weights():
    with torch.device("meta"):
        assert sum(each.numel() for each in network(width=1.0).parameters()) == 1_649_402


def test_inception_small_has_as_many_convolution_weights_with_batch_norm():
    """Gain and bias come in place of the convolutions' biases, 2 per channel for 1; the output layer keeps its own."""
    with torch.device("meta"):
        plain, normalized = (network(norm, width=1.0) for norm in (Norm(), BatchNorm()))
    channels = sum(len(layer.weight) for layer in weight_layers(plain) if isinstance(layer, nn.Conv2d))
    assert sum(each.numel() for each in normalized.parameters()) == 1_649_402 + channels


@pytest.mark.parametrize("side", [28, 32])
def test_inception_small_halves_the_maps_twice(side):
    seen = outputs_of(network(width=1.0), SideBySide, images(1, (3, side, side)))
    assert [len(y[0]) for y in seen] == [64, 80, 160, 160, 160, 160, 144, 240, 336, 336]
    assert [y.shape[-1] for y in seen] == [side] * 2 + [side // 2] * 5 + [side // 4] * 3


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 30, 18)])
def test_inception_small_takes_images_of_any_size(shape):
    assert network(shape=shape)(images(shape=shape)).shape == (6, 10)


def test_inception_small_width_multiplies_every_filter():
    whole, half = (weight_layers(network(width=width)) for width in (1.0, 0.5))
    counts = [(len(one.weight), len(other.weight)) for one, other in zip(whole, half, strict=True)]
    assert all(one == 2 * other for one, other in counts[:-1])
    assert counts[-1] == (10, 10)


def test_inception_small_keeps_channels_last_through_every_module():
    model = network().to(memory_format=torch.channels_last)
    seen = outputs_of(model, SideBySide, images().to(memory_format=torch.channels_last))
    assert len(seen) == 10
    assert all(y.is_contiguous(memory_format=torch.channels_last) and not y.is_contiguous() for y in seen)


def test_inception_small_drops_averages_in_training_only():
    model = network(dropout=0.5)
    x = images()
    assert not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), model(x))
    plain = network()
    assert torch.equal(plain(x), plain(x))


def test_inception_small_activation_follows_every_convolution():
    seen = outputs_of(network(activation="sigmoid"), SideBySide, images())
    assert all(y.min() > 0 and y.max() < 1 for y in seen)


def test_inception_small_pools_are_the_schemes():
    pools = [module for module in network(NormProp()).modules() if isinstance(module, Standardized)]
    found = [(round(pool.mean, 4), round(pool.std, 4)) for pool in pools if isinstance(pool.fn, nn.MaxPool2d)]
    assert found == [(1.4850, 0.5978)] * 2


NEEDS = {  # eleven blocks in a row, so a scheme that shrinks or stretches what passes through must be held
    "dynamic_tanh": ["norm.alpha=1"],  # at 0.5 every block halves its input
    "derf": ["norm.alpha=1"],
    "weight_standard": [
        "norm=stack",
        "norm.weights=weight_standard",
        "norm.activations=group",
    ],  # alone: times 9 a block
}


QUICK = ("batch", "normprop", "weight_mean_only", "evonorm_s0")  # each other kind trains in test_nin.py at once
SCHEMES = [name for name in options("norm") if name != "spectral"]  # see below
FIRST = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SCHEMES]


@pytest.mark.slow
@pytest.mark.parametrize("norm", FIRST)
def test_inception_small_trains_with_every_scheme(norm):
    """On digits; losses are finite and fall."""
    narrow = ["model=inception_small", "model.width=0.17", "init=he", "optim.lr=0.02", "steps=20", "threads=1"]
    config = compose([*narrow, f"norm={norm}", *NEEDS.get(norm, [])])
    components = build(config, instantiate(config["dataset"]).load(0))
    initialize_from_data(components)
    losses = [float(update.loss) for update in fit(components)]
    assert all(map(math.isfinite, losses))
    assert sum(losses[-5:]) < sum(losses[:5]), option("norm", norm)["_about_"]


def test_inception_small_lets_nothing_through_under_spectral_norm():
    """Why it is not among the above: no block's output is longer than its input, and most is lost in each."""
    plain, spectral = network(width=0.17), network(SpectralNorm(), width=0.17)
    for model in (plain, spectral):
        He().apply(model, seed=0)
    assert plain(images(32)).std(0).mean() > 0.1
    assert spectral(images(32)).std(0).mean() < 1e-3
