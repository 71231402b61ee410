"""Folding: a network in evaluation mode computes the same without its batch normalizations."""

import copy

import pytest
import torch
import torch.nn.functional as F
from every_scheme import CONFIGS, instantiate
from torch import nn
from torchvision import models

from normexp.models.cnn import CNN
from normexp.models.convpool import ConvPool
from normexp.models.mlp import MLP
from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.fold import fold
from normexp.norms.group import GroupNorm
from normexp.norms.mean_only import MeanOnlyBatchNorm
from normexp.norms.networks.channel_maps import affine_map
from normexp.norms.networks.modules import NORMS
from normexp.norms.stack import Stack
from normexp.norms.weight import WeightNorm


def trained(model, x):
    """Give running statistics, scales and shifts values that no initialization has."""
    model = model.double()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, NORMS) and module.weight is not None:
                module.weight.uniform_(0.5, 2)
                module.bias.normal_()
        for _ in range(3):
            model(x * 2 + 0.3)
    return model.eval()


def count(model, kind=NORMS):
    return sum(isinstance(module, kind) for module in model.modules())


def check(model, x, left=0):
    expected = trained(model, x)(x).detach()
    assert count(model) >= max(left, 1)
    folded = fold(model)
    assert count(folded) == left
    torch.testing.assert_close(folded(x), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(folded(x), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "norm", [BatchNorm(), BatchNorm(affine=False), Stack(weights=WeightNorm(), activations=BatchNorm())]
)
@pytest.mark.parametrize("make", [CNN, ConvPool, MLP])
def test_fold_our_networks(make, norm):
    options = {"width": 0.05} if make is ConvPool else {"widths": (6, 5)}
    torch.manual_seed(0)
    check(make((3, 12, 12), 4, norm, **options), torch.randn(5, 3, 12, 12, dtype=torch.double))


@pytest.mark.parametrize(
    "name",
    [
        "resnet18",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("vgg11_bn", "mobilenet_v2", "mobilenet_v3_small")),
    ],
)
def test_fold_networks_of_torchvision(name):
    check(models.get_model(name, weights=None, num_classes=4), torch.randn(2, 3, 32, 32, dtype=torch.double))


def test_fold_mean_only():
    norm = Stack(weights=WeightNorm(), activations=MeanOnlyBatchNorm())
    x = torch.randn(5, 3, 12, 12, dtype=torch.double)
    model = trained(CNN((3, 12, 12), 4, norm, widths=(6, 5)), x)
    expected = model(x)
    names = [type(module).__name__ for module in fold(model).modules()]
    assert "MeanOnly" not in names
    torch.testing.assert_close(model(x), expected)


def test_fold_keeps_what_depends_on_the_input():
    x = torch.randn(5, 3, 12, 12, dtype=torch.double)
    model = trained(CNN((3, 12, 12), 4, GroupNorm(num_groups=2), widths=(6, 4)), x)
    expected = model(x)
    assert count(fold(model)) == 2
    assert torch.equal(model(x), expected)


def test_fold_keeps_a_norm_whose_layer_has_other_readers():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)

        def forward(self, x):
            y = self.conv(x)
            return self.norm(y) + y

    check(nn.Sequential(Shared(), nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)), torch.randn(5, 3, 4, 4).double(), left=1)


def test_fold_keeps_a_layer_that_is_used_twice():
    layer, norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
    check(nn.Sequential(layer, norm, layer, nn.ReLU()), torch.randn(5, 4).double(), left=1)


@pytest.mark.parametrize(
    ("layer", "norm", "shape"),
    [
        (nn.Linear(3, 4), nn.BatchNorm1d(4), (5, 3)),
        (nn.Conv1d(3, 4, 2), nn.BatchNorm1d(4), (5, 3, 6)),
        (nn.Conv3d(3, 4, 2), nn.BatchNorm3d(4), (5, 3, 4, 4, 4)),
        (nn.Conv2d(4, 4, 2, groups=4, bias=False), nn.BatchNorm2d(4), (5, 4, 6, 6)),
    ],
)
def test_fold_layers_of_every_rank(layer, norm, shape):
    check(nn.Sequential(layer, norm), torch.randn(shape).double())


def test_fold_transposed_convolution():
    check(nn.Sequential(nn.ConvTranspose2d(3, 4, 3), nn.BatchNorm2d(4)), torch.randn(5, 3, 4, 4).double())


class TwoNames(nn.Module):
    """Calls its normalization by the second of two names."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.other = self.norm

    def forward(self, x):
        return self.other(self.layer(x)).relu()


def test_fold_takes_out_a_norm_under_every_name():
    check(TwoNames(), torch.randn(5, 3, 8, 8, dtype=torch.double))


@pytest.mark.parametrize("index", [0, 1])
def test_fold_keeps_what_was_given_another_forward(index):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    usual = model[index].forward
    model[index].forward = lambda x: 2 * usual(x)
    check(model, torch.randn(5, 3, 8, 8, dtype=torch.double), left=1)


def test_fold_keeps_a_layer_of_which_another_method_was_given():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    usual = model[0]._conv_forward
    model[0]._conv_forward = lambda *given: 2 * usual(*given)
    check(model, torch.randn(5, 3, 8, 8, dtype=torch.double), left=1)


class WithActivation(nn.BatchNorm2d):
    """Calls torch's forward, which asks for the rank, so that torch.fx cannot read it."""

    def __init__(self, channels, act):
        super().__init__(channels)
        self.act = act

    def forward(self, x):
        return self.act(super().forward(x))


class WrittenAnew(WithActivation):
    """Has torch's forward written anew, so that torch.fx can read it, as in timm."""

    def forward(self, x):
        return self.act(F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self.training))


@pytest.mark.parametrize("kind", [WithActivation, WrittenAnew])
@pytest.mark.parametrize(("act", "left"), [(nn.Identity(), 0), (nn.Dropout(), 0), (nn.ReLU(), 1)])
def test_fold_tells_by_calling_it_what_a_subclass_with_parts_is(kind, act, left):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), kind(4, act), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4))
    check(model, torch.randn(5, 3, 8, 8, dtype=torch.double), left)


def test_fold_keeps_a_subclass_with_a_hook_on_a_part():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), WithActivation(4, nn.Identity()))
    model[1].act.register_forward_hook(lambda module, inputs, output: 2 * output)
    check(model, torch.randn(5, 3, 8, 8, dtype=torch.double), left=1)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch.jit
@pytest.mark.parametrize("change", [fold, lambda model: convert(model, GroupNorm(num_groups=2))])
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: "resnet18", "str is no network; give a torch.nn.Module"),
        (lambda: nn.Linear, r"the class Linear is no network; give one that it makes, Linear\(...\)"),
        (lambda: torch.jit.script(nn.Conv2d(3, 4, 3)), r"compiled by torch\.jit"),
        (lambda: nn.Sequential(torch.ao.nn.quantized.ReLU6()), r"quantized or prepared for it \(0 is a torch\.ao"),
        (lambda: nn.Sequential(torch.ao.quantization.FakeQuantize()), "quantized or prepared for it .*give the float"),
    ],
)
def test_what_is_no_network_is_told(change, make, why):
    with pytest.raises(ValueError, match=f"^model: {why}"):
        change(make())


def with_another_forward(model):
    model.forward = lambda x: model[1](model[0](x)) + model[0](x)


def with_a_hook(model):
    model.register_forward_hook(lambda module, given, made: made * module[0].weight.mean())


def with_a_hook_before(model):
    model.register_forward_pre_hook(lambda module, given: (given[0] * module[0].weight.mean(),))


def with_another_mode(model):
    model.eval = lambda: model


@pytest.mark.parametrize("change", [fold, lambda model: convert(model, GroupNorm(num_groups=2))])
@pytest.mark.parametrize(
    ("put", "why"),
    [
        (with_another_forward, r"its forward\(\) was put on this one network"),
        (with_another_mode, r"its eval\(\) was put on this one network"),
        (with_a_hook, "has hooks, and what they do with its layers is not read"),
        (with_a_hook_before, "has hooks, and what they do with its layers is not read"),
    ],
)
def test_what_was_put_on_the_whole_network_is_not_overlooked(change, put, why):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3))
    put(model)
    before = str(model)
    with pytest.raises(ValueError, match=f"^model: {why}"):
        change(model)
    assert str(model) == before


def test_fold_keeps_the_mode_that_a_network_goes_by():
    class ByItsMode(nn.Sequential):
        def forward(self, x):
            return super().forward(x) * (1 if self[1].training else 2)

    check(
        ByItsMode(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).double(),
        torch.randn(5, 3, 8, 8, dtype=torch.double),
        left=0,
    )


class KeepsTraining(nn.Sequential):
    def train(self, mode=True):
        super().train(mode)
        self[1].training = True
        return self


class CallsInTraining(nn.Sequential):
    def forward(self, x):
        self[1].train()
        x = self[1](self[0](x))
        self[1].train(self.training)
        return x


@pytest.mark.parametrize("kind", [KeepsTraining, CallsInTraining])
def test_fold_keeps_a_norm_that_is_called_in_training_mode(kind):
    """It was folded with its running statistics, which the network never used."""
    x = torch.randn(5, 3, 8, 8, dtype=torch.double)
    check(kind(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), x, left=1)


def test_fold_changes_nothing_that_a_hook_on_a_part_sees():
    torch.manual_seed(0)
    x, seen = torch.randn(5, 3, 8, 8, dtype=torch.double), []
    model = nn.Sequential(nn.Sequential(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4))
    model[0].register_forward_hook(lambda part, given, made: seen.append(made))
    check(model, x, left=1)


class KeepsOutputs(nn.Module):
    """Keeps what its layers give, for a loss or a figure."""

    def __init__(self, *layers):
        super().__init__()
        self.layers, self.kept = nn.Sequential(*layers), {}

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x)
            self.kept[number] = [x]
        return x


@pytest.mark.parametrize(
    "layers", [[nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()], [nn.ReLU(), nn.BatchNorm1d(3), nn.Linear(3, 4)]]
)
def test_fold_changes_no_output_that_the_network_keeps(layers):
    x = torch.randn(6, 3, dtype=torch.double)
    model = trained(KeepsOutputs(*copy.deepcopy(layers)), x)
    model(x)
    kept = copy.copy(model.kept)
    assert count(fold(model)) == 1
    model(x)
    torch.testing.assert_close(model.kept, kept)


@pytest.mark.parametrize("device", ["meta", None], ids=["weights", "estimates"])
def test_fold_needs_values(device):
    with pytest.raises(ValueError, match="on the meta device, where weights have no values"):
        fold(nn.Sequential(nn.Conv2d(3, 4, 3, device=device), nn.BatchNorm2d(4, affine=False, device="meta")))


def test_fold_says_what_cannot_be_traced():
    class Branch(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(x) if x.sum() > 0 else x

    with pytest.raises(ValueError, match="Branch cannot be traced"):
        fold(Branch())


def test_fold_is_exact_for_every_scheme(norm):
    block = norm.block(nn.Conv2d(3, 6, 3), nn.Tanh()).double()
    x = torch.randn(8, 3, 6, 6, dtype=torch.double) * 2 + 1
    for _ in range(3):
        block(x)
    expected = block.eval()(x)
    torch.testing.assert_close(fold(block)(x), expected)


AFFINE = {
    "batch": True,
    "mean_only": True,
    "weight_mean_only": True,
    "batch_renorm": True,
    "ghost_batch": True,
    "rep_batch": True,
}
AFFINE |= dict.fromkeys(["layer", "instance", "group", "rms", "dynamic_tanh"], False)


@pytest.mark.parametrize("name", sorted(AFFINE.keys() & CONFIGS.keys()))
def test_affine_map_tells_which_schemes_can_be_folded(name):
    module = instantiate(CONFIGS[name]).normalization(6).double()
    module(torch.randn(8, 6, 4, 4, dtype=torch.double) * 2 + 1)
    assert (affine_map(module, (6, 4, 4)) is not None) == AFFINE[name]


def test_fold_of_a_copy_leaves_the_original_alone():
    model = nn.Sequential(instantiate(CONFIGS["weight_mean_only"]).block(nn.Linear(4, 4), nn.ReLU())).eval()
    x = torch.randn(3, 4)
    expected = model(x)
    assert torch.allclose(fold(copy.deepcopy(model))(x), expected)
    assert torch.equal(model(x), expected)


# --- tokens: a Linear layer takes (N, C) and (N, L, C), a batch normalization behind it has one of them in mind


class Scale(nn.Module):
    """A scale and a shift of the last dimension, as in networks without normalization."""

    def __init__(self, channels):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.rand(channels) + 0.5), nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return x * self.scale + self.shift


TOKENS = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(2), dtype=torch.double)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()),
        lambda: nn.Sequential(nn.Tanh(), nn.BatchNorm1d(4), nn.Linear(4, 3)),
    ],
    ids=["behind a layer", "before one"],
)
def test_fold_keeps_a_norm_of_the_positions_where_an_example_shows_it(make):
    """As many positions as channels: the module fits both."""
    torch.manual_seed(0)
    model = make()
    x = TOKENS if isinstance(model[0], nn.Linear) else TOKENS @ TOKENS[0].T
    expected = trained(model, x)(x).detach()
    assert count(fold(model, x)) == 1
    torch.testing.assert_close(model(x), expected)


def test_fold_without_an_example_refuses_tokens_when_they_come():
    model = fold(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).double())
    with pytest.raises(ValueError, match=r"of 2 dimensions, \(N, C\), not of 3; .* fold\(model, example_inputs\)$"):
        model(TOKENS)


@pytest.mark.parametrize("example", [None, TOKENS])
@pytest.mark.parametrize(
    "layers",
    [
        [nn.Linear(3, 4), Scale(4), nn.ReLU()],
        [nn.Tanh(), Scale(3), nn.Linear(3, 4)],
        [nn.Linear(3, 4), Scale(4), nn.Linear(4, 3)],
    ],
    ids=["behind a layer", "before one", "between two"],
)
def test_fold_takes_a_scale_of_the_last_dimension_out_of_tokens_of_any_rank(layers, example):
    """The folded network was called with (N, L, C) and raised ValueError."""
    model = nn.Sequential(*copy.deepcopy(layers)).double().eval()
    expected = [model(x).detach() for x in (TOKENS, TOKENS[0], TOKENS[None])]
    assert count(fold(model, example), Scale) == 0
    for x, before in zip((TOKENS, TOKENS[0], TOKENS[None]), expected, strict=True):
        torch.testing.assert_close(model(x), before)


def test_fold_says_what_the_network_cannot_be_called_with():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    with pytest.raises(ValueError, match=r"^example_inputs: the network cannot be called with \(5, 2\): "):
        fold(model, torch.randn(5, 2))
    assert count(model) == 1
    assert model.training


def test_fold_says_in_one_line_that_a_list_is_no_example():
    """All numbers of its tensors were printed."""
    with pytest.raises(ValueError, match=r"^example_inputs: the network cannot be called with list: [^\n]+$"):
        fold(nn.Sequential(nn.Linear(3, 2)), [torch.zeros(9, 3)])


class Transposed(nn.Module):
    """Batch normalization of the channels of tokens, between two transpositions."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.layer(x).transpose(1, 2)).transpose(1, 2)


@pytest.mark.parametrize("positions", [4, 6])
def test_fold_keeps_a_norm_behind_a_transposition(positions):
    check(Transposed(), torch.randn(5, positions, 3, dtype=torch.double), left=1)


def test_what_fold_makes_in_inference_mode_can_be_trained():
    network = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8)).eval()
    with torch.inference_mode():
        fold(network)
    network(torch.randn(2, 3, 8, 8)).square().sum().backward()
    assert network[0].bias.grad is not None


def test_fold_asks_nobody_where_tensors_are_made_by_default():
    x = torch.randn(4, 3, 8, 8, dtype=torch.double)
    model = trained(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), x)
    expected = model(x)
    with torch.device("meta"):  # a GPU, as torch.set_default_device("cuda") has it, is as wrong
        fold(model, x)
    assert count(model) == 0
    assert torch.allclose(model(x), expected)


@pytest.mark.parametrize("layers", [(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), (nn.BatchNorm1d(3), nn.Linear(3, 4))])
def test_fold_leaves_frozen_what_was_frozen(layers):
    model = nn.Sequential(*copy.deepcopy(layers)).eval().requires_grad_(False)
    assert not any(each.requires_grad for each in fold(model).parameters())
