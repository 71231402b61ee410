"""`compile=norms`: the curves of the ordinary run, one compiled form per shape, and what stays as it is."""

import copy
import logging
from functools import partial

import pytest
import torch
from small_fits import CNN, DIGITS, MLP, compare
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor import config

import normexp
from normexp.config import compose
from normexp.errors import UserError
from normexp.norms.online import Online, normalized
from normexp.training import compiled_norms
from normexp.training.build import named_norm
from normexp.training.compiled_norms import Form, compile_norms
from normexp.training.process import compiler_set, process_settings

ON_MAPS = (
    "derf",
    "dyisru",
    "dynamic_tanh",
    "evonorm_b0",
    "evonorm_s0",
    "filter_response",
    "online",
    "rms",
    "switchable",
)
ON_WEIGHTS = ("weight_standard", "scaled_weight_standard", "normprop", "spectral")


ONE = (*CNN[:1], "model.widths=[8]")  # every shape is compiled by itself, for many seconds


@pytest.fixture(autouse=True)
def graphs_of_plain_torch(request, monkeypatch):
    """Compile to torch's own operators: machine code takes seconds."""
    torch._dynamo.reset()
    counters.clear()
    compiled_norms.compiled.cache_clear()
    if "slow" not in request.keywords:
        monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    yield
    compiled_norms.compiled.cache_clear()


CASES = [(ONE, "switchable"), (ONE, "evonorm_b0"), (CNN, "dynamic_tanh"), (MLP, "online")]  # on maps: the slow ones


@pytest.mark.parametrize(("model", "norm"), [*CASES, (MLP, "group"), *((MLP, norm) for norm in ON_WEIGHTS)])
def test_learns_the_same_under_the_same_names(model, norm):
    compare("compile=norms", *model, f"norm={norm}", *["norm.num_groups=4"] * (norm == "group"))
    assert counters["stats"]["unique_graphs"] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "norm"), [*((ONE, norm) for norm in ON_MAPS), *((MLP, norm) for norm in ON_WEIGHTS)])
def test_learns_the_same_in_machine_code(model, norm):
    compare("compile=norms", *model, f"norm={norm}")
    assert counters["stats"]["unique_graphs"] > 0


def layers(norm, count):
    made = named_norm(norm)
    return nn.Sequential(*(made.normalization(8) for _ in range(count)))


@torch._dynamo.config.patch(recompile_limit=2)
def test_layers_of_one_shape_share_a_compiled_form():
    network = layers("rms", 3)
    compile_norms(network, "rms")
    with process_settings(compiled=True):
        for size in range(4, 8):  # more shapes than the limit above, which is 8 by default
            network(torch.randn(size, 8, 3, 3, requires_grad=True) * 1).sum().backward()
    assert counters["stats"]["unique_graphs"] == 4


def test_evaluation_computes_as_usual():
    network, x = layers("switchable", 1), torch.randn(4, 8, 3, 3)
    expected = copy.deepcopy(network)
    compile_norms(network, "switchable")
    with torch.no_grad():
        assert torch.equal(network(x), expected(x))
    assert torch.equal(network.eval()(x), expected.eval()(x))
    assert not counters["stats"]


def test_a_copy_has_weights_of_its_own():
    network, x = layers("rms", 1), torch.randn(4, 8, 3, 3)
    compile_norms(network, "rms")
    other = copy.deepcopy(network)
    nn.init.zeros_(other[0].weight)
    assert not other(x).any()
    assert network(x).any()


def dense_alone(tensor: torch.Tensor, *, false_if_dde: bool) -> bool:
    return torch._prims_common.is_contiguous(tensor, false_if_dde=false_if_dde)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_maps_in_channels_last_are_compiled_where_the_compiler_writes_no_out_of_such(monkeypatch, caplog, dtype):
    """So it is in torch 2.9, where online normalization of maps computed as usual."""
    monkeypatch.setattr("torch._dynamo.variables.torch._is_supported_out_tensor_layout", dense_alone, raising=False)
    network = layers("online", 1)
    x = torch.randn(4, 8, 5, 3).to(dtype, memory_format=torch.channels_last).requires_grad_()
    usual, cotangent = copy.deepcopy(network), torch.randn(4, 8, 5, 3).to(dtype)
    with caplog.at_level(logging.INFO, "normexp"):
        compile_norms(network, "online")
        with process_settings(compiled=True):
            results = [torch.autograd.grad(each(x), x, cotangent) for each in (network, usual)]
    assert not caplog.messages
    assert counters["stats"]["unique_graphs"] == 2
    torch.testing.assert_close(*results)


class Broken(nn.Module):
    """What the compiler cannot put into one graph."""

    gains_from_compile = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return 2 * x


def test_layer_normalization_computes_as_usual_though_group_normalization_is_compiled():
    """Compiled it took longer: torch has one kernel for vectors, of which the compiler makes several loops."""
    compare("compile=norms", *MLP, "norm=layer")
    assert not counters["stats"]


def test_the_weights_of_a_convolution_are_left():
    layer = named_norm("weight_standard").parametrize(nn.Conv2d(4, 4, 3))
    expected = layer.weight
    compile_norms(nn.Sequential(layer), "weight_standard")
    assert torch.equal(layer.weight, expected)
    assert not counters["stats"]


def broken(layer: nn.Module, *_: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    return normalized(layer, *_)


def test_a_pass_that_cannot_be_compiled_is_said_once(monkeypatch, caplog):
    monkeypatch.setattr(Online, "passes", Online.passes._replace(forward=broken))
    network, x = layers("online", 2), torch.randn(4, 8, 3, 3)
    expected = copy.deepcopy(network)
    with caplog.at_level(logging.INFO, "normexp"):
        compile_norms(network, "online")
        assert torch.equal(network(x), expected(x))
    (message,) = caplog.messages
    assert message.startswith("compile=norms: Online cannot be compiled and computes as usual: ")


def test_what_cannot_be_compiled_is_said_once(caplog):
    network, x = nn.Sequential(Broken(), Broken()), torch.ones(2, 3)
    with caplog.at_level(logging.INFO, "normexp"):
        compile_norms(network, "own")
        for _ in range(2):
            assert torch.equal(network(x), 4 * x)
    (message,) = caplog.messages
    assert message.startswith("compile=norms: Broken cannot be compiled and computes as usual: ")


@pytest.mark.parametrize("norm", ["batch_renorm", "batch", "decorrelated"])
def test_a_scheme_that_gains_nothing_is_named(norm, caplog):
    with caplog.at_level(logging.INFO, "normexp"):
        compile_norms(layers(norm, 2), norm)
    assert caplog.messages == [f"compile=norms: norm={norm} gains nothing by it here, and computes as usual"]


def test_cells_of_a_recurrent_network_are_left():
    step = named_norm("rms").recurrent(8, 3)
    assert not list(compiled_norms.gaining(nn.Sequential(step)))


@pytest.mark.parametrize("word", ["compile=norms", "compile=true"])
def test_without_a_compiler_it_is_one_line_and_nothing_is_written(tmp_path, word):
    refused = pytest.raises(UserError, match=rf"^{word}: needs a C\+\+ compiler, and none was found")
    with config.patch({"cpp.cxx": ("no-such-compiler",)}), refused:
        normexp.run([*DIGITS, *CNN, "norm=rms", word, f"results_dir={tmp_path / 'results'}"])
    assert not (tmp_path / "results").exists()


def test_a_study_is_refused():
    with pytest.raises(UserError, match=r"^compile=norms is for training; study=conditioning needs"):
        compose(["study=conditioning", "compile=norms"])


def test_a_run_of_its_own_is_continued_and_loaded(tmp_path):
    words = [*DIGITS, *CNN, "norm=rms", f"results_dir={tmp_path}"]
    ordinary, compiled = normexp.run(words), normexp.run([*words, "compile=norms"])
    assert ordinary.path != compiled.path
    names = normexp.load_model(ordinary.path).state_dict().keys()
    assert normexp.load_model(compiled.path).state_dict().keys() == names


@pytest.mark.slow
def test_a_function_is_compiled_for_more_shapes_than_torch_allows_by_itself():
    form = Form("twice", twice)
    with compiler_set():
        for size in range(2, 12):
            assert form(torch.ones(size)).tolist() == [2.0] * size
    assert form.chosen is not twice


def twice(x):
    return 2 * x
