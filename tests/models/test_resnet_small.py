"""The small residual network: its published size and shape, its shortcuts, and every scheme on it."""

import pytest
import torch
from torch import nn

from normexp.config import compose, options
from normexp.config.instantiate import instantiate
from normexp.models.resnet_small import Residual, ResNetSmall
from normexp.norms.base import Norm, weight_layers
from normexp.norms.batch import BatchNorm


def network(norm: Norm | None = None, **options: object) -> ResNetSmall:
    torch.manual_seed(0)
    return ResNetSmall((3, 32, 32), 10, norm or Norm(), **options)


@pytest.mark.parametrize(("blocks", "layers"), [(3, 20), (5, 32), (9, 56)])
def test_resnet_small_has_6n_plus_2_layers(blocks, layers):
    with torch.device("meta"):
        assert len(weight_layers(network(BatchNorm(), blocks=blocks))) == layers


def test_resnet_small_has_the_published_size():
    """He et al., table 6: 0.27 million parameters for 20 layers."""
    with torch.device("meta"):
        assert sum(p.numel() for p in network(BatchNorm()).parameters()) == 269_722


def test_resnet_small_shortcut_takes_every_second_pixel_and_adds_zeros():
    block = Residual(2, 5, 2, Norm(), "relu")
    x = torch.rand(1, 2, 5, 5)  # not below 0, so that the last ReLU changes nothing
    nn.init.zeros_(block.second[0].weight)
    nn.init.zeros_(block.second[0].bias)
    y = block(x)
    assert torch.equal(y[:, :2], x[:, :, ::2, ::2])
    assert y.shape == (1, 5, 3, 3)
    assert not y[:, 2:].any()


def test_resnet_small_with_skipinit_begins_as_its_shortcuts():
    """De & Smith 2020, section 3.2: one number more a block, and the gradient reaches it at once."""
    block = Residual(2, 2, 1, Norm(), "relu", skipinit=True)
    x = torch.rand(1, 2, 5, 5)
    y = block(x)
    y.sum().backward()
    assert torch.equal(y, x)
    assert block.second[-1].weight.grad != 0
    with torch.device("meta"):
        assert sum(p.numel() for p in network(BatchNorm(), skipinit=True).parameters()) == 269_722 + 9


@pytest.mark.parametrize("norm", options("norm"))
def test_resnet_small_learns_from_every_parameter_under_every_scheme(norm):
    config = compose([f"norm={norm}", "model=resnet_small", "model.width=0.25"])
    torch.manual_seed(0)
    model = instantiate(config["model"], input_shape=(1, 8, 8), num_outputs=10, norm=instantiate(config["norm"]))
    x, y = torch.randn(16, 1, 8, 8), torch.arange(16) % 10
    instantiate(config["norm"]).initialize(model, x)
    nn.functional.cross_entropy(model(x), y).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
