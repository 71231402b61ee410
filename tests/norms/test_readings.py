"""`convert` and `fold` look at every way that a forward may go: in both modes, with and without optional inputs."""

import sys
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.fold import Folded, fold
from normexp.norms.layer import LayerNorm
from normexp.norms.weight import WeightNorm

IMAGES = torch.randn(4, 3, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.double)


class Net(nn.Module):
    """Two convolutions, the first with a normalization and an activation: `normal(x)`, or without: `bare(x)`."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.act, self.last = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 2, 1)

    def normal(self, x):
        return self.last(self.act(self.bn(self.conv(x))))

    def bare(self, x):
        return self.last(self.act(self.conv(x)))


class Without(Net):
    """What fx takes for given decides: by itself it reads `normal` alone, and everybody calls `bare`."""

    def forward(self, x, extra=None):
        return self.bare(x) if extra is None else self.normal(x)


class With(Net):
    def forward(self, x, extra=None):
        return self.normal(x) if extra is None else self.bare(x)


class OneAlone(Net):
    def forward(self, x, first=None, second=None):
        return self.bare(x) if first is not None and second is None else self.normal(x)


class Switched(Net):
    def forward(self, x, *, plain=False):
        return self.bare(x) if plain else self.normal(x)


class InTraining(Net):
    def forward(self, x):
        return self.normal(x) if self.training else self.bare(x)


class InEvaluation(Net):
    def forward(self, x):
        return self.bare(x) if self.training else self.normal(x)


class Reads(Net):
    """What it reads of its normalization it reads in one way alone."""

    def forward(self, x, extra=None):
        return self.normal(x) * self.bn.running_var.mean() if extra is None else self.normal(x)


class Features(Net):
    """Every way is the same up to the last layer, and so nothing is refused."""

    def forward(self, x, features=False, skip=None):
        x = self.act(self.bn(self.conv(x)))
        x = x if skip is None else x + skip
        return x if features else self.last(x)


class Blocks(Net):
    """A layer and its normalization in an nn.Sequential, of which `past` takes the layer's own output or its bias."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(self.conv, self.bn)

    def forward(self, x):
        return self.last(self.act(self.block(x) + self.past(x)))


class Called(Blocks):
    def past(self, x):
        return self.block[0](x)


class Read(Blocks):
    def past(self, x):
        return self.block[0].bias.sum()


class WithoutGradients(Net):
    def forward(self, x):
        return self.normal(x) if torch.is_grad_enabled() else self.bare(x)


CALLS = [0]


class CountsElsewhere(Net):
    def forward(self, x):
        CALLS[0] += 1
        return self.normal(x) if CALLS[0] % 2 else self.bare(x)


class Alternates(Net):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return self.normal(x) if self.calls % 2 else self.bare(x)


class Catches(Net):
    """Asks for a value, which no reading knows, and goes the other way where that fails."""

    def __init__(self, asks):
        super().__init__()
        self.asks = asks

    def forward(self, x):
        try:
            far = self.asks(x)
        except Exception:
            far = False
        return self.bare(x) if far else self.normal(x)


ASKS = {
    "a branch": lambda x: bool(x.abs().max() > 1),
    "a number": lambda x: float(x.abs().max()) > 1,
    "a range": lambda x: len(range(x.shape[0])) > 1,
    "a loop": lambda x: list(x) != [],
    "a length": lambda x: len(x) > 1,
    "a range of an attribute": lambda x: len(range(x.ndim)) > 1,
    "a set": lambda x: x.ndim in {4, 5},
    "a table": lambda x: {4: True}.get(x.dim(), False),
}


@pytest.mark.parametrize("asks", ASKS)
def test_what_a_network_catches_of_its_reading_ends_it(asks):
    assert ASKS[asks](IMAGES)
    with pytest.raises(ValueError, match="Catches cannot be traced"):
        fold(Catches(ASKS[asks]))
    with pytest.raises(ValueError, match="its forward cannot be read"):
        convert(Catches(ASKS[asks]), EvoNormS0(num_groups=4))


class Goes(Net):
    """Goes by something that it asks of its input, which no reading sees asked."""

    def __init__(self, asks):
        super().__init__()
        self.asks = asks

    def forward(self, x):
        return self.bare(x) if self.asks(x) else self.normal(x)


class PastForward(Net):
    def __call__(self, x):
        return self.bare(x)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Goes(lambda x: x.dtype is torch.double), "it asks for the dtype of what is not known"),
        (Goes(lambda x: not hasattr(x, "tensors")), "it asks for the tensors of what is not known"),
        (Goes(lambda x: isinstance(x.shape, tuple)), "it asks for the type of what is not known"),
        (Goes(lambda x: isinstance(x.size(0), int)), "it asks for the type of what is not known"),
        (PastForward(), "PastForward has a __call__ of its own"),
    ],
)
def test_what_cannot_be_known_of_a_forward_is_not_read(model, why):
    for change in (fold, lambda model: convert(model, EvoNormS0(num_groups=4))):
        with pytest.raises(ValueError, match=why):
            change(model)
        assert type(model.bn) is nn.BatchNorm2d


@pytest.mark.parametrize(
    "asks", [lambda x: not isinstance(x, torch.Tensor), lambda x: not torch.is_tensor(x), lambda x: isinstance(x, list)]
)
def test_an_input_is_a_tensor(asks):
    model = Goes(asks).double().eval()
    model.bn.running_mean += 0.3
    before = model(IMAGES)
    fold(model)
    assert isinstance(model.bn, Folded)
    assert torch.allclose(model(IMAGES), before, atol=1e-12)


class Zeros(Net):
    """Gives what is read to C code, which once took it for a tensor and ended the process."""

    def forward(self, x):
        return self.normal(x + torch.zeros((x.shape[0], 1, 1, 1), dtype=x.dtype))


def test_what_stands_for_a_value_is_no_tensor():
    model = Zeros().double().eval()
    before = model(IMAGES)
    assert torch.allclose(fold(model)(IMAGES), before, atol=1e-12)


class Frozen(nn.Module):
    """Batch normalization that no longer learns, as torchvision's detectors have it: no parameters, not torch.nn's."""

    def __init__(self):
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(8, 1, 1))
        self.register_buffer("running_var", torch.ones(8, 1, 1))

    def forward(self, x):
        return (x - self.running_mean) / self.running_var.sqrt()


class PixelNorm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(1, keepdim=True))


@pytest.mark.parametrize(
    "other",
    [Frozen(), PixelNorm(), nn.RMSNorm(4, elementwise_affine=False), nn.LocalResponseNorm(3)],
    ids=lambda other: type(other).__name__,
)
def test_no_scheme_is_put_beside_another_normalization(other):
    model = Net()
    model.bn = other
    with pytest.raises(ValueError, match=f"bn .{type(other).__name__}.: a normalization that is neither batch"):
        convert(model, LayerNorm())


class Standard(nn.Module):
    """Batch normalization of somebody's own, whose name and whose estimates' names say nothing of it."""

    def __init__(self, *, keeps=True):
        super().__init__()
        self.gain, self.keeps = nn.Parameter(torch.ones(1, 8, 1, 1)), keeps
        if keeps:
            self.register_buffer("centre", torch.zeros(1, 8, 1, 1))

    def forward(self, x):
        mean = x.mean((0, 2, 3), keepdim=True)
        if self.keeps and self.training:
            with torch.no_grad():
                self.centre.lerp_(mean.to(self.centre.dtype), 0.1)
        centred = x - (self.centre if self.keeps and not self.training else mean)
        return self.gain * centred / centred.square().mean((0, 2, 3), keepdim=True).sqrt()


class Sign(nn.Module):
    def forward(self, x):
        return x.sign()


class Elsewhere(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = nn.Parameter(torch.randn(1, 8, 1, 1))

    def forward(self, x):
        return self.place.expand_as(x)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Standard(), "normalizes by statistics of its own, which would stay"),
        (Standard(keeps=False), "a normalization that is neither batch"),
    ],
)
def test_what_normalizes_is_known_by_what_it_does_not_by_its_name(other, why):
    """Group norms stood in front of it, and it stayed."""
    model = Net()
    model.bn = other
    state = torch.get_rng_state()
    with pytest.raises(ValueError, match=f"^Net cannot be converted to LayerNorm: bn .Standard.: {why}"):
        convert(model, LayerNorm())
    assert torch.equal(torch.get_rng_state(), state)


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x


@dataclass(frozen=True, kw_only=True)
class Doubling(Norm):
    def normalization(self, num_features):
        return Doubled()


@dataclass(frozen=True, kw_only=True)
class Grouping(Norm):
    def normalization(self, num_features):
        return nn.GroupNorm(2, num_features)


def test_no_scheme_is_put_beside_one_of_the_users_own():
    model = convert(Net(), Doubling())
    with pytest.raises(ValueError, match=r"bn .Doubled.: of a scheme of your own, which would stay; convert"):
        convert(model, LayerNorm())
    model = convert(convert(Net(), Grouping()), LayerNorm())
    assert model.bn.num_groups == 1


@pytest.mark.parametrize("other", [Sign(), Elsewhere()], ids=lambda other: type(other).__name__)
def test_what_ignores_the_scale_and_normalizes_nothing_is_no_normalization(other):
    model = Net()
    model.act = other
    convert(model, LayerNorm())
    assert model.act is other


def test_a_reading_leaves_the_debugger():
    def debugger(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        fold(Features())
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("network", [Without, With, OneAlone, Switched, InTraining, InEvaluation])
def test_an_activation_that_one_way_needs_is_not_taken(network, mode):
    model = network().train(mode)
    with pytest.raises(ValueError, match=r"bn .BatchNorm2d.: (its activation act is used elsewhere|no activation of)"):
        convert(model, EvoNormS0(num_groups=4))
    assert isinstance(model.bn, nn.BatchNorm2d)
    assert isinstance(model.act, nn.ReLU)
    assert model.training == mode


@pytest.mark.parametrize("network", [Called, Read])
def test_a_bias_that_somebody_else_needs_stays(network):
    model = network().double().eval()
    model.bn.running_mean += 0.3
    before = model(IMAGES)
    assert torch.allclose(convert(model, BatchNorm())(IMAGES), before, atol=1e-12)
    assert model.conv.bias is not None


@pytest.mark.parametrize("network", [Alternates, CountsElsewhere, WithoutGradients])
def test_a_network_that_goes_by_its_calls_or_by_gradients_is_left(network):
    with pytest.raises(ValueError, match="it goes another way when it is called again, without gradients"):
        fold(network())
    with pytest.raises(ValueError, match="it goes another way when it is called again, without gradients"):
        convert(network(), EvoNormS0(num_groups=4))


def test_what_one_way_reads_is_found():
    with pytest.raises(ValueError, match="the network reads its running_var"):
        convert(Reads(), LayerNorm())


@pytest.mark.parametrize("norm", [EvoNormS0(num_groups=4), LayerNorm()], ids=["evonorm", "layer"])
def test_ways_that_agree_are_converted(norm):
    model = convert(Features().double(), norm)
    assert not isinstance(model.bn, nn.BatchNorm2d)
    assert model(IMAGES, features=True, skip=1.0).shape == (4, 8, 4, 4)


@pytest.mark.parametrize("network", [Without, With, Switched, Features])
def test_fold_gives_the_same_numbers_in_every_way(network):
    model = network().double().eval()
    model.bn.running_mean += 0.3
    model.bn.running_var *= 2
    other = {Switched: {"plain": True}, Features: {"features": True}}.get(network, {"extra": IMAGES})
    before = model(IMAGES), model(IMAGES, **other)
    fold(model)
    assert isinstance(model.bn, Folded) == (network is Features)
    assert all(
        torch.allclose(new, old, atol=1e-12)
        for new, old in zip((model(IMAGES), model(IMAGES, **other)), before, strict=True)
    )


def test_a_layer_in_front_of_a_normalization_is_no_output_layer():
    """As in a backbone whose head was taken away; its last normalization goes, and its last layer has the scheme."""
    backbone = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
    )
    changed = convert(backbone, WeightNorm())
    assert [type(changed[i]) for i in (1, 4)] == [nn.Identity, nn.Identity]
    assert [parametrize.is_parametrized(changed[i], "weight") for i in (0, 3)] == [True, True]
    head = convert(nn.Sequential(backbone, nn.Flatten(), nn.Linear(4, 2)), WeightNorm())
    assert [parametrize.is_parametrized(layer, "weight") for layer in (head[0][3], head[2])] == [True, False]
