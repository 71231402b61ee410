"""Every YAML file in configs/ against the code it names."""

import inspect
import json
from pathlib import Path

import pytest
import torch
from companions import KINDS, companions
from torch import nn

from normexp.config import compose, flat, groups, option, options
from normexp.config.allowed import parse
from normexp.config.instantiate import locate
from normexp.config.options import config_dir, is_description
from normexp.errors import UserError
from normexp.norms.base import weight_layers
from normexp.training.build import build_model, build_norm, named_norm

EXAMPLES = 40  # whitening wants more of them than a group has channels
WHOLE = set(options("norm")) - {"group", "instance", "filter_response"}  # can normalize an output of 10 numbers
FILES = [(group, name) for group in groups() for name in options(group)]
GOLDEN = Path(__file__).parents[1] / "golden" / "parameters.json"
each_file = pytest.mark.parametrize(("group", "name"), FILES, ids=["-".join(file) for file in FILES])


def keys_of(node: dict) -> dict:
    return {key: value for key, value in node.items() if not key.startswith("_")}


def test_config_root_says_what_each_key_is():
    import yaml

    root = yaml.safe_load((config_dir() / "config.yaml").read_text())
    assert set(root["_about_"]) == set(keys_of(root)) - {"defaults"}
    assert set(root["_allowed_"]) <= set(root["_about_"])


def test_config_folders_are_the_groups():
    folders = {path.name for path in config_dir().iterdir() if path.is_dir()}
    assert folders == {*groups(), "experiment", "executor"}  # these two are no part of a run


@each_file
def test_config_composes(group, name):
    assert compose([f"{group}={name}", *companions(group, name)]).choices[group] == name


PASSED_BY_BUILD = {"model": {"input_shape", "num_outputs", "norm", "placement"}, "schedule": {"step", "total"}}
UNBOUNDED = {"inputs-minmax": {"low", "high"}, "inputs-minmax_symmetric": {"low", "high"}}
UNBOUNDED["inputs-binarize"] = {"threshold"}
CHOSEN = {  # where an option chooses other values than its constructor
    ("inputs", "minmax_symmetric"): {"low"},
    ("optim", "sgd"): {"lr", "momentum"},
    ("optim", "rmsprop"): {"lr"},
}
OTHER_DATA = ("sequence", "text", "token")
KNOWN = {"_about_", "_source_", "_allowed_", "_kind_", "_task_", "_chance_"}
KNOWN |= {"_accepts_", "_gives_", "_needs_", "_inputs_", "_recipe_"}
KNOWN |= {"_tokens_", "_placed_", "_causal_", "_normalizes_"}  # of transformers
KNOWN |= {"_masked_by_", "_batch_statistics_", "_works_with_one_", "_gradient_", "_parts_", "_metrics_", "_recurrent_"}
KNOWN |= {"_measures_time_", "_called_", "_own_schemes_", "_in_recurrence_", "_reads_", "_in_order_"}
KNOWN |= {"_step_", "_units_", "_rounding_"}  # of what a study measures
KNOWN |= {"_of_running_averages_", "_unless_", "_outside_recurrence_", "_only_with_", "_split_seed_draws_", "_waits_"}
OF_KEYS = ("_masked_by_", "_in_recurrence_", "_outside_recurrence_", "_of_running_averages_", "_only_with_")
OF_KEYS += ("_split_seed_draws_", "_waits_")


@each_file
def test_config_says_what_the_code_says(group, name):
    """Its keys and values are the parameters and defaults of its target, its ranges hold them, it describes itself."""
    node = option(group, name)
    assert problems(group, name, node, inspect.signature(locate(node["_target_"])).parameters) == []


def problems(group, name, node, parameters):
    """Return all at once what is wrong with a file."""
    keys, leaves, ranges = keys_of(node), flat(keys_of(node)), node.get("_allowed_", {})
    numbers = {key for key, value in leaves.items() if type(value) in (int, float, list)}
    return [
        *(f"{key} is missing or has two lines" for key in ("_about_", "_source_") if not one_line(node.get(key))),
        *(f"{key} is no known description" for key in node if is_description(key) and key not in KNOWN),
        *(f"_allowed_ names {key}, which is no key" for key in set(ranges) - set(leaves)),
        *(f"{about} names {key}, which is no key" for about in OF_KEYS for key in set(node.get(about, ())) - set(keys)),
        *(f"{key} has no such value" for key in no_values(node)),
        *(f"{key}: no range" for key in numbers - set(ranges) - UNBOUNDED.get(f"{group}-{name}", set())),
        *(f"{key}: {error}" for key in set(ranges) & set(leaves) if (error := refused(ranges, leaves, key))),
        *(f"{key}: a key or a parameter alone" for key in unmatched(group, node, keys, parameters)),
        *(
            f"{key}: not the constructor's default"
            for key in changed(keys, parameters) ^ CHOSEN.get((group, name), set())
        ),
        *(problem for part in keys.values() if isinstance(part, dict) for problem in problems_of_part(part)),
        *(problems_of_data(node, keys) if group == "dataset" else ()),
    ]


def problems_of_data(node, keys):
    """Return what a data set does not say of itself; where examples are steps, it says which inputs fit them."""
    needed = {"_kind_", "_task_", "_allowed_"} | ({"_inputs_"} if node.get("_kind_") in OTHER_DATA else set())
    empty = {key for key, value in keys.items() if value is None} - set(node.get("_allowed_", ()))
    return [
        *(f"{key} is missing" for key in needed - set(node)),
        *(f"{key}: no range says that it may be null" for key in empty),
    ]


def no_values(node):
    """Return the keys whose values, with which others do something, cannot be."""
    conditions = [condition for each in node.get("_only_with_", {}).values() for condition in each.items()]
    conditions += [(key, values) for key, values in node.get("_split_seed_draws_", {}).items() if values != "any"]
    return [key for key, values in conditions for value in values if refused(node["_allowed_"], {key: value}, key)]


def one_line(text):
    return bool(text) and "\n" not in text


def refused(ranges, leaves, key):
    try:
        parse(ranges[key], leaves[key]).check(key, leaves[key])
    except UserError as error:
        return str(error)
    return ""


def unmatched(group, node, keys, parameters):
    """Return keys without a parameter, and parameters without a key that build does not pass itself."""
    if group == "optim":  # torch's constructors have more, and more with every version
        return set(keys) - set(parameters)
    ours = PASSED_BY_BUILD.get(group, set())
    if group == "norm":
        ours = {"placement"} - set(node)  # left out where it changes nothing
    if group == "dataset" and node["_task_"] != "regression":
        ours = ours | {"standardize_target"}
    if group == "model":
        ours = ours & set(parameters)
    return set(keys) ^ (set(parameters) - ours)


def changed(keys, parameters):
    """Return the keys whose value is not the default of their parameter."""
    plain = {key: value for key, value in keys.items() if not isinstance(value, dict) and key in parameters}
    defaults = {key: parameters[key].default for key in plain}
    return {
        key
        for key, default in defaults.items()
        if default is not inspect.Parameter.empty
        and (list(default) if isinstance(default, tuple) else default) != plain[key]
    }


def problems_of_part(part):
    """Return what is wrong with a part of a stack: its keys and values are those of its own target."""
    parameters, keys = inspect.signature(locate(part["_target_"])).parameters, keys_of(part)
    alone = set(keys) ^ (set(parameters) - {"placement"})
    return [f"{part['_target_']}: {key}" for key in alone | changed(keys, parameters)]


@pytest.mark.parametrize("norm", options("norm"))
def test_config_names_the_placement_of_every_scheme_that_has_something_to_place(norm):
    made = named_norm(norm)
    places = not isinstance(made.normalization(64), nn.Identity) or norm == "stack"  # whose parts are anybody's
    assert ("placement" in option("norm", norm)) == places
    assert "_batch_statistics_" in option("norm", norm)


IMAGE_MODELS = [name for name in options("model") if option("model", name)["_accepts_"] not in OTHER_DATA]
SHAPES = {"1 channel": (1, 16, 16), "3 channels": (3, 20, 20)}


WIDE = ("convpool", "inception_small", "nin", "resnet_small")  # torchvision's networks are larger still


@pytest.mark.parametrize(
    "model",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in WIDE)) for name in IMAGE_MODELS if name != "torchvision"],
)
def test_config_every_model_runs_with_every_kind_of_norm(model):
    """Images of one channel and of three in turn; the product is among the slow tests."""
    for i, norm in enumerate(KINDS):
        check_shapes(model, norm, [list(SHAPES.values())[i % 2]])


@pytest.mark.slow
@pytest.mark.parametrize("model", IMAGE_MODELS)
def test_config_every_model_runs_with_every_norm(model):
    for norm in options("norm"):
        check_shapes(model, norm, SHAPES.values())


REPLACING = ("evonorm_b0", "evonorm_s0", "filter_response")


def check_shapes(model, norm, shapes):
    if model == "torchvision" and norm in REPLACING:  # resnet18 shares a ReLU with its shortcuts
        with pytest.raises(UserError, match="cannot be converted"):
            instantiate_model(compose([f"model={model}", f"norm={norm}"]), (3, 20, 20))
        return
    linear_output = [] if norm in WHOLE else ["model.normalize_output=false"]
    try:
        config = compose([f"model={model}", f"norm={norm}", *linear_output])
    except UserError:
        needs_maps = (option("norm", norm).get("_needs_"), option("model", model)["_gives_"]) == ("maps", "vectors")
        no_tokens = option("model", model).get("_placed_") and not option("norm", norm).get("_tokens_")
        assert needs_maps or no_tokens
        return
    for shape in shapes:
        with torch.device("meta"):
            network = instantiate_model(config, shape)
            network.train()
            assert network(torch.empty(EXAMPLES, *shape)).shape == (EXAMPLES, 10)
            network.eval()
            assert network(torch.empty(1, *shape)).shape == (1, 10)


def instantiate_model(config, shape, classes: int = 10) -> nn.Module:
    """Build a network on the meta device: shapes without memory, so without initial weights."""
    from normexp.config.instantiate import instantiate

    placed = (
        {"placement": instantiate(config["placement"])}
        if option("model", config.choices["model"]).get("_placed_")
        else {}
    )
    return instantiate(config["model"], input_shape=shape, num_outputs=classes, norm=build_norm(config), **placed)


@pytest.mark.parametrize("norm", options("norm"))
def test_config_every_norm_computes_finite_numbers(norm):
    for model in ("cnn",) if option("norm", norm).get("_needs_") == "maps" else ("cnn", "linear", "mlp"):
        config = compose([f"model={model}", f"norm={norm}", f"model.normalize_output={norm in WHOLE}"])
        scheme = build_norm(config)
        network = build_model(config, scheme, (1, 8, 8), 10)
        batch = torch.randn(EXAMPLES, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        scheme.initialize(network, batch)
        assert network(batch).isfinite().all()
        network.eval()
        assert network(batch[:1]).isfinite().all()


LSTM = ["model=lstm_classifier", "dataset=sequential_mnist", "inputs=none"]
READER = ["model=attentive_reader", "dataset=babi", "inputs=none"]
GPT = ["dataset=text", "model=gpt"]
GPT2 = [*GPT, "model.layers=12", "model.heads=12", "model.width=768"]
SETTINGS = {  # documented settings of the golden file: overrides, input shape, number of classes
    "linear on digits": (["model=linear"], (1, 8, 8), 10),
    "mlp on digits": (["model=mlp"], (1, 8, 8), 10),
    "mlp of Ioffe & Szegedy on MNIST": (["model=mlp", "model.activation=sigmoid"], (1, 28, 28), 10),
    "cnn on digits": (["model=cnn"], (1, 8, 8), 10),
    "cnn on CIFAR-10": (["model=cnn"], (3, 32, 32), 10),
    "cnn1d on MNIST-1D": (["model=cnn1d"], (40,), 10),
    "convpool on CIFAR-10": (["model=convpool"], (3, 32, 32), 10),
    "convpool, half width, on CIFAR-10": (["model=convpool", "model.width=0.5"], (3, 32, 32), 10),
    "small Inception on CIFAR-10": (["model=inception_small"], (3, 32, 32), 10),
    "network in network on CIFAR-10": (["model=nin"], (3, 32, 32), 10),
    "ResNet-20 on CIFAR-10": (["model=resnet_small"], (3, 32, 32), 10),
    "resnet18 on CIFAR-10": (["model=torchvision"], (3, 32, 32), 10),
    "LSTM of Cooijmans et al. on sequential MNIST": ([*LSTM], (784, 1), 10),
    "GRU on sequential MNIST": ([*LSTM, "model.cell=gru"], (784, 1), 10),
    "RNN on sequential MNIST": ([*LSTM, "model.cell=rnn"], (784, 1), 10),
    "attentive reader, 200 words": ([*READER], (80, 3), 200),
    "attentive reader, one direction, norm in the attention": (
        [*READER, "model.bidirectional=false", "model.normalize_attention=true"],
        (80, 3),
        200,
    ),
    "gpt on 65 characters": ([*GPT], (64,), 65),
    "GPT-2, 124M": ([*GPT2], (1024,), 50_257),
    "gpt, rotary, SwiGLU, untied": (
        [*GPT, "model.positions=rotary", "model.feed_forward=swiglu", "model.tied=false"],
        (64,),
        65,
    ),
    "gpt, sub": ([*GPT, "placement=sub"], (64,), 65),
    "vit on CIFAR-10": (["model=vit"], (3, 32, 32), 10),
    "vit on digits, patches of 2, mean": (["model=vit", "model.patch=2", "model.pool=mean"], (1, 8, 8), 10),
}


def count(overrides: list[str], shape: tuple[int, ...], classes: int) -> int:
    config = compose(overrides)
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in instantiate_model(config, shape, classes).parameters())


@pytest.mark.parametrize(
    "setting", [pytest.param(name, marks=[pytest.mark.slow] * name.startswith("resnet18")) for name in SETTINGS]
)
def test_config_parameter_counts_are_those_of_the_golden_file(setting):
    overrides, shape, classes = SETTINGS[setting]
    golden = json.loads(GOLDEN.read_text())[setting]
    assert {norm: count([*overrides, f"norm={norm}"], shape, classes) for norm in golden} == golden


def test_config_golden_file_covers_every_model():
    assert set(json.loads(GOLDEN.read_text())) == set(SETTINGS)
    named = {word for overrides, _, _ in SETTINGS.values() for word in overrides if word.startswith("model=")}
    assert named == {f"model={name}" for name in options("model")}


def test_config_gpt2_has_as_many_parameters_as_published():
    assert count([*GPT2, "norm=layer"], (1024,), 50_257) == 124_439_808


def test_config_convpool_has_as_many_weights_as_in_the_paper():
    with torch.device("meta"):
        network = instantiate_model(compose(["model=convpool"]), (3, 32, 32))
    assert sum(layer.weight.numel() for layer in weight_layers(network)) == 1_405_344


def test_config_cnn_is_small():
    assert 100_000 <= count(["model=cnn"], (3, 32, 32), 10) <= 300_000
