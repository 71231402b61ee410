"""Decoders and vision transformers: every placement against its formula, causality, initialization, what is refused."""

import copy
import math

import numpy as np
import pytest
import torch
from one_line import one_line_error
from transformer_equations import Equations

from normexp.config import compose, option, options
from normexp.errors import UserError
from normexp.models.gpt import GPT
from normexp.models.placements.base import Site, layers_of
from normexp.models.placements.mix import Mix
from normexp.models.placements.ngpt import NGPT
from normexp.models.vit import ViT
from normexp.norms.base import Norm, free_weight, weight_layers
from normexp.seeding import seeded
from normexp.training.build import build_model, build_norm, named_norm

PLACEMENTS = options("placement")
NORMALIZING = [name for name in PLACEMENTS if option("placement", name)["_normalizes_"]]
ON_TOKENS = [name for name in options("norm") if option("norm", name).get("_tokens_")]
CAUSAL = [name for name in ON_TOKENS if not option("norm", name)["_batch_statistics_"]]
SMALL = ["dataset=text", "model=gpt", "model.layers=4", "model.heads=2", "model.width=8", "device=cpu"]
GROUPS = {"group": ["norm.num_groups=2"]}
CONTEXT, KINDS = 6, 11
EXACT = {"rtol": 1e-9, "atol": 1e-11}
TOKENS = [3, 1, 4, 1, 5, 9]


def norm_for(placement: str) -> str:
    return "layer" if placement in NORMALIZING else "none"


def gpt(*overrides: str, placement: str = "pre", norm: str | None = None) -> GPT:
    words = [*SMALL, f"placement={placement}", f"norm={norm or norm_for(placement)}", *overrides]
    config = compose(words)
    return build_model(config, build_norm(config), (CONTEXT,), KINDS).double()


def disturbed(model: torch.nn.Module) -> torch.nn.Module:
    """Give every parameter a value at which no term of a formula vanishes."""
    source = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=source, dtype=parameter.dtype))
    return model


def outputs(model: torch.nn.Module, tokens) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([tokens], dtype=torch.float32))[0]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_placement_is_its_formula(placement):
    model = disturbed(gpt(placement=placement))
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    expected = Equations(arrays, 2, 4, placement).outputs(TOKENS)
    np.testing.assert_allclose(outputs(model, TOKENS).numpy(), expected, **EXACT)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("qk_norm", ["none", "layer"])
def test_every_placement_is_its_formula_with_the_other_options_too(placement, qk_norm):
    """Rotary positions, SwiGLU, a head of its own, normalized queries and keys; angles are kept in float32."""
    own = [] if placement in ("reordered", "hybrid", "ngpt") else [f"model.qk_norm={qk_norm}"]
    other = ["model.positions=rotary", "model.feed_forward=swiglu", "model.tied=false", *own]
    model = disturbed(gpt(*other, placement=placement))
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    expected = Equations(arrays, 2, 4, placement).outputs(TOKENS)
    np.testing.assert_allclose(outputs(model, TOKENS).numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_no_position_sees_a_later_token(placement):
    model = disturbed(gpt(placement=placement)).train()
    before, after = outputs(model, TOKENS), outputs(model, [*TOKENS[:4], 0, 2])
    torch.testing.assert_close(after[:4], before[:4], rtol=0, atol=1e-12)
    assert (after[4:] - before[4:]).abs().min() > 1e-9


@pytest.mark.parametrize("norm", CAUSAL)
def test_no_scheme_that_is_allowed_lets_positions_see_later_ones_or_other_examples(norm):
    other = ["model.positions=rotary", "model.feed_forward=swiglu", *GROUPS.get(norm, [])]
    model = disturbed(gpt(*other, norm=norm, placement="peri")).train()
    rows = torch.tensor([TOKENS, [2, 7, 1, 8, 2, 8]], dtype=torch.float32)
    changed = rows.clone()
    changed[0, 4:], changed[1] = 0, 6
    with torch.no_grad():
        before, after = copy.deepcopy(model)(rows), model(changed)  # a power iteration moves in training
    torch.testing.assert_close(after[0, :4], before[0, :4], rtol=0, atol=1e-12)


def test_a_scheme_with_batch_statistics_would_leak():
    """... which is why a decoder refuses it: the rule is not more cautious than it must be."""
    config = compose([*SMALL, "norm=none"])
    model = build_model(config, named_norm("batch"), (CONTEXT,), KINDS).double().train()
    before, after = outputs(model, TOKENS), outputs(model, [*TOKENS[:4], 0, 2])
    assert (after[:4] - before[:4]).abs().max() > 1e-6


def test_rotary_positions_turn_pairs_and_products_depend_on_distances():
    from normexp.models.transformer.positions import Rotary

    turn = Rotary(6, 5).double()
    x = torch.randn(5, 6, dtype=torch.double)
    y = turn(x).numpy()
    for t in range(5):
        for i in range(3):
            z = complex(x[t, i], x[t, i + 3]) * np.exp(1j * t * 10_000 ** (-2 * i / 6))
            np.testing.assert_allclose([y[t, i], y[t, i + 3]], [z.real, z.imag], rtol=1e-6, atol=1e-6)  # float32 angles
    q, k = torch.randn(2, 6, dtype=torch.double)
    products = [float(turn(q.expand(5, 6))[t + 2] @ turn(k.expand(5, 6))[t]) for t in range(3)]
    assert max(products) - min(products) < 1e-6


def test_qk_norm_acts_on_every_head_and_nothing_else():
    plain, normed = gpt(), gpt("model.qk_norm=rms")
    assert sum(p.numel() for p in normed.parameters()) - sum(p.numel() for p in plain.parameters()) == 4 * 2 * 4
    attention = layers_of(normed)[0][0]
    q = attention.query(torch.randn(2, 2, CONTEXT, 4, dtype=torch.double) * 9).detach()
    torch.testing.assert_close(q.square().mean(-1), torch.ones(2, 2, CONTEXT, dtype=torch.double), rtol=1e-4, atol=0)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_weights_are_those_of_every_other_placement_up_to_what_belongs_to_it(placement):
    """Drawn from one stream: a matrix of one placement is a multiple of the same matrix of another, or 0."""
    drawn, placed = gpt(placement="post"), gpt(placement=placement)
    for (attention, ahead), (a, b) in zip(layers_of(drawn), layers_of(placed), strict=True):
        for one, other in ((attention.qkv, a.qkv), (attention.output, a.output), (ahead.expand, b.expand)):
            if placement == "ngpt":
                dim = 0 if one is attention.output else 1
                torch.testing.assert_close(other.weight, torch.nn.functional.normalize(one.weight, dim=dim))
                continue
            ratio = other.weight[0] / one.weight[0]
            torch.testing.assert_close(ratio, ratio[0].expand_as(ratio), rtol=1e-6, atol=0)


FACTORS = {  # of queries and keys, values, outputs and feed-forward's first layer; L = 4
    "none": (1, 1, 8**-0.5, 1),
    "pre": (1, 1, 8**-0.5, 1),
    "hybrid": (1, 1, 8**-0.5, 1),
    "sub": (1, math.sqrt(math.log(8)), math.sqrt(math.log(8)), math.sqrt(math.log(8))),
    "deepnorm": (1, 32**-0.25, 32**-0.25, 32**-0.25),
    "fixup": (8**-0.5, 8**-0.5, 0, 8**-0.5),
}


@pytest.mark.parametrize("placement", [name for name in PLACEMENTS if name != "ngpt"])
def test_initialization_that_belongs_to_a_placement(placement):
    attention, ahead = layers_of(gpt(placement=placement))[2]
    attention0, ahead0 = layers_of(gpt(placement="post"))[2]
    qk, v, output, expand = FACTORS.get(placement, (1, 1, 1, 1))
    torch.testing.assert_close(attention.qkv.weight[:16], qk * attention0.qkv.weight[:16])
    torch.testing.assert_close(attention.qkv.weight[16:], v * attention0.qkv.weight[16:])
    torch.testing.assert_close(attention.output.weight, output * attention0.output.weight)
    torch.testing.assert_close(ahead.output.weight, output * ahead0.output.weight)
    torch.testing.assert_close(ahead.expand.weight, expand * ahead0.expand.weight)


def test_drawn_weights_have_the_deviation_that_is_asked_for():
    model = gpt("model.width=64", "model.init_std=0.05", placement="post")
    assert float(model.tokens.weight.detach().std()) == pytest.approx(0.05, rel=0.1)
    for layer in weight_layers(model):
        assert float(layer.weight.detach().std()) == pytest.approx(0.05, rel=0.1)
        assert not layer.bias.any()


def test_scaled_embedding_is_one_learned_number_times_tokens_and_positions():
    scaled = gpt("model.tied=false", "model.scaled_embedding=true", norm="rms")
    plain = gpt("model.tied=false", norm="rms")
    assert scaled.scale.item() == pytest.approx(math.sqrt(8))
    own = dict(scaled.state_dict())
    factor = own.pop("scale")
    for name in ("tokens.weight", "positions.weight"):
        own[name] = own[name] * factor
    plain.load_state_dict(own)
    torch.testing.assert_close(outputs(scaled, TOKENS), outputs(plain, TOKENS))


@pytest.mark.parametrize("norm", ["weight", "spectral", "weight_standard", "rms"])
def test_a_scheme_shifts_no_initial_weight(norm):
    ours, plain = gpt(norm=norm, placement="post"), gpt(norm="none", placement="post")
    torch.testing.assert_close(ours.tokens.weight, plain.tokens.weight, rtol=0, atol=0)
    torch.testing.assert_close(ours.positions.weight, plain.positions.weight, rtol=0, atol=0)


@pytest.mark.parametrize("placement", ["pre", "deepnorm"])
@pytest.mark.parametrize("norm", ["weight_standard", "scaled_weight_standard", "spectral", "weight"])
def test_the_placement_scales_what_a_weight_is_computed_from(norm, placement):
    """The optimizer moves that: with the computed weight in its place it would be many times as long."""
    plain = gpt(placement=placement, norm="layer")
    model = gpt(placement=placement, norm=norm)
    for one, other in zip(weight_layers(plain), weight_layers(model), strict=True):
        free = other.weight if norm == "weight" else free_weight(other)[1]
        torch.testing.assert_close(free.detach(), one.weight.detach(), rtol=1e-6, atol=1e-8)


def test_other_initializations_draw_the_linear_layers_and_the_placement_still_has_its_say():
    drawn, placed = (gpt("init=glorot", placement=name) for name in ("post", "deepnorm"))
    assert not torch.equal(drawn.layers[0][0].branch.qkv.weight, gpt(placement="post").layers[0][0].branch.qkv.weight)
    torch.testing.assert_close(
        placed.layers[0][0].branch.output.weight, 32**-0.25 * drawn.layers[0][0].branch.output.weight
    )


def test_ngpt_keeps_its_weights_on_the_sphere_in_training():
    from normexp.data.loading import load
    from normexp.training.build import build
    from normexp.training.fit import fit

    config = compose([*SMALL, "placement=ngpt", "dataset.subset=64", "steps=3", "batch_size=8", "optim=adamw"])
    components = build(config, load(config))
    before = layers_of(components.model)[0][0].qkv.weight.detach().clone()
    losses = [float(update.loss) for update in fit(components)]
    after = layers_of(components.model)[0][0]
    assert not torch.allclose(after.qkv.weight, before)
    torch.testing.assert_close(after.qkv.weight.norm(dim=1), torch.ones(24))
    torch.testing.assert_close(after.output.weight.norm(dim=0), torch.ones(8))
    lengths = components.model.tokens.weight.norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones_like(lengths))
    assert all(map(math.isfinite, losses))


@pytest.mark.parametrize("normalized", [False, True])
def test_ngpt_keeps_the_output_layer_of_images_on_the_sphere(normalized):
    model = ViT((1, 8, 8), KINDS, Norm(), NGPT(), layers=1, width=8, heads=2, normalize_output=normalized)
    model.begin()
    (layer,) = weight_layers(model.output)
    torch.testing.assert_close(layer.weight.norm(dim=1), torch.ones(KINDS))


REFUSED = {
    "heads": (["model.heads=3"], "model.width=64: is not divisible by model.heads=3; the nearest is 2"),
    "rotary": (["model.heads=64", "model.positions=rotary"], "a head has 1 features; use another number of heads"),
    "leak": (["norm=batch"], "norm=batch with model=gpt: its statistics run over all positions"),
    "leak in a stack": (["norm=stack", "norm.activations=batch"], "its statistics run over all positions"),
    "leak of queries": (["model.qk_norm=ghost_batch"], "model.qk_norm=ghost_batch with model=gpt: its statistics run"),
    "maps": (["norm=instance"], "norm=instance has no form on the tokens of model=gpt; use one of norm=none, derf"),
    "weights of queries": (
        ["model.qk_norm=weight"],
        "qk_norm=weight: acts on weights.*; use one of model.qk_norm=none, derf",
    ),
    "stack of queries": (["model.qk_norm=stack"], "model.qk_norm=stack: acts on weights, or on nothing, and queries"),
    "another placement": (
        ["norm=rms", "norm.placement=post"],
        "norm.placement=post with model=gpt: .* use placement=post",
    ),
    "own nonlinearity": (["norm=normprop"], "norm=normprop has no form on the tokens of model=gpt"),
    "no place": (["norm=rms", "placement=rezero"], "placement=rezero with norm=rms: it has no place for a scheme on"),
    "sphere": (["norm=weight", "placement=ngpt"], "it sets stream and weights itself; use norm=none"),
    **{  # weights of zeros have no direction, and their standard deviation or largest singular value is 0
        f"zeros under {norm}": ([f"norm={norm}", "placement=fixup"], "its last layers begin as zeros.*; use norm=none$")
        for norm in ("weight", "weight_standard", "scaled_weight_standard", "spectral", "spectral_penalty", "rms")
    },
    "twice": (["norm=rms", "placement=hybrid", "model.qk_norm=rms"], "normalizes queries and keys itself"),
    "unknown": (["model.qk_norm=rsm"], "did you mean rms"),
    "placement": (["placement=pree"], "did you mean pre"),
    "feed-forward": (["model.feed_forward=relu"], "model.feed_forward=relu"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_in_one_line(case):
    overrides, message = REFUSED[case]
    with one_line_error(message):
        compose(["dataset=text", "model=gpt", *overrides])


OTHERS = {
    "placement of a network without a stream": (["model=cnn", "placement=post"], "use model=gpt or model=vit"),
    "queries of a network without attention": (["model=cnn", "model.qk_norm=rms"], "key 'model.qk_norm' does not"),
    "images for a decoder": (["model=gpt"], "needs tokens, but dataset=digits holds images; .* or dataset=text"),
    "text for a convolution": (["dataset=text"], "needs images, but dataset=text holds tokens; use model=gpt"),
    "a placement in a cell": (
        ["dataset=sequential_digits", "model=lstm_classifier", "norm=layer", "norm.placement=post"],
        "norm.placement=post with model=lstm_classifier: .*; leave it out",
    ),
    "queries of a vision transformer": (["model=vit", "model.qk_norm=weight_mean_only"], "model.qk_norm=none, batch, "),
    "a split of a text": (
        ["dataset=text", "model=gpt", "dataset.split_seed=1"],
        "its last ones, nothing is drawn; leave",
    ),
    "inputs of a text": (["dataset=text", "model=gpt", "inputs=standardize"], "use inputs=none"),
}


def test_what_queries_and_keys_cannot_have_is_said_of_their_scheme(tmp_path):
    from normexp.runs.python import run

    with pytest.raises(UserError, match=r"model\.qk_norm=group: normalization over 4 groups needs more than one value"):
        run([*SMALL, "model.qk_norm=group", "steps=1", f"results_dir={tmp_path}"])


def test_a_scheme_is_proposed_for_queries_and_keys_only_if_it_acts_on_them():
    with pytest.raises(UserError) as error:
        compose(["dataset=text", "model=gpt", "model.qk_norm=batch"])
    for name in str(error.value).rpartition("model.qk_norm=")[2].split(", ")[1:]:
        scheme = compose(["dataset=text", "model=gpt", f"model.qk_norm={name}"])
        assert scheme["model"]["qk_norm"] == name
    assert "weight" not in str(error.value)


@pytest.mark.parametrize("case", OTHERS)
def test_parts_that_do_not_fit_are_refused_in_one_line(case):
    overrides, message = OTHERS[case]
    with pytest.raises(UserError, match=message):
        compose(overrides)


@pytest.mark.parametrize(
    ("placement", "norm"), [*((name, norm_for(name)) for name in PLACEMENTS), *(("peri", name) for name in ON_TOKENS)]
)
def test_vit_takes_every_placement_and_every_scheme_on_tokens(placement, norm):
    small = ["model=vit", "model.layers=1", "model.width=8", "model.heads=2"]
    config = compose([*small, f"norm={norm}", f"placement={placement}", *GROUPS.get(norm, [])])
    model = build_model(config, build_norm(config), (1, 8, 8), 10)
    model.train()(torch.randn(4, 1, 8, 8)).sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()] == []


@pytest.mark.parametrize("pool", ["token", "mean"])
def test_vit_reads_patches_in_order(pool):
    config = compose(["model=vit", "norm=layer", f"model.pool={pool}", "model.layers=2"])
    model = build_model(config, build_norm(config), (1, 8, 8), 10).double()
    x = torch.randn(3, 1, 8, 8, dtype=torch.double)
    tokens = model.patches(x).flatten(2).transpose(1, 2)
    by_hand = x.view(3, 2, 4, 2, 4).permute(0, 1, 3, 2, 4).reshape(3, 4, 16) @ model.patches.weight.view(64, 16).T
    torch.testing.assert_close(tokens, by_hand + model.patches.bias)
    if pool == "token":
        tokens = torch.cat([model.own.weight.expand(3, 1, -1), tokens], 1)
    read = model.stream(tokens + model.positions.weight)
    torch.testing.assert_close(model(x), model.output(read.mean(1) if pool == "mean" else read[:, 0]))


def test_vit_refuses_patches_that_do_not_divide_the_image():
    config = compose(["model=vit", "model.patch=3"])
    with pytest.raises(UserError, match=r"model\.patch=3: does not divide images of 8 x 8 pixels"):
        build_model(config, build_norm(config), (1, 8, 8), 10)


def test_two_networks_of_one_seed_are_equal_and_of_two_seeds_are_not():
    first, again, other = (gpt(f"seed={seed}") for seed in (0, 0, 1))
    assert torch.equal(first.tokens.weight, again.tokens.weight)
    assert not torch.equal(first.tokens.weight, other.tokens.weight)


def test_a_text_that_cannot_be_written_leaves_every_module_in_its_mode():
    from normexp.models.transformer.sampling import generate
    from normexp.seeding import generator

    model = gpt().train()
    model.layers[0].eval()
    modes = [each.training for each in model.modules()]
    model.tokens.weight.data.fill_(math.nan)
    with pytest.raises(ValueError, match="not finite"):
        generate(model, torch.tensor([[1, 2]]), 1, CONTEXT, generator(0, "sample"))
    assert [each.training for each in model.modules()] == modes


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_texts_side_by_side_are_those_that_are_written_alone_whatever_the_placement(placement):
    from normexp.models.transformer.sampling import generate
    from normexp.seeding import generator

    with seeded(0, "initialization"):
        model = disturbed(gpt(placement=placement)).train()
    texts, seen = [[1, 7], [2, 3], [5, 0]], []
    hook = model.register_forward_hook(lambda module, given, out: seen.append(out[:, -1].clone()))
    drawn = generate(model, torch.tensor(texts), 9, CONTEXT, generator(0, "sample"))
    cold = generate(model, torch.tensor(texts), 1, CONTEXT, generator(0, "sample"), temperature=1e-6)
    hook.remove()
    assert model.training
    assert torch.equal(cold[:, 0], seen[0].argmax(-1))
    for step in range(9):  # beyond the context, too
        alone = torch.stack([outputs(model, text[-CONTEXT:])[-1] for text in texts])
        torch.testing.assert_close(seen[step], alone, **EXACT)
        texts = [[*text, int(token)] for text, token in zip(texts, drawn[:, step], strict=True)]


@pytest.mark.parametrize(
    ("share", "depth", "post"), [(0.28, 25, 7), (0.07, 100, 7), (0.25, 4, 1), (0.25, 5, 2), (0.0, 4, 0), (1.0, 4, 4)]
)
def test_mix_rounds_up_its_share_and_not_the_rounding_of_a_product(share, depth, post):
    """0.28 * 25 is 7.000000000000001."""
    norm, placement = named_norm("layer"), Mix(share=share)
    made = [placement.residual(torch.nn.Identity(), norm, Site(8, layer, depth)) for layer in range(1, depth + 1)]
    assert [isinstance(each.before, torch.nn.Identity) for each in made] == [True] * post + [False] * (depth - post)
