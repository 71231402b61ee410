"""`fold` and `convert`: what a network does with its modules other than calling them by their place is found first."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm

from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.fold import fold
from normexp.norms.group import GroupNorm
from normexp.norms.weight import WeightNorm

IMAGES = torch.randn(8, 3, 6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.double)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)
        self.known = [self.bn]
        self.norm = lambda x: self.known[0](x)
        self.calls = 0

    def head(self, x):
        return self.fc(F.relu(x).mean((2, 3)))


class Reads(Net):
    def forward(self, x):
        return self.head(self.bn(self.conv(x))) + self.bn.running_mean.sum()


class InAList(Net):
    def forward(self, x):
        return self.head(self.known[0](self.conv(x)))


class InAFunction(Net):
    def forward(self, x):
        return self.head(self.norm(self.conv(x)))


class WithoutIt(Net):
    def forward(self, x, scale=None):
        x = self.conv(x)
        return self.head(x if scale is None else self.bn(x) * scale)


class OnlyCalls(Net):
    def forward(self, x, scale=None):
        self.calls, self.last = self.calls + 1, x
        x = self.bn(self.conv(x))
        return self.head(x if scale is None else x * scale)


class Grouped(Net):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(self.conv, nn.ConvTranspose2d(4, 4, 3, groups=2))

    def forward(self, x):
        return self.head(self.bn(self.conv(x)))


class CountsItsState(Net):
    def forward(self, x):
        return self.head(self.bn(self.conv(x))) * len(self.state_dict())


class AddsItsWeights(Net):
    def forward(self, x):
        return self.head(self.bn(self.conv(x))) + sum(value.sum() for value in self.parameters())


class GoesByABias(Net):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=False)

    def forward(self, x):
        return self.head(self.bn(self.conv(x))) * (2 if self.conv.bias is None else 3)


class ReadsAComputedWeight(Net):
    def __init__(self):
        super().__init__()
        weight_norm(self.conv)

    def forward(self, x):
        return self.head(self.bn(self.conv(x)) + F.conv2d(x, self.conv.weight))


class WithAComputedBias(Net):
    def __init__(self):
        super().__init__()
        parametrize.register_parametrization(self.conv, "bias", nn.Tanh())

    def forward(self, x):
        return self.head(self.bn(self.conv(x)))


READERS = [CountsItsState, AddsItsWeights, GoesByABias, ReadsAComputedWeight, WithAComputedBias]


@pytest.mark.parametrize(
    ("kind", "left"),
    [(Reads, 1), (InAList, 1), (WithoutIt, 1), (Grouped, 1), (OnlyCalls, 0), *((reader, 1) for reader in READERS)],
)
def test_fold_is_exact_or_leaves_it(kind, left):
    torch.manual_seed(0)
    model = kind().double()
    with torch.no_grad():
        model.bn(model.conv(3 * IMAGES + 1))
        expected = model.eval()(IMAGES)
        folded = fold(model)
        torch.testing.assert_close(folded(IMAGES), expected, rtol=1e-12, atol=1e-12)
    assert sum(isinstance(each, nn.BatchNorm2d) for each in folded.modules()) == left
    assert not isinstance(getattr(folded, "last", IMAGES), torch.fx.Proxy)
    assert folded.calls == 2 * (kind is OnlyCalls)  # reading it is no call


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0, 4.0]).view(-1, 1, 1))

    def forward(self, x, more=None):
        return x * self.scale + (0 if more is None else more)


class ByPositions(Scaled):
    def forward(self, x):
        return x * self.scale / x.shape[-1]


class ByExamples(Scaled):
    def forward(self, x):
        return x * self.scale / x.shape[0]


class FarFromTheCorner(Scaled):
    def forward(self, x):
        return x * self.scale + (torch.arange(x.shape[-1]) > 2)


@pytest.mark.parametrize("kind", [ByPositions, ByExamples, FarFromTheCorner])
def test_a_map_of_one_size_alone_is_left(kind):
    model = nn.Sequential(nn.Conv2d(3, 3, 3), kind()).double()
    with torch.no_grad():
        expected = model(IMAGES)
        torch.testing.assert_close(fold(model)(IMAGES), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("call", [lambda net, x: net.bn(net.conv(x), x), lambda net, x: net.bn(net.conv(x), more=x)])
def test_what_gets_more_than_the_layers_output_is_left(call):
    class TakesMore(Net):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.known = nn.Conv2d(3, 3, 3, padding=1), Scaled(), []

        def forward(self, x):
            return call(self, x)

    model = TakesMore().double()
    with torch.no_grad():
        expected = model(IMAGES)
        torch.testing.assert_close(fold(model)(IMAGES), expected, rtol=1e-12, atol=1e-12)


COMPLEX = nn.Sequential(nn.Conv2d(3, 4, 3, dtype=torch.cfloat), nn.Conv2d(4, 4, 3))


class Outside(Net):
    def __init__(self):
        super().__init__()
        self.more = {"last": [nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))]}

    def forward(self, x):
        return self.more["last"][0](self.head(self.bn(self.conv(x))))


class InAPartialFunction(Net):
    def __init__(self):
        super().__init__()
        self.more = partial(nn.BatchNorm2d(5))

    def forward(self, x):
        return self.more(self.head(self.bn(self.conv(x))))


class Holder:
    def __init__(self, held):
        self.held = held

    def __call__(self, x):
        return self.held(x)


class InAnObject(Net):
    def __init__(self, held):
        super().__init__()
        self.more = Holder(held)

    def forward(self, x):
        return self.head(self.more(self.bn(self.conv(x))))


class ByValue(Net):
    """Cannot be read, and calls what a function of some kind holds."""

    def __init__(self, hold):
        super().__init__()
        self.more = hold(nn.BatchNorm2d(4))

    def forward(self, x):
        return self.head(self.more(self.bn(self.conv(x if x.sum() > 0 else -x))))


def closed_over(norm):
    def call(x, again=False):
        return call(x) if again else norm(x)

    return call


HELD = {
    "a closure": closed_over,
    "a default": lambda norm: lambda x, norm=norm: norm(x),
    "a method": lambda norm: norm.forward,
    "a partial function": lambda norm: partial(closed_over(norm)),
}


@pytest.mark.parametrize("hold", HELD.values(), ids=HELD)
def test_layers_that_a_function_holds_are_not_overlooked(hold):
    """The network was converted but for them, without a word."""
    with pytest.raises(ValueError, match="keeps a BatchNorm2d in its more, where it is no module of the network"):
        convert(ByValue(hold), GroupNorm(num_groups=2))
    assert convert(ByValue(lambda norm: closed_over(nn.ReLU())), GroupNorm(num_groups=2)).not_converted == []


def test_layers_that_an_object_holds_are_seen_where_the_forward_is_read():
    with pytest.raises(ValueError, match="calls a BatchNorm2d that is no module of the network"):
        convert(InAnObject(nn.BatchNorm2d(4)), GroupNorm(num_groups=2))
    assert convert(InAnObject(nn.ReLU()), GroupNorm(num_groups=2)).not_converted == []


class Fails(Net):
    def forward(self, x):
        raise KeyError("nothing today")


class ByForward(Net):
    """A batch normalization deep inside, called by the name of its method."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Sequential(nn.ModuleDict({"norm": nn.BatchNorm2d(4)}))

    def forward(self, x):
        return self.part[0]["norm"].forward(self.conv(x))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (ByForward(), r"it calls part\.0\.norm\.forward\(x\), so that .* is read, too; write part\.0\.norm\(x\)$"),
        (Outside(), "^Outside cannot be traced: it calls a module that is not registered as one of its own$"),
        (InAFunction(), "^InAFunction cannot be traced: it calls a module that is not registered as one of its own$"),
        (Fails(), "^Fails cannot be traced: 'nothing today'$"),
        (nn.DataParallel(OnlyCalls()), r"give the network inside it, model\.module$"),
        (nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()), "^model: has lazy layers"),
    ],
)
def test_what_cannot_be_folded_is_told_and_left_as_it_was(model, why):
    with pytest.raises(ValueError, match=why):
        fold(model)
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize(
    ("model", "norm", "why"),
    [
        (
            Outside(),
            GroupNorm(num_groups=2),
            "Outside.*keeps a Sequential in its more, where it is no module of the network",
        ),
        (InAPartialFunction(), GroupNorm(num_groups=2), "keeps a BatchNorm2d in its more, where it is no module"),
        (InAList(), GroupNorm(num_groups=2), "keeps modules in another place too"),
        (COMPLEX, BatchNorm(), "0 .*complex"),
        (
            nn.Sequential(nn.Conv2d(3, 4, 3, dtype=torch.cfloat), nn.Conv2d(4, 4, 3)),
            WeightNorm(),
            "0 .*complex",
        ),
        (nn.DataParallel(OnlyCalls()), EvoNormS0(), r"give the network inside it, model\.module"),
        (nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()), BatchNorm(), "^model: has lazy layers"),
    ],
)
def test_what_cannot_be_converted_is_told_and_left_as_it_was(model, norm, why):
    before = str(model)
    with pytest.raises(ValueError, match=why):
        convert(model, norm)
    assert str(model) == before


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_networks_with_torchs_older_weight_norm_are_read():
    """Its weight is computed, which deepcopy refuses."""
    layers = nn.Sequential(nn.utils.weight_norm(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), nn.ReLU())
    assert isinstance(convert(layers, EvoNormS0())[1], type(EvoNormS0().normalization(4)))
