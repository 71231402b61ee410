"""Muon on hidden matrices and AdamW on the rest: who moves what, by how much, and after a restart."""

import copy

import pytest
import torch
from torch import nn

from normexp import run
from normexp.config import compose
from normexp.errors import UserError
from normexp.runs.checkpoint import load_checkpoint, write_checkpoint
from normexp.training.build import build_model, build_norm, build_optimizer
from normexp.training.muon import MATRICES, Muon

GPT = ["dataset=text", "model=gpt", "norm=layer", "optim=muon", "optim.lr=0.01", "model.layers=1", "model.width=16"]


def parts(*more: str):
    config = compose([*GPT, *more])
    model = build_model(config, build_norm(config), (6,), 11)
    return model, build_optimizer(config, model, torch.device("cpu"))


def step(model, optimizer, seed: int = 0) -> None:
    tokens = torch.randint(11, (4, 6), generator=torch.Generator().manual_seed(seed)).float()
    optimizer.zero_grad()
    model(tokens).square().mean().backward()
    optimizer.step()


def names_of(model, group):
    known = {id(parameter): name for name, parameter in model.named_parameters()}
    return {known[id(parameter)] for parameter in group["params"]}


@pytest.mark.parametrize("head", [{"head.weight"}, set()], ids=["a head of its own", "tied to the embedding"])
def test_hidden_matrices_go_to_muon_and_the_rest_to_adamw(head):
    model, optimizer = parts(f"model.tied={not head}")
    matrices, rest = optimizer.param_groups
    assert (matrices[MATRICES], rest[MATRICES]) == (True, False)
    assert names_of(model, matrices) == {
        f"layers.0.{place}.branch.{layer}.weight"
        for place, layer in ((0, "qkv"), (0, "output"), (1, "expand"), (1, "output"))
    }
    assert {"tokens.weight", "positions.weight", *head} <= names_of(model, rest)
    assert names_of(model, matrices) | names_of(model, rest) == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize("model", ["mlp", "vit"])
def test_heads_are_no_hidden_matrices(model):
    config = compose([f"model={model}", "optim=muon"])
    network = build_model(config, build_norm(config), (1, 8, 8), 10)
    by_kind = {group[MATRICES]: names_of(network, group) for group in Muon.groups_of(network)}
    assert "output.weight" in by_kind[False]
    assert all(dict(network.named_parameters())[name].dim() == 2 for name in by_kind[True])


@pytest.mark.parametrize(
    "model", ["cnn", "linear", pytest.param("torchvision model.name=resnet18", marks=pytest.mark.slow)]
)
def test_a_network_of_convolutions_is_not_trained_by_adamw_under_muons_name(model, tmp_path):
    with pytest.raises(UserError, match=r"optim=muon: the network has no hidden linear layer.*; use optim=adamw"):
        run([*f"model={model}".split(), "optim=muon", "steps=1", f"results_dir={tmp_path / 'results'}"])
    assert not (tmp_path / "results").exists()


def test_the_last_layer_is_the_head_of_a_network_that_names_none():
    network = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    matrices, rest = Muon.groups_of(network)
    assert (names_of(network, matrices), names_of(network, rest)) == ({"0.weight"}, {"0.bias", "2.weight", "2.bias"})


def test_the_gains_of_weight_normalization_are_no_matrix():
    network = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), nn.ReLU(), nn.Linear(5, 3))
    assert names_of(network, Muon.groups_of(network)[0]) == {"0.parametrizations.weight.original1"}


def test_a_matrix_moves_along_orthogonal_directions_and_the_rest_as_adamw_does():
    model, optimizer = parts("optim.weight_decay=0.0")
    plain = copy.deepcopy(model)
    adamw = torch.optim.AdamW(plain.parameters(), lr=0.01, weight_decay=0.0)
    before = copy.deepcopy(model.state_dict())
    step(model, optimizer)
    step(plain, adamw)
    torch.testing.assert_close(model.tokens.weight, plain.tokens.weight)
    name = "layers.0.0.branch.output.weight"
    moved = (model.state_dict()[name] - before[name]) / (0.01 * 0.2 * 4)  # 0.2 sqrt(max(16, 16))
    lengths = torch.linalg.svdvals(moved)  # near 1 after five Newton-Schulz steps, but where the gradient has none
    assert 0.5 < lengths[8] <= lengths[0] < 1.4


def test_rates_of_a_schedule_reach_both():
    model, optimizer = parts()
    before = copy.deepcopy(model.state_dict())
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    step(model, optimizer)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_betas_of_a_schedule_reach_adamw():
    ends = []
    for betas in ((0.9, 0.999), (0.5, 0.999)):
        model, optimizer = parts()
        step(model, optimizer)
        for group in optimizer.param_groups:
            group["betas"] = betas
        step(model, optimizer)
        ends.append(model.tokens.weight.detach().clone())
    assert not torch.equal(*ends)


def test_a_restart_ends_in_the_same_bits(tmp_path):
    model, optimizer = parts()
    step(model, optimizer)
    write_checkpoint(tmp_path / "checkpoint", model, optimizer, {})
    step(model, optimizer, 1)
    again, its_optimizer = parts()
    load_checkpoint(tmp_path / "checkpoint", again, its_optimizer).restore(again, its_optimizer)
    step(again, its_optimizer, 1)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in again.state_dict().items())
