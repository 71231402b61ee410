"""`convert`: a network whose own forward reads its normalizations is found out before anything is changed."""

import random
import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.group import GroupNorm
from normexp.norms.weight import WeightNorm


def scale_of(norm):
    return norm.running_var.mean()


class Net(nn.Module):
    """Two convolutions with their normalizations; `read(self, x)` comes between them."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.act = nn.ReLU()
        self.layers = nn.Sequential(nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8))
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        x = self.read(self.bn(self.conv(x)))
        return self.fc(self.layers(self.act(x)).mean((2, 3)))


class Variance(Net):
    def read(self, x):
        return x * self.bn.running_var.view(1, -1, 1, 1)


class Mean(Net):
    def read(self, x):
        return x + self.layers[1].running_mean.sum()


class Eps(Net):
    def read(self, x):
        norm = self.bn
        return x * norm.eps


class Momentum(Net):
    def read(self, x):
        return x * getattr(self.bn, "momentum")  # noqa: B009


class Tracked(Net):
    def read(self, x):
        return self.counted(x)

    def counted(self, x):
        return x + self.bn.num_batches_tracked


class Function(Net):
    def read(self, x):
        return x * scale_of(self.bn)


class InBranch(Net):
    """torch.fx cannot read it: what is done depends on a size."""

    def read(this, x):
        norm = this.bn
        return x * norm.running_var.mean() if x.shape[-1] > 2 else x


class InBranchOfLayers(Net):
    def read(self, x):
        return self.deeper(x) if x.shape[-1] > 2 else x

    def deeper(self, x):
        return x + getattr(self.layers[1], "running_mean", None).sum()


READERS = [
    (Variance, "bn", "running_var"),
    (Mean, "layers.1", "running_mean"),
    (Eps, "bn", "eps"),
    (Momentum, "bn", "momentum"),
    (Tracked, "bn", "num_batches_tracked"),
    (Function, "bn", "running_var"),
    (InBranch, "bn", "running_var"),
    (InBranchOfLayers, "layers.1", "running_mean"),
]
IMAGES = torch.linspace(-1, 1, 4 * 3 * 6 * 6).view(4, 3, 6, 6)


@pytest.mark.parametrize(("network", "name", "attribute"), READERS)
def test_reading_what_the_scheme_lacks_is_refused(network, name, attribute):
    model = network()
    modules = list(model.modules())
    with pytest.raises(
        ValueError, match=rf": {name} \(BatchNorm2d\): the network reads its {attribute}, which Identity"
    ):
        convert(model, Norm())
    assert list(model.modules()) == modules


@pytest.mark.parametrize(("network", "name"), [(network, name) for network, name, _ in READERS])
def test_what_is_read_can_be_left(network, name):
    model = convert(network(), Norm(), strict=False)
    assert [line.partition(" ")[0] for line in model.not_converted] == [name]
    kinds = [type(model.get_submodule(each)) for each in ("bn", "layers.1")]
    assert sorted(kind.__name__ for kind in kinds) == ["BatchNorm2d", "Identity"]
    assert model(IMAGES).isfinite().all()


@pytest.mark.parametrize("network", [network for network, _, _ in READERS])
def test_batch_normalization_has_what_is_read(network):
    assert convert(network(), BatchNorm())(IMAGES).isfinite().all()


class ByName(Net):
    def forward(self, x):
        x = self.act(input=self.bn(input=self.conv(input=x)))
        return self.fc(self.layers(x).mean((2, 3)))


class ByNameInBranch(ByName):
    """torch.fx cannot read it."""

    def forward(self, x):
        return super().forward(x) if x.shape[-1] > 2 else self.fc(self.bn(input=self.conv(x)).mean((2, 3)))


@pytest.mark.parametrize("network", [ByName, ByNameInBranch])
def test_a_name_that_the_scheme_does_not_know_its_input_by_is_refused(network):
    reason = r"bn \(BatchNorm2d\): the network calls it with input=, which GroupedNorm in its place does not have"
    with pytest.raises(ValueError, match=reason):
        convert(network(), GroupNorm(num_groups=2))
    model = convert(network(), GroupNorm(num_groups=2), strict=False)
    assert [type(each) is nn.BatchNorm2d for each in (model.bn, model.layers[1])] == [True, False]
    assert model(IMAGES).isfinite().all()
    assert convert(network(), BatchNorm())(IMAGES).isfinite().all()


def test_what_is_called_by_name_follows_as_any_other():
    class Plain(ByName):
        def __init__(self):
            super().__init__()
            del self.bn, self.layers

        def forward(self, x):
            return self.fc(self.act(input=self.conv(input=x)).mean((2, 3)))

    assert type(convert(Plain(), EvoNormS0()).act) is nn.Identity


def test_eps_of_a_scheme_that_has_one():
    assert convert(Eps(), GroupNorm(num_groups=2))(IMAGES).isfinite().all()


def test_its_activation_is_left_with_it():
    class Read(Net):
        def forward(self, x):
            x = self.act(self.bn(self.conv(x)))
            return self.fc((x * self.bn.running_var.mean()).mean((2, 3)))

    model = convert(Read(), EvoNormS0(), strict=False)
    assert type(model.act) is nn.ReLU
    assert type(model.bn) is nn.BatchNorm2d


def test_a_weight_that_is_read_elsewhere_stays_where_it_is():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.between, self.fc = nn.Linear(4, 8), nn.Linear(8, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.fc(F.linear(self.between(self.into(x).relu()).relu(), self.into.weight) @ self.into.weight)

    with pytest.raises(ValueError, match=r"into \(Linear\): the network reads its weight, which Sequential"):
        convert(Tied(), BatchNorm())


def test_asking_what_a_module_is_is_refused():
    class Asking(Net):
        def read(self, x):
            return x.relu() if isinstance(self.bn, nn.BatchNorm2d) else x

    with pytest.raises(ValueError, match="asks what its modules are"):
        convert(Asking(), GroupNorm(num_groups=2))
    model = convert(Asking(), GroupNorm(num_groups=2), strict=False)
    assert type(model.bn) is nn.BatchNorm2d
    assert len(model.not_converted) == 1


@pytest.mark.parametrize("norm", [Norm(), WeightNorm(), BatchNorm()])
@pytest.mark.parametrize("readable", [True, False])
def test_normalizing_by_a_function_alone_is_refused(readable, norm):
    class ByFunction(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.last = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1)

        def forward(self, x):
            x = x if readable or x.sum() > 0 else -x
            return self.last(F.group_norm(self.conv(x), 2).relu())

    with pytest.raises(ValueError, match=r"calls group_norm\(\) as a function"):
        convert(ByFunction(), norm)


class Upsampling(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.up, self.last = nn.Conv2d(3, 4, 2), nn.ConvTranspose2d(4, 4, 3, 2), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.last(self.up(self.conv(x).relu(), [12, 12]))


class UpsamplingInBranch(Upsampling):
    def forward(self, x):
        return super().forward(x) if x.sum() > 1e9 else self.last(self.up(self.conv(x), [12, 12]))


@pytest.mark.parametrize("network", [Upsampling, UpsamplingInBranch])
def test_more_inputs_than_the_schemes_module_takes_are_refused(network):
    model = network()
    assert model(IMAGES).shape == (4, 2, 12, 12)
    with pytest.raises(
        ValueError, match=r"up \(ConvTranspose2d\): the network calls it with 2 inputs, which Sequential in"
    ):
        convert(model, GroupNorm(num_groups=2))
    assert convert(model, GroupNorm(num_groups=2), strict=False)(IMAGES).isfinite().all()


def test_an_activation_with_another_input_is_not_taken():
    class Scaled(nn.ReLU):
        def forward(self, x, scale=1.0):
            return super().forward(x) * scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.act, self.last = (
                nn.Conv2d(3, 8, 3),
                nn.BatchNorm2d(8),
                Scaled(),
                nn.Conv2d(8, 2, 1),
            )

        def forward(self, x):
            return self.last(self.act(self.bn(self.conv(x)), 2.0))

    with pytest.raises(ValueError, match=r"act .*calls it with 2 inputs, which Identity"):
        convert(Net(), EvoNormS0())


def test_asking_for_a_type_is_found_in_the_source():
    class Asks(Net):
        def read(self, x):
            return x * 2 if x.sum() > 0 and isinstance(self.bn, nn.BatchNorm2d) else x

    with pytest.raises(ValueError, match=r"bn \(BatchNorm2d\): the network reads its type\(\)"):
        convert(Asks(), GroupNorm())


def test_normalizing_by_a_function_is_refused():
    class Called(Net):
        def forward(self, x):
            x = F.batch_norm(self.conv(x), None, None, self.bn.weight, self.bn.bias, training=True)
            return self.fc(self.layers(x).mean((2, 3)))

    with pytest.raises(ValueError, match=r"calls batch_norm\(\) as a function"):
        convert(Called(), GroupNorm(num_groups=2))


@pytest.mark.parametrize("norm", [GroupNorm(num_groups=2), EvoNormS0()])
def test_reading_leaves_no_trace(norm):
    class Keeping(Net):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))
            self.kept = []

        def read(self, x):
            self.seen += 1
            self.kept.append(x)
            self.last = x + torch.rand(())
            return x

    model, state = Keeping(), torch.get_rng_state()
    convert(model, norm, strict=False)
    assert (model.seen, model.kept, hasattr(model, "last")) == (0, [], False)
    assert torch.equal(state, torch.get_rng_state())


DRAWS = {"Python": lambda: random.random(), "NumPy": lambda: np.random.rand(), "torch": lambda: torch.rand(()).item()}


class Draws(Net):
    """Scales by a number that it draws."""

    def __init__(self, draw):
        super().__init__()
        self.draw = draw

    def read(self, x):
        return x * (1 + self.draw())


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_network_that_draws_numbers_is_converted_and_the_generators_are_left_alone(draw):
    states = random.getstate(), np.random.get_state(legacy=False)
    model = convert(Draws(draw), GroupNorm(num_groups=2))
    assert not isinstance(model.bn, nn.BatchNorm2d)
    assert random.getstate() == states[0]
    np.testing.assert_equal(np.random.get_state(legacy=False), states[1])
    assert model(torch.randn(2, 3, 5, 5)).shape == (2, 2)


def test_a_network_that_cannot_be_copied_is_refused():
    class Locked(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
            self.lock = threading.Lock()

    model = Locked()
    with pytest.raises(ValueError, match=r"^Locked cannot be copied, on which it is tried: .*lock"):
        convert(model, GroupNorm(num_groups=4))
    assert isinstance(model[1], nn.BatchNorm2d)
