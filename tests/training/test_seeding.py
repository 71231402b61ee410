"""With one seed every scheme starts from the same weights and sees the same batches."""

import random
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from companions import KINDS
from drawn_weights import drawn_weights
from random_images import random_images

from normexp.config import compose, option, options
from normexp.norms.base import weight_layers
from normexp.seeding import generator, random_states, seeded, stream
from normexp.training.build import build, build_model, build_norm, initialize_from_data

CONVOLUTIONAL = ("cnn", "cnn1d", "convpool", "inception_small", "nin", "torchvision")
NEEDS_MAPS = {name for name in options("norm") if option("norm", name).get("_needs_") == "maps"}
RECURRENT = ("sequence", "text", "token")  # see tests/models
MODELS = [name for name in options("model") if option("model", name)["_accepts_"] not in RECURRENT]
# resnet18 shares a ReLU with its shortcuts, so `convert` refuses what replaces nonlinearities
REFUSED = {("torchvision", norm) for norm in ("evonorm_b0", "evonorm_s0", "filter_response")}
PAIRS = [  # every scheme in a small network, every network with a scheme of each kind
    (m, n)
    for m in MODELS
    for n in options("norm")
    if (m in CONVOLUTIONAL or n not in NEEDS_MAPS)
    and (m, n) not in REFUSED
    and (m in ("cnn", "mlp") or n in KINDS)
    and (m != "vit" or option("norm", n).get("_tokens_"))
]
LARGE = {"torchvision": [pytest.mark.slow]}  # takes longer to build than all others together
each_pair = pytest.mark.parametrize(
    ("model", "norm"), [pytest.param(*pair, marks=LARGE.get(pair[0], []), id="-".join(pair)) for pair in PAIRS]
)


def config_of(model: str, norm: str, *more: str):
    small = ["model.width=0.1"] if model in ("convpool", "inception_small", "nin") else []
    small += ["model.widths=[6,5]"] if model == "mlp" else []
    output = ["model.normalize_output=false"] if norm in ("group", "instance", "filter_response") else []
    return compose(
        [f"model={model}", f"norm={norm}", "batch_size=8", "device=cpu", "threads=1", *small, *output, *more]
    )


def network(model: str, norm: str, seed: int = 0) -> torch.nn.Module:
    config = config_of(model, norm, f"seed={seed}")
    return build_model(config, build_norm(config), (3, 12, 12), 10)


@cache
def plain_network(model: str) -> torch.nn.Module:
    return network(model, "none")


@each_pair
def test_seeding_initial_weights_and_biases_are_those_of_every_other_norm(model, norm):
    ours, plain = network(model, norm), plain_network(model)
    assert len(drawn_weights(ours)) == len(drawn_weights(plain)) > 0
    for one, other in zip(drawn_weights(ours), drawn_weights(plain), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)
    for one, other in zip(weight_layers(ours), weight_layers(plain), strict=True):
        if one.bias is not None and other.bias is not None:
            torch.testing.assert_close(one.bias, other.bias, rtol=0, atol=0)


@pytest.mark.parametrize("norm", ["weight", "weight_mean_only"])
def test_seeding_data_initialization_keeps_the_directions(norm):
    components = build(config_of("cnn", norm), random_images())
    before = drawn_weights(components.model)
    initialize_from_data(components)
    for one, other in zip(drawn_weights(components.model)[:-1], before[:-1], strict=True):
        assert not torch.allclose(one, other)
        direction, expected = (F.normalize(weight.flatten(1), dim=1) for weight in (one, other))
        torch.testing.assert_close(direction, expected)


@pytest.mark.parametrize("model", [pytest.param(model, marks=LARGE.get(model, [])) for model in MODELS])
def test_seeding_seed_0_is_a_seed_and_not_seed_1(model):
    zero, again, one = map(drawn_weights, (plain_network(model), network(model, "none"), network(model, "none", 1)))
    assert all(torch.equal(a, b) for a, b in zip(zero, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(zero, one, strict=True))


def test_seeding_initial_weights_do_not_depend_on_the_state_of_the_process():
    torch.manual_seed(123)
    first = drawn_weights(network("torchvision", "batch"))
    torch.rand(7)
    assert all(torch.equal(a, b) for a, b in zip(first, drawn_weights(network("torchvision", "batch")), strict=True))


@pytest.mark.parametrize("norm", KINDS)
def test_seeding_every_kind_of_norm_sees_the_same_batches(norm):
    augmented = ["dataset.crop=2", "dataset.flip=true"]
    ours = build(config_of("cnn", norm, *augmented), random_images()).batches.from_step(0)
    plain = build(config_of("cnn", "none", *augmented), random_images()).batches.from_step(0)
    for _ in range(12):  # two epochs and a half
        for one, other in zip(next(ours), next(plain), strict=True):
            assert torch.equal(one, other)


def test_seeding_layers_of_one_shape_start_from_different_weights():
    config = compose(["model=mlp", "model.widths=[9,9,9]"])
    _, one, other, _ = drawn_weights(build_model(config, build_norm(config), (9,), 2))
    assert one.shape == other.shape
    assert not torch.isclose(one, other).any()


def test_seeding_initialization_leaves_the_global_stream_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    network("cnn", "weight")
    assert torch.equal(torch.rand(3), expected)


def test_seeding_streams_are_independent():
    names = [(), ("order",), ("order", 0), ("order", 1), ("augmentation", 0), ("noise",), ("initialization", 0)]
    seeds = [stream(seed, *name) for seed in (0, 1, 2**32 - 1) for name in names]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    draws = torch.stack([torch.rand(10_000, generator=torch.Generator().manual_seed(seed)) for seed in seeds])
    correlation = torch.corrcoef(draws) - torch.eye(len(seeds))
    assert correlation.abs().max() < 0.05


def test_seeding_streams_are_the_same_on_every_machine():
    assert stream(0, "order", 3) == 2723741169552378311
    assert torch.randperm(6, generator=generator(0, "order", 3)).tolist() == [2, 5, 0, 3, 1, 4]


def test_seeding_python_and_numpy_are_seeded_by_streams_of_their_own_and_put_back():
    states = random.getstate(), np.random.get_state(legacy=False)
    draws = []
    for seed in (0, 0, 1):
        with seeded(seed, "noise"):
            draws.append((random.random(), np.random.rand()))
    assert draws[0] == draws[1] != draws[2]
    assert len({*draws[0], *draws[2]}) == 4
    assert random.getstate() == states[0]
    np.testing.assert_equal(np.random.get_state(legacy=False), states[1])


def test_seeding_another_generator_of_numpy_is_put_back():
    before = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(np.random.PCG64(1))
        expected = np.random.RandomState(np.random.PCG64(1)).rand()
        with seeded(0, "noise"):
            assert "numpy" not in random_states()
        assert np.random.rand() == expected
    finally:
        np.random.set_bit_generator(before)


def test_seeding_seeded_puts_the_state_back_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), seeded(0, "noise"):
        torch.rand(2) @ torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("model", ["cnn", "mlp", "linear"])
def test_seeding_weights_are_uniform_up_to_the_root_of_the_fan_in(model):
    for weight in drawn_weights(network(model, "none")):
        bound = weight[0].numel() ** -0.5
        assert weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.2)


def test_a_seeded_block_draws_what_torch_draws_after_manual_seed():
    before = torch.random.get_rng_state()
    with seeded(3, "noise"):
        drawn = torch.randn(5)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(stream(3, "noise"))
    assert torch.equal(torch.randn(5), drawn)


def test_a_test_draws_from_one_seed_whatever_ran_before_it():
    assert torch.equal(torch.rand(3), torch.rand(3, generator=torch.Generator().manual_seed(0)))
