"""Network in Network: its published size, its pools, its options, and every scheme on it."""

import math

import pytest
import torch
from companions import KINDS_FIRST
from drawn_images import CIFAR, images
from torch import nn

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.models.nin import NIN
from normexp.norms.base import Norm, weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.normprop import NormProp, Standardized
from normexp.training.build import build, initialize_from_data
from normexp.training.fit import fit

RATES = {"weight": 0.005}
SLOW = {
    "spectral": "no layer may lengthen its input and eight ReLUs shorten it: all images look nearly alike to the last"
}


def network(norm: Norm | None = None, shape: tuple[int, ...] = CIFAR, **options: object) -> NIN:
    torch.manual_seed(0)
    return NIN(shape, 10, norm or Norm(), **{"width": 1 / 16, "dropout": 0.0, **options})


def test_nin_has_the_published_weights_layer_by_layer():
    with torch.device("meta"):
        layers = weight_layers(network(width=1.0))
    sizes = [(*layer.weight.shape[:2], layer.kernel_size[0]) for layer in layers]
    assert sizes == [
        (192, 3, 5), (160, 192, 1), (96, 160, 1),
        (192, 96, 5), (192, 192, 1), (192, 192, 1),
        (192, 192, 3), (192, 192, 1), (10, 192, 1),
    ]  # fmt: skip
    assert sum(layer.weight.numel() for layer in layers) == 965_568


def test_nin_multiplies_and_adds_as_often_as_derived():
    """222.5 million for a CIFAR image: the maps are 32 x 32, 16 x 16 and 8 x 8, as with Caffe's pools."""
    model, counts = network(width=1.0), []
    for layer in weight_layers(model):
        layer.register_forward_hook(lambda each, _, y: counts.append(each.weight.numel() * y[0, 0].numel()))
    model(images(1))
    assert round(sum(counts) / 1e6, 1) == 222.5


@pytest.mark.parametrize("normalize_output", [False, True])
def test_nin_activation_of_the_output_is_an_option(normalize_output):
    options = {"normalize_output": normalize_output}
    assert (network(**options)(images()) >= 0).all()
    assert (network(**options, output_activation=False)(images()) < 0).any()


def test_nin_scheme_acts_on_the_output_only_when_asked():
    free, unit = (network(NormProp(jacobian="none"), normalize_output=each).output[0] for each in (False, True))
    assert not (free.weight.flatten(1).norm(dim=1) - 1).abs().max() < 1e-6
    torch.testing.assert_close(unit.weight.flatten(1).norm(dim=1), torch.ones(10))


def test_nin_drops_values_after_both_pools_in_training_only():
    model = network(dropout=0.5)
    x = images()
    assert not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), model(x))
    assert [module.p for module in model.modules() if isinstance(module, nn.Dropout)] == [0.5, 0.5]


def test_nin_pools_are_the_schemes():
    pools = [module for module in network(NormProp()).features if isinstance(module, Standardized)]
    assert [(type(pool.fn), round(pool.mean, 4), round(pool.std, 4)) for pool in pools] == [
        (nn.MaxPool2d, 1.4850, 0.5978),
        (nn.AvgPool2d, 0.0, 0.3333),
    ]


def test_nin_standardizes_batches_by_their_own_statistics_in_training_alone():
    model, seen = network(standardize_batches=True), []
    model.features.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    x = 3 + 5 * images(64)
    model(x)
    torch.testing.assert_close(seen[0].mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(seen[0].std((0, 2, 3), correction=0), torch.ones(3), atol=1e-4, rtol=0)
    model.eval()
    model(x)
    assert seen[1].mean() > 1  # the running estimates are still far from the data's
    assert not any(name.startswith("inputs") for name, _ in model.named_parameters())


def test_nin_without_it_passes_inputs_on():
    assert isinstance(network(BatchNorm()).inputs, nn.Identity)


def losses(norm: str) -> list[float]:
    """Training losses on digits, with the scheme on the hidden layers."""
    config = compose(
        ["model=nin", "model.width=0.17", "model.dropout=0", "model.output_activation=false", f"norm={norm}",
         "init=he", f"optim.lr={RATES.get(norm, 0.02)}", "steps=25", "threads=1"]
    )  # fmt: skip
    components = build(config, instantiate(config["dataset"]).load(0))
    initialize_from_data(components)
    return [float(update.loss) for update in fit(components)]


@pytest.mark.slow
@pytest.mark.parametrize("norm", KINDS_FIRST)
def test_nin_trains_with_every_scheme(norm):
    found = losses(norm)
    assert all(map(math.isfinite, found))
    if norm in SLOW:
        assert found == pytest.approx([math.log(10)] * len(found), abs=0.05), "it learns: take it out of SLOW"
    else:
        assert sum(found[-5:]) < sum(found[:5])
