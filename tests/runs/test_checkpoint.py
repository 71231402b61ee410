"""A checkpoint holds all of a run's state, exactly."""

from __future__ import annotations

from itertools import repeat

import pytest
import torch
from torch import nn

from normexp.config import compose, options
from normexp.errors import UserError
from normexp.runs.checkpoint import read_checkpoint, write_checkpoint
from normexp.training.build import build_optimizer

X, Y = torch.randn(8, 2, 6, 6, generator=torch.Generator().manual_seed(0)), torch.arange(8) % 3


def fresh(optim: str, *more: str) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    conv = nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 4, 3))
    model = nn.Sequential(conv, nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 3))
    model.to(memory_format=torch.channels_last)
    return model, build_optimizer(compose([f"optim={optim}", *more]), model, torch.device("cpu"))


def advance(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
    losses = []
    for x, y in repeat((X, Y), steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


VARIANTS = {name: (name,) for name in options("optim")}
VARIANTS |= {"rmsprop with momentum": ("rmsprop", "optim.momentum=0.9"), "sgd plain": ("sgd", "optim.momentum=0")}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_checkpoint_continues_to_the_same_bits(variant, tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    model, optimizer = fresh(*variant)
    advance(model, optimizer, 3)
    write_checkpoint(path, model, optimizer, {"losses": torch.ones(2)}, step=3, last_loss=None)
    expected = advance(model, optimizer, 4)

    again, its_optimizer = fresh(*variant)
    torch.rand(5)
    window, facts = read_checkpoint(path, again, its_optimizer)
    assert advance(again, its_optimizer, 4) == expected
    assert (facts, window["losses"].tolist()) == ({"step": 3, "last_loss": None}, [1.0, 1.0])
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_checkpoint_written_again_has_the_same_bytes(variant, tmp_path):
    model, optimizer = fresh(*variant)
    advance(model, optimizer, 2)
    write_checkpoint(tmp_path / "one", model, optimizer, {}, step=2, data="x")
    again, its_optimizer = fresh(*variant)
    read_checkpoint(tmp_path / "one", again, its_optimizer)
    write_checkpoint(tmp_path / "two", again, its_optimizer, {}, step=2, data="x")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_checkpoint_restores_optimizer_state_in_the_memory_format_of_its_parameter(tmp_path):
    model, optimizer = fresh("adam")
    advance(model, optimizer, 1)
    write_checkpoint(tmp_path / "one", model, optimizer, {})
    again, its_optimizer = fresh("adam")
    read_checkpoint(tmp_path / "one", again, its_optimizer)
    for parameter in again.parameters():
        assert its_optimizer.state[parameter]["exp_avg"].stride() == parameter.stride()


@pytest.fixture
def written(tmp_path):
    model, optimizer = fresh("adam")
    advance(model, optimizer, 1)
    path = tmp_path / "checkpoint.safetensors"
    write_checkpoint(path, model, optimizer, {}, step=1)
    return path


DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "other bytes": lambda data: b"\xff" * len(data),
    "no header": lambda data: data[100:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_checkpoint_damaged_is_one_line(written, damage):
    written.write_bytes(damage(written.read_bytes()))
    with pytest.raises(UserError, match="damaged checkpoint") as caught:
        read_checkpoint(written, *fresh("adam"))
    assert str(written) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_checkpoint_missing_is_one_line(tmp_path):
    with pytest.raises(UserError, match="damaged checkpoint"):
        read_checkpoint(tmp_path / "none", *fresh("adam"))


def test_checkpoint_of_another_network_is_refused(written):
    other = nn.Linear(3, 3)
    with pytest.raises(UserError, match="damaged checkpoint"):
        read_checkpoint(written, other, torch.optim.Adam(other.parameters()))
