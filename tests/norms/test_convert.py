"""`convert`: torchvision's networks, whatever their structure, under every scheme."""

import copy
import re
from functools import cache, partial
from operator import attrgetter

import pytest
import torch
import torch.nn.functional as F
from companions import KINDS
from every_scheme import CONFIGS, instantiate
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune
from torchvision import models
from torchvision.models.efficientnet import MBConvConfig

from normexp.norms.base import Norm, weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.evonorm_s0 import EvoNormS0
from normexp.norms.group import GroupNorm
from normexp.norms.kernels.batched import AnyRankBatchNorm
from normexp.norms.kernels.grouped import GroupedNorm
from normexp.norms.layer import LayerNorm
from normexp.norms.networks.modules import NORMS
from normexp.norms.normprop import NormProp
from normexp.norms.rms import RMSNorm
from normexp.norms.spectral import SpectralNorm
from normexp.norms.spectral_penalty import SpectralPenalty
from normexp.norms.stack import Stack
from normexp.norms.weight import WeightNorm
from normexp.norms.weight_standard import WeightStandardization

SMALL_BATCHES = True
WITH_NORM = [
    "resnet18",
    "vgg11_bn",
    "mobilenet_v3_small",
    "densenet121",
    "shufflenet_v2_x0_5",
    "efficientnet_b0",
]
WITHOUT_NORM = ["vgg11", "squeezenet1_0", "alexnet"]


# Blocks of every kind are what counts; of the many that these have alike, one or two a stage. mobilenet_v3's differ.
MOBILE = [(1, 3, 1, 32, 16, 1), (6, 5, 2, 16, 24, 2)]  # expansion, kernel, stride, channels in and out, blocks
SHALLOW = {
    "densenet121": lambda: models.DenseNet(block_config=(2, 2, 2, 2), num_classes=10),
    "shufflenet_v2_x0_5": lambda: models.ShuffleNetV2([2, 2, 2], [24, 48, 96, 192, 1024], num_classes=10),
    "efficientnet_b0": lambda: models.EfficientNet([MBConvConfig(*block) for block in MOBILE], 0.2, num_classes=10),
}


def build(name, **options):
    """Build without memory or initialization: shapes are all that these tests look at."""
    with torch.device("meta"):
        whole = partial(models.get_model, name, weights=None, num_classes=10, **options)
        return SHALLOW.get(name, whole)()


@cache
def initialized(name):
    """Draw a network's weights once, for copies to be converted: that takes as long as a step."""
    return models.get_model(name, weights=None, num_classes=10)


def count(model, kind):
    return sum(isinstance(module, kind) for module in model.modules())


QUICK = ("resnet18", "squeezenet1_0")  # one with and one without norm layers of its own


def marks(scheme, name):
    """A scheme of each kind in one at once, every scheme in two or a kind in others is slow, the rest minutes."""
    if scheme in KINDS:
        return () if name == QUICK[0] else pytest.mark.slow
    return pytest.mark.slow if name in QUICK else pytest.mark.networks


PAIRS = [
    pytest.param(scheme, name, marks=marks(scheme, name), id=f"{name}-{scheme}")
    for name in (*WITH_NORM, *WITHOUT_NORM)
    for scheme in CONFIGS
]


# One module is the activation behind a normalization and behind a sum; or it is called as a function; or is not there.
NO_UNIT_OF_ITS_OWN = {"resnet18", "mobilenet_v3_small", "efficientnet_b0", "shufflenet_v2_x0_5"}
REPLACING = {"evonorm_b0", "evonorm_s0", "filter_response"}
CALLS_A_FUNCTION = {"densenet121"}  # its last relu() is no module
WRAPPING = REPLACING | {"normprop", "scaled_weight_standard"}


def refused_unchanged(model, norm, why):
    """Convert; tell whether that was refused, for this reason, with nothing changed."""
    before = [(each, type(module)) for each, module in model.named_modules()]
    try:
        convert(model, norm)
    except ValueError as refusal:
        assert re.search(why, str(refusal))  # noqa: PT017
        assert [(each, type(module)) for each, module in model.named_modules()] == before
        return True
    return False


@pytest.mark.parametrize(("scheme", "name"), PAIRS)
def test_every_scheme_on_every_architecture(scheme, norm, name):
    model = build(name)
    if scheme in WRAPPING and name in CALLS_A_FUNCTION:
        assert refused_unchanged(model, norm, "as a function")
        return
    if scheme in REPLACING and name in NO_UNIT_OF_ITS_OWN:
        refused = refused_unchanged(model, norm, "used elsewhere too|no activation of its own")
        assert refused or scheme == "filter_response"  # without its threshold where nothing follows
        return
    layers = weight_layers(model)
    expected = count(model, NORMS) or sum(not isinstance(layer, nn.Linear) for layer in layers[:-1])
    convert(model, norm)
    activation = norm.normalization(64)
    if not isinstance(activation, nn.Identity):
        assert count(model, type(activation)) == expected
    assert count(model, NORMS) == (expected if isinstance(activation, NORMS) else 0)
    normalized = [parametrize.is_parametrized(layer, "weight") for layer in weight_layers(model)]
    assert len(normalized) == len(layers)
    assert not normalized[-1]
    assert set(normalized[:-1]) == {parametrize.is_parametrized(norm.parametrize(nn.Linear(2, 2)), "weight")}
    assert model(torch.empty(2, 3, 64, 64, device="meta")).shape == (2, 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_converted_network_trains(scheme, norm, name):
    if scheme == "weight_standard":  # alone it multiplies each layer's output by the root of the fan-in
        norm = Stack(weights=norm, activations=GroupNorm())
    model = copy.deepcopy(initialized(name))
    if scheme in REPLACING and name in NO_UNIT_OF_ITS_OWN:
        assert refused_unchanged(model, norm, "used elsewhere too|no activation of its own")
        return
    model = convert(model, norm)
    x = torch.randn(2, 3, 64, 64).contiguous(memory_format=torch.channels_last)
    norm.initialize(model, x)
    model(x).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    assert model.eval()(x).isfinite().all()


def test_batch_to_batch_changes_nothing():
    model = models.resnet18(num_classes=10)
    state, x = model.state_dict(), torch.randn(2, 3, 64, 64)
    expected = model(x)
    found = convert(models.resnet18(num_classes=10), BatchNorm())
    found.load_state_dict(state)
    assert count(found, AnyRankBatchNorm) == count(found, NORMS)
    torch.testing.assert_close(found(x), expected)


class OwnStart(Norm):
    def normalization(self, num_features):
        norm = nn.GroupNorm(2, num_features)
        nn.init.constant_(norm.weight, 0.1)
        nn.init.constant_(norm.bias, 0.5)
        return norm


@pytest.mark.parametrize(
    ("scale", "frozen", "expected"), [(1.0, False, 0.1), (0.0, False, 0.0), (2.0, False, 2.0), (1.0, True, 1.0)]
)
def test_a_schemes_own_start_stays_where_nothing_was_learned(scale, frozen, expected):
    """`start=0.1` of docs/own_scheme.md did nothing in a converted network: a new one's ones took its place."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
    nn.init.constant_(model[1].weight, scale)
    model[1].weight.requires_grad_(not frozen)
    new = convert(model, OwnStart())[1]
    assert torch.equal(new.weight, torch.full((8,), expected))
    assert torch.equal(new.bias, torch.full((8,), 0.5))
    assert new.weight.requires_grad is not frozen


@pytest.mark.slow
def test_output_layer_on_request():
    model = convert(build("resnet18"), WeightNorm(), output=True)
    assert parametrize.is_parametrized(model.fc, "weight")
    model = convert(build("squeezenet1_0"), GroupNorm(), output=True)
    assert count(model, GroupedNorm) == sum(not isinstance(layer, nn.Linear) for layer in weight_layers(model))


@pytest.mark.parametrize("norm", [Norm(), WeightNorm()])
def test_layers_get_the_bias_that_went_with_the_norm(norm):
    model = convert(models.resnet18(num_classes=10), norm)
    assert all(layer.bias is not None for layer in weight_layers(model))
    assert not model.conv1.bias.any()


def test_cancelled_biases_are_dropped():
    for name in ("vgg11_bn", "vgg11"):
        layers = weight_layers(convert(build(name), BatchNorm()))
        assert [layer.bias is None for layer in layers] == [not isinstance(layer, nn.Linear) for layer in layers]
    layers = weight_layers(convert(build("vgg11"), GroupNorm()))
    assert all(layer.bias is not None for layer in layers)


def test_running_mean_forgets_a_bias_that_is_dropped():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 1)).double()
    x = torch.randn(8, 3, 6, 6, dtype=torch.double)
    model(x)
    expected = model.eval()(x)
    assert convert(model, BatchNorm())[0].bias is None
    torch.testing.assert_close(model(x), expected)


class WithoutItsBias(nn.Conv2d):
    def forward(self, x):
        return F.conv2d(x, self.weight)


class TwiceItsBias(nn.Conv2d):
    def forward(self, x):
        return F.conv2d(x, self.weight) + 2 * self.bias.view(-1, 1, 1)


class Negative(nn.Module):
    def forward(self, x):
        return -x


def with_a_computed_bias(*sizes):
    return parametrize.register_parametrization(nn.Conv2d(*sizes), "bias", Negative())


@pytest.mark.parametrize("layer", [WithoutItsBias, TwiceItsBias, with_a_computed_bias])
@pytest.mark.parametrize("normalized", [True, False])
def test_a_bias_that_is_not_added_as_it_is_stays(layer, normalized):
    """Taken out of the running mean, as what a convolution adds, it changed the outputs; without it some failed."""
    model = nn.Sequential(layer(3, 4, 3), nn.BatchNorm2d(4) if normalized else nn.Identity(), nn.Conv2d(4, 2, 1))
    x = torch.randn(8, 3, 6, 6)
    model(x)
    expected = model.eval()(x)
    assert convert(model, BatchNorm()).get_submodule("0" if normalized else "0.0").bias is not None
    if normalized:
        torch.testing.assert_close(model(x), expected)


def test_a_layer_that_leaves_its_bias_out_gets_none():
    model = nn.Sequential(WithoutItsBias(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1, bias=False))
    convert(model, Norm())
    assert model[0].bias is None
    assert model[2].bias is not None


class HeadsFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy, self.value = nn.Linear(8, 3), nn.Linear(8, 1)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        x = self.body(x)
        return self.policy(x), self.value(x)


def test_every_output_layer_is_left_wherever_it_stands():
    model = convert(HeadsFirst(), BatchNorm())
    assert [type(each) for each in (model.policy, model.value)] == [nn.Linear] * 2
    assert count(model, AnyRankBatchNorm) == 2
    model = convert(HeadsFirst(), WeightNorm())
    computed = [parametrize.is_parametrized(layer) for layer in weight_layers(model)]
    assert computed == [False, False, True, True]
    assert count(convert(HeadsFirst(), BatchNorm(), output=True), AnyRankBatchNorm) == 4


def test_tokens_have_their_channels_last():
    torch.manual_seed(0)
    model = convert(nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3)), BatchNorm())
    x = torch.randn(7, 5, 8)
    expected = nn.functional.batch_norm(model[0][0](x).flatten(0, 1), None, None, training=True)
    torch.testing.assert_close(model[0](x), expected.view(7, 5, 5))


def test_a_layer_whose_weight_torchs_module_reads_is_refused():
    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.attention, self.last = nn.Linear(8, 8), nn.MultiheadAttention(8, 2), nn.Linear(8, 3)

        def forward(self, x):
            x = self.first(x)
            return self.last(self.attention(x, x, x)[0])

    with pytest.raises(ValueError, match=r"attention\.out_proj .*MultiheadAttention computes with its weight"):
        convert(Attends(), RMSNorm())
    assert convert(Attends(), RMSNorm(), strict=False)(torch.randn(4, 2, 8)).shape == (4, 2, 3)


def test_what_only_the_scheme_refuses_is_refused_before_anything_is_changed():
    """Spectral norm regularization sets no weight: it came to a transposed convolution in groups with the rest done."""
    layers = nn.ConvTranspose2d(4, 4, 3, groups=2), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 1)
    assert refused_unchanged(nn.Sequential(*layers), SpectralPenalty(), r"0 \(ConvTranspose2d\): .* needs groups=1")
    assert len(convert(nn.Sequential(*layers), SpectralPenalty(), strict=False).not_converted) == 1


def test_an_activation_with_a_slope_for_every_channel_is_not_overlooked():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.PReLU(4), nn.Conv2d(4, 2, 1))
    assert refused_unchanged(model, NormProp(), r"2 \(PReLU\): an activation function that learns")
    assert type(convert(model, EvoNormS0(num_groups=2))[2]) is nn.Identity


@pytest.mark.parametrize(
    "fn", [lambda x: x.clamp(min=0), lambda x: F.threshold(x, 0.1, 0.0), F.softsign, F.tanhshrink, F.hardshrink]
)
def test_an_activation_by_any_function_is_seen(fn):
    class Calls(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1)

        def forward(self, x):
            return self.last(fn(self.norm(self.first(x))))

    assert refused_unchanged(Calls(), NormProp(), r"the network \(Calls\): calls \w+\(\) as a function")


@pytest.mark.parametrize("norm", [GroupNorm(), EvoNormS0()])
@pytest.mark.parametrize("behind", [[nn.BatchNorm1d(16), nn.ReLU()], [nn.ReLU()]])
def test_as_many_groups_as_features_are_refused_behind_a_linear_layer(norm, behind):
    """With one value a group the first batch was the first to say so."""
    model = nn.Sequential(nn.Linear(8, 16), *behind, nn.Linear(16, 3))
    assert refused_unchanged(
        model, norm, r"of a Linear layer has no positions: normalization over 16 groups needs more"
    )
    few = type(norm)(num_groups=4)
    assert convert(model, few)(torch.randn(5, 8)).shape == (5, 3)


def test_a_network_that_is_one_normalization_is_refused():
    with pytest.raises(ValueError, match=r"is the whole network, .*give nn\.Sequential\(model\)"):
        convert(nn.BatchNorm2d(3), GroupNorm())


def test_group_norm_is_replaced_too():
    model = build("resnet18", norm_layer=lambda channels: nn.GroupNorm(2, channels))
    assert count(convert(model, BatchNorm()), AnyRankBatchNorm) == 20


def test_network_without_convolutions_is_normalized_after_its_linear_layers():
    model = convert(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), BatchNorm())
    assert count(model, AnyRankBatchNorm) == 1
    assert model[0][0].bias is None
    assert isinstance(model[2], nn.Linear)


@pytest.mark.parametrize("kind", [nn.ReLU, nn.ReLU6, nn.SiLU, nn.Hardswish])
def test_nonlinearities_are_wrapped_once_where_shared(kind):
    class Double(nn.Module):
        def __init__(self, fn):
            super().__init__()
            self.fn = fn

        def forward(self, x):
            return 2 * self.fn(x)

    class Doubling(Norm):
        def nonlinearity(self, fn):
            return Double(fn)

    shared = kind()
    model = convert(nn.Sequential(nn.Linear(3, 3), shared, nn.Linear(3, 3), shared, nn.Linear(3, 3)), Doubling())
    assert isinstance(model[1], Double)
    assert model[1] is model[3]
    assert model(torch.ones(1, 3)).shape == (1, 3)  # no module contains itself


def test_keeps_type_and_device():
    model = convert(models.squeezenet1_0(num_classes=10).double(), BatchNorm())
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}
    assert {parameter.device.type for parameter in convert(build("resnet18"), BatchNorm()).parameters()} == {"meta"}


def hooked(norm):
    norm.register_forward_hook(lambda module, given, made: 2 * made)


def forwarded(norm):
    norm.forward = torch.relu


@pytest.mark.parametrize("scheme", [BatchNorm(), GroupNorm(num_groups=2)])
def test_norms_that_share_their_weight_are_refused(scheme):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4))
    model[4].weight = model[1].weight
    with pytest.raises(ValueError, match=r"1 \(BatchNorm2d\): shares its weight with another module"):
        convert(model, scheme, output=True)


@pytest.mark.parametrize("touch", [hooked, forwarded, lambda norm: prune.l1_unstructured(norm, "weight", 0.5)])
def test_a_norm_with_something_put_on_it_is_refused(touch):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4, 2))
    touch(model[1])
    with pytest.raises(ValueError, match=r"1 \(BatchNorm2d\): has hooks, or a forward that was put on it"):
        convert(model, GroupNorm(num_groups=2))
    assert type(model[1]) is nn.BatchNorm2d


class Frozen(nn.BatchNorm2d):
    def train(self, mode=True):
        return super().train(False)


class FreezesItsNorms(nn.Sequential):
    def train(self, mode=True):
        super().train(mode)
        for each in self:
            if isinstance(each, nn.BatchNorm2d):
                each.eval()
        return self


@pytest.mark.parametrize("norm", [BatchNorm(), GroupNorm(num_groups=2)])
@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), Frozen(4), nn.ReLU(), nn.Conv2d(4, 2, 3)),
        lambda: FreezesItsNorms(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3)),
    ],
)
def test_a_norm_that_is_kept_in_evaluation_is_refused(make, norm):
    model = make().train()
    with pytest.raises(ValueError, match=r"1 \(\w+\): a train\(\) of its own, or its network's, keeps its mode"):
        convert(model, norm)
    left = convert(model, norm, strict=False)
    assert isinstance(left[1], nn.BatchNorm2d)
    assert not left.train()[1].training


class ChannelNorm(nn.Module):
    def forward(self, x):
        return x * x.square().mean(1, keepdim=True).add(1e-5).rsqrt()


@pytest.mark.parametrize("own", [nn.LayerNorm(6), ChannelNorm()])
def test_a_network_gets_no_second_scheme_beside_a_normalization_that_is_left(own):
    network = nn.Sequential(nn.Conv2d(3, 4, 3), own, nn.ReLU(), nn.Conv2d(4, 2, 3))
    model = convert(network, GroupNorm(num_groups=2), strict=False)
    assert [type(each) for each in model] == [nn.Conv2d, type(own), nn.ReLU, nn.Conv2d]
    assert model.not_converted[0].startswith(f"1 ({type(own).__name__})")


@pytest.mark.parametrize("scheme", ["layer", "evonorm_s0"])
@pytest.mark.parametrize("normalized", [True, False])
def test_a_network_in_evaluation_stays_so(scheme, normalized):
    first = [nn.Conv2d(3, 8, 3), *([nn.BatchNorm2d(8)] if normalized else []), nn.ReLU()]
    model = convert(nn.Sequential(*first, nn.Conv2d(8, 2, 3)).eval(), instantiate(CONFIGS[scheme]))
    assert not any(module.training for module in model.modules())


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch.jit
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (nn.ReLU, r"the network \(ReLU\): has no Linear or Conv layer and no normalization"),
        (
            lambda: nn.Sequential(torch.jit.script(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4)),
            r"0 \(RecursiveScriptModule\): compiled by torch\.jit",
        ),
        (
            lambda: nn.Sequential(torch.jit.script(nn.Sequential(nn.Conv2d(3, 4, 3))), nn.BatchNorm2d(4)),
            r": 0 \(RecursiveScriptModule\): compiled by torch\.jit",
        ),
    ],
)
@pytest.mark.parametrize("norm", [BatchNorm(), NormProp()])
def test_what_holds_nothing_to_change_is_refused(make, why, norm):
    with pytest.raises(ValueError, match=why):
        convert(make(), norm)


@pytest.mark.parametrize(
    ("given", "shown", "meant"),
    [
        ("layer", "'layer'", "normexp.norms.LayerNorm"),
        ("none", "'none'", "normexp.norms.Norm"),
        ("evonorm_s0", "'evonorm_s0'", "normexp.norms.EvoNormS0"),
        ("nn.GroupNorm", "'nn.GroupNorm'", "normexp.norms.GroupNorm"),
        ("my_norms.PowerNorm", "'my_norms.PowerNorm'", "my_norms.PowerNorm"),
        (RMSNorm, "normexp.norms.rms.RMSNorm", "normexp.norms.RMSNorm"),
        (OwnStart, f"{__name__}.OwnStart", f"{__name__}.OwnStart"),
        (nn.GroupNorm(4, 16), "torch.nn.modules.normalization.GroupNorm", "normexp.norms.GroupNorm"),
        (nn.BatchNorm2d, "torch.nn.modules.batchnorm.BatchNorm2d", "normexp.norms.BatchNorm"),
        (None, "NoneType", None),
        ({}, "dict", None),
    ],
)
def test_convert_to_what_is_no_scheme_names_the_nearest(given, shown, meant):
    hint = f"; did you mean {meant}()?" if meant else ""
    said = f"norm={shown}: must be a scheme, for example normexp.norms.GroupNorm(num_groups=4){hint}"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        convert(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), given)


@pytest.mark.parametrize("name", ["output", "strict"])
def test_a_word_is_no_truth_value(name):
    with pytest.raises(ValueError, match=f"^{name}='no': must be True or False$"):
        convert(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), GroupNorm(), **{name: "no"})


def test_placement_is_the_networks_own():
    with pytest.raises(ValueError, match="placement=post"):
        convert(build("resnet18"), BatchNorm(placement="post"))


def test_layer_norm_with_channels_last_is_refused():
    with pytest.raises(ValueError, match="LayerNorm"):
        convert(build("vit_b_16"), BatchNorm())


def test_configs_exist():
    assert {"none", "batch", "weight_mean_only"} <= CONFIGS.keys()


def test_estimates_that_average_all_batches_stay_such():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4, momentum=None), nn.ReLU()).double()
    usual, converted = model, convert(copy.deepcopy(model), BatchNorm())
    for batch in torch.randn(3, 8, 3, 6, 6).double():
        assert torch.allclose(usual.train()(batch), converted.train()(batch))
    assert torch.allclose(usual.eval()(batch), converted.eval()(batch))
    assert converted[1].num_batches_tracked == 3


@pytest.mark.parametrize(
    ("old", "why"),
    [
        (nn.BatchNorm2d(4, track_running_stats=False), r"1 \(BatchNorm2d\): has no running estimates"),
        (nn.SyncBatchNorm(4), r"1 \(SyncBatchNorm\): has the statistics of all processes"),
    ],
)
def test_batch_normalization_with_other_statistics_is_not_replaced_by_the_schemes(old, why):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), old, nn.ReLU(), nn.Conv2d(4, 4, 1))
    with pytest.raises(ValueError, match=why):
        convert(model, BatchNorm())
    assert convert(model, BatchNorm(), strict=False)[1] is old
    assert len(model.not_converted) == 1
    assert isinstance(convert(model, GroupNorm(num_groups=2))[1], GroupedNorm)


class Unreached(nn.Module):
    """A layer between two linear ones whose weights are in no Linear layer of its own."""

    def __init__(self, layer):
        super().__init__()
        self.first, self.layer, self.last = nn.Linear(4, 4), layer, nn.Linear(4, 2)

    def forward(self, x):
        x = self.first(x)
        kind = type(self.layer)
        inner = {nn.MultiheadAttention: 3, nn.Bilinear: 2}.get(kind, 1)
        y = self.layer(*[x] * inner)
        return self.last(y[0] if isinstance(y, tuple) else y)


@pytest.mark.parametrize(
    "layer",
    [nn.MultiheadAttention(4, 2), nn.LSTM(4, 4), nn.GRU(4, 4), nn.GRUCell(4, 4), nn.Bilinear(4, 4, 4)],
    ids=lambda layer: type(layer).__name__,
)
@pytest.mark.parametrize("norm", [WeightNorm(), Stack(weights=WeightNorm(), activations=RMSNorm())], ids=repr)
def test_weights_that_a_scheme_does_not_reach_are_named(layer, norm):
    said = rf"layer \({type(layer).__name__}\): its (in_proj )?weights are those of no Linear or Conv layer"
    model = Unreached(copy.deepcopy(layer))
    with pytest.raises(ValueError, match=said):
        convert(model, norm)
    assert not parametrize.is_parametrized(model.first)
    convert(model, norm, strict=False)
    assert any(re.match(said, line) for line in model.not_converted)
    assert any(parametrize.is_parametrized(each) for each in weight_layers(model))


@pytest.mark.parametrize(
    ("norm", "rows", "refused"),
    [
        (WeightNorm(), slice(1), True),  # one unit has no direction
        (NormProp(), slice(None), True),
        (SpectralNorm(), slice(None), True),
        (SpectralNorm(), slice(1), False),  # the largest singular value is that of the others
        (WeightStandardization(), slice(None), False),  # eps holds it
    ],
)
def test_weights_of_zeros_are_refused_where_the_scheme_makes_nan_of_them(norm, rows, refused):
    """Networks that begin with a last layer of zeros were nan after their conversion, and nothing was said."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(128, 3))
    model[2].weight.data[rows] = 0
    if refused:
        with pytest.raises(ValueError, match=r"2 \(Conv2d\): has weights of zeros, of which the scheme makes nan"):
            convert(model, norm)
        return
    assert convert(model, norm)(torch.randn(2, 3, 8, 8)).isfinite().all()


class Linear1D(nn.Module):
    """A linear layer written anew, as some transformers have."""

    def __init__(self, *shape, name="weight"):
        super().__init__()
        self.register_parameter(name, nn.Parameter(torch.randn(*shape)))

    def forward(self, x):
        return x @ self.weight


@pytest.mark.parametrize("norm", [WeightNorm(), Stack(weights=WeightNorm(), activations=RMSNorm())], ids=repr)
def test_a_weight_of_a_layer_that_is_not_torchs_is_named(norm):
    model = nn.Sequential(nn.Linear(4, 4), Linear1D(4, 4), nn.Linear(4, 2))
    with pytest.raises(
        ValueError, match=r"1 \(Linear1D\): its weight is that of no Linear or Conv layer, so the scheme"
    ):
        convert(model, norm)
    assert convert(model, RMSNorm()).not_converted == []


@pytest.mark.parametrize("shape", [(4,), (4, 1, 1), (1, 5, 4)])
def test_what_is_added_or_scaled_is_no_weight(shape):
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    model.place = Linear1D(*shape, name="places")
    assert convert(model, WeightNorm(), output=True).not_converted == []


class OwnBias(Norm):
    """Does to the network what no module shows."""

    def penalty(self, model):
        return None


NOTHING = r"Sequential would not be changed by {}: it has nothing to put {} on; output=True takes the last layer$"


@pytest.mark.parametrize(
    "norm", [LayerNorm(), WeightNorm(), EvoNormS0(), NormProp()], ids=lambda norm: type(norm).__name__
)
def test_a_network_in_which_the_scheme_has_no_place_is_refused(norm):
    model, name = nn.Sequential(nn.Flatten(), nn.Linear(4, 3)), type(norm).__name__
    with pytest.raises(ValueError, match=NOTHING.format(name, name)):
        convert(model, norm)
    assert convert(model, norm, strict=False) is model
    for other in (Norm(), SpectralPenalty(), OwnBias()):
        assert convert(model, other) is model
    normalized = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 3))
    assert "BatchNorm1d" not in repr(convert(normalized, Norm()))


LOST = "Sequential would lose what normalizes it and get no WeightNorm: it has nothing to put WeightNorm on; output"


@pytest.mark.parametrize("first", [nn.BatchNorm1d(4), parametrizations.weight_norm(nn.Linear(4, 4))], ids=repr)
def test_a_network_that_would_only_lose_its_normalizations_is_refused(first):
    layers = [first, nn.Linear(4, 3)] if isinstance(first, nn.BatchNorm1d) else [first]
    before = repr(nn.Sequential(*layers))
    with pytest.raises(ValueError, match=LOST):
        convert(nn.Sequential(*layers), WeightNorm())
    assert repr(nn.Sequential(*layers)) == before
    assert parametrize.is_parametrized(convert(nn.Sequential(*layers), WeightNorm(), output=True)[-1])


def test_a_scheme_that_sets_no_weights_leaves_those_of_a_recurrent_layer():
    assert convert(Unreached(nn.LSTM(4, 4)), RMSNorm()).not_converted == []


# --- found by readers: what was changed by halves, left beside, or lost


def test_a_pruned_bias_is_left_alone():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 6, 3), nn.BatchNorm2d(6))
    prune.l1_unstructured(model[3], "bias", 0.5)
    x = torch.randn(4, 3, 9, 9)
    expected = model.eval()(x)
    torch.testing.assert_close(convert(model, BatchNorm())(x), expected)
    assert model[0].bias is None
    assert model[3].bias is not None


@pytest.mark.parametrize("first", [RMSNorm(), EvoNormS0(), SpectralNorm()])
@pytest.mark.parametrize("then", [Norm(), BatchNorm()])
def test_a_scheme_of_ours_is_not_left_beside_another(first, then):
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 32, 3), nn.Flatten())
    convert(model, first)
    assert refused_unchanged(model, then, "a scheme of this library already")


def test_what_is_frozen_stays_frozen():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).requires_grad_(False)
    assert not any(each.requires_grad for each in convert(model, BatchNorm()).parameters())


def test_a_network_without_parameters_is_converted():
    model = convert(nn.Sequential(nn.InstanceNorm2d(8), nn.ReLU()), GroupNorm(num_groups=2))
    assert isinstance(model[0], GroupedNorm)


# --- torch's own weight_norm and spectral_norm, which stayed beside the scheme without a word


class ReadsBehind(nn.Module):
    def __init__(self, how, read):
        super().__init__()
        self.conv, self.norm, self.read = how(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), read

    def forward(self, x):
        return self.norm(self.conv(x)) * attrgetter(self.read)(self.conv).sum()


OF_TORCH = [parametrizations.weight_norm, parametrizations.spectral_norm, nn.utils.weight_norm, nn.utils.spectral_norm]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("how", OF_TORCH)
@pytest.mark.parametrize("norm", [Norm(), BatchNorm(), GroupNorm(num_groups=2), SpectralNorm()])
def test_weights_are_set_free_of_torchs_schemes(how, norm):
    torch.manual_seed(0)
    layers = [how(nn.Conv2d(3, 4, 3)), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), how(nn.Linear(64, 2))]
    model, x = nn.Sequential(*layers).double(), torch.randn(5, 3, 6, 6).double()
    model[4].requires_grad_(False)
    expected = model.eval()(x).detach()
    assert convert(model.train(), norm).not_converted == []
    assert (type(model[0]) is nn.Conv2d) == (not isinstance(norm, SpectralNorm))
    assert (type(model[4]), list(model[4]._forward_pre_hooks)) == (nn.Linear, [])
    assert [name for name, _ in model[4].named_parameters()] in (["bias", "weight"], ["weight", "bias"])
    assert not any(each.requires_grad for each in model[4].parameters())
    if isinstance(norm, BatchNorm):
        torch.testing.assert_close(model.eval()(x), expected)


def test_a_scheme_of_weights_gives_way_to_another():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2)), torch.randn(5, 3, 6, 6)
    expected = model(x).detach()
    original = copy.deepcopy(convert(model, WeightNorm()))
    assert type(convert(model, Norm())[0]) is nn.Conv2d
    torch.testing.assert_close(model(x), expected)
    torch.testing.assert_close(original(x), expected)  # a copy shares its class


def shared_behind():
    first, second = (parametrizations.weight_norm(nn.Linear(4, 4)) for _ in range(2))
    second.parametrizations.weight.original1 = first.parametrizations.weight.original1
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Linear(4, 2))


def with_more():
    layer = parametrizations.weight_norm(nn.Linear(4, 4))
    return nn.Sequential(parametrize.register_parametrization(layer, "weight", Negative()), nn.Linear(4, 2))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda: Unreached(parametrizations.weight_norm(nn.LSTM(4, 4), "weight_hh_l0")),
            r"layer \(ParametrizedLSTM\): its weight_hh_l0 goes through torch's weight_norm, which would stay",
        ),
        (shared_behind, r"0 \(ParametrizedLinear\): .* it shares its weight with another layer"),
        (with_more, r"0 \(ParametrizedLinear\): .* whose weight nothing else computes"),
        (
            lambda: ReadsBehind(parametrizations.weight_norm, "parametrizations.weight.original0"),
            "reads parametrizations of a layer whose weight torch computes",
        ),
        (lambda: ReadsBehind(nn.utils.weight_norm, "weight_g"), "reads weight_g of a layer whose weight torch"),
    ],
)
def test_what_cannot_be_set_free_is_told(make, why):
    assert refused_unchanged(make(), Norm(), why)


def test_a_weight_that_the_network_reads_is_there_when_it_is_free():
    assert type(convert(ReadsBehind(parametrizations.weight_norm, "weight"), BatchNorm()).conv) is nn.Conv2d


def test_what_is_no_normalization_of_weights_stays():
    model = nn.Sequential(parametrizations.orthogonal(nn.Linear(4, 4)), nn.BatchNorm1d(4), nn.Linear(4, 2))
    assert parametrize.is_parametrized(convert(model, GroupNorm(num_groups=2))[0], "weight")


@pytest.mark.parametrize("norm", KINDS)
def test_convert_asks_nobody_where_tensors_are_made_by_default(norm):
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.BatchNorm2d(4))
    usual, elsewhere = copy.deepcopy(network), network
    torch.manual_seed(0)
    convert(usual, instantiate(CONFIGS[norm]), output=True, strict=False)
    torch.manual_seed(0)
    with torch.device("meta"):  # a GPU, as torch.set_default_device("cuda") has it, is as wrong
        convert(elsewhere, instantiate(CONFIGS[norm]), output=True, strict=False)
    assert elsewhere.not_converted == usual.not_converted
    assert [*elsewhere.state_dict()] == [*usual.state_dict()]
    assert all(torch.equal(*pair) for pair in zip(elsewhere.buffers(), usual.buffers(), strict=True))


@pytest.mark.parametrize("norm", ["group", "weight", "none"])
def test_what_convert_makes_in_inference_mode_can_be_trained(norm):
    network = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3))
    with torch.inference_mode():
        convert(network, instantiate(CONFIGS[norm]))
    network(torch.randn(2, 3, 8, 8)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_a_network_that_was_made_in_inference_mode_is_converted_there():
    with torch.inference_mode():
        network = convert(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)), instantiate(CONFIGS["weight"]))
        assert network(torch.randn(2, 3, 8, 8)).shape == (2, 8, 6, 6)


class OfSequences(Norm):
    def sequence(self, num_features: int) -> nn.Module:
        return nn.LayerNorm(num_features)


def test_a_scheme_of_sequences_alone_takes_no_normalization_out():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    with pytest.raises(ValueError, match=r"OfSequences has sequence\(\) alone, which convert does not call"):
        convert(model, OfSequences())
    assert isinstance(model[1], nn.BatchNorm1d)
