"""A checkpoint holds all of a run's state, exactly."""

import json
import os
import random
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest
import torch
from one_line import one_line_error
from safetensors import safe_open
from safetensors.torch import save
from torch import nn

from normexp.config import compose, options
from normexp.errors import UserError
from normexp.records import Damaged
from normexp.runs import checkpoint
from normexp.runs.checkpoint import Checkpoint, load_checkpoint, read_weights, write_checkpoint
from normexp.runs.checkpoint_form import check_facts
from normexp.runs.optimizer_state import check_own_optimizer, kinds_by_parameter
from normexp.seeding import random_kept
from normexp.training.build import build_optimizer

X, Y = torch.randn(8, 2, 6, 6, generator=torch.Generator().manual_seed(0)), torch.arange(8) % 3


def restored(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Checkpoint:
    saved = load_checkpoint(path, model, optimizer)
    saved.restore(model, optimizer)
    return saved


def fresh(optim: str, *more: str) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    conv = nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 4, 3))
    model = nn.Sequential(
        conv, nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 8), nn.Linear(8, 3)
    )
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


class GroupedSGD(torch.optim.SGD):
    """Has settings of its own for matrices."""

    @staticmethod
    def groups_of(model):
        matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
        rest = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
        return [{"params": rest}, {"params": matrices, "momentum": 0.9}]


class RowSGD(torch.optim.SGD):
    """Keeps a number of every row, and a square matrix of every parameter."""

    def step(self, closure=None):
        for parameter in (each for group in self.param_groups for each in group["params"]):
            rows, state = parameter.grad.reshape(len(parameter), -1), self.state[parameter]
            state["rows"] = state.get("rows", torch.zeros(len(rows))) + rows.square().sum(1)
            state["square"] = state.get("square", torch.eye(len(rows))) + rows @ rows.T
            parameter.grad /= (1 + state["rows"] + state["square"].sum(1)).view(-1, *[1] * (parameter.dim() - 1))
        super().step(closure)


class DoubleSGD(torch.optim.SGD):
    """Averages gradients in float64, and keeps their last signs as whole numbers."""

    def step(self, closure=None):
        for parameter in (each for group in self.param_groups for each in group["params"]):
            state = self.state[parameter]
            before = state.get("mean", torch.zeros_like(parameter, dtype=torch.float64))
            state["mean"], state["sign"] = 0.9 * before + parameter.grad, parameter.grad.sign().to(torch.int8)
            parameter.grad.copy_(state["mean"])
        super().step(closure)


class LateSGD(torch.optim.SGD):
    """Makes slow weights, and a rate, when they are first needed."""

    def step(self, closure=None):
        super().step(closure)
        for parameter in (each for group in self.param_groups for each in group["params"]):
            state = self.state[parameter]
            state["steps"] = state.get("steps", 0) + 1
            if state["steps"] > 1:
                state["rate"] = 0.9 * state.get("rate", 1.0)
                state["slow"] = state.get("slow", parameter.detach()).lerp(parameter.detach(), state["rate"])
                parameter.data.copy_(state["slow"])


class ComplexSGD(torch.optim.SGD):
    """Keeps what no checkpoint can hold."""

    def step(self, closure=None):
        super().step(closure)
        for parameter in (each for group in self.param_groups for each in group["params"]):
            self.state[parameter]["waves"] = torch.zeros_like(parameter, dtype=torch.complex128)


VARIANTS = {name: (name,) for name in options("optim")}
LIKE_TORCH = ("Adafactor", "NAdam", "ASGD", "Rprop", "RAdam", "Adadelta", "Adamax")
VARIANTS |= {name: (f"torch.optim.{name}", "optim.lr=0.01") for name in LIKE_TORCH}
OWN = ("optim.lr=0.01", "plugins=[test_checkpoint]")
VARIANTS |= {name: (f"test_checkpoint.{name}", *OWN) for name in ("GroupedSGD", "RowSGD", "DoubleSGD", "LateSGD")}
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
    saved = restored(path, again, its_optimizer)
    assert advance(again, its_optimizer, 4) == expected
    assert (saved.facts, saved.part("window")["losses"].tolist()) == ({"step": 3, "last_loss": None}, [1.0, 1.0])
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_checkpoint_written_again_has_the_same_bytes(variant, tmp_path):
    model, optimizer = fresh(*variant)
    advance(model, optimizer, 2)
    write_checkpoint(tmp_path / "one", model, optimizer, {}, step=2, data="x")
    again, its_optimizer = fresh(*variant)
    restored(tmp_path / "one", again, its_optimizer)
    write_checkpoint(tmp_path / "two", again, its_optimizer, {}, step=2, data="x")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_checkpoint_restores_optimizer_state_in_the_memory_format_of_its_parameter(tmp_path):
    model, optimizer = fresh("adam")
    advance(model, optimizer, 1)
    write_checkpoint(tmp_path / "one", model, optimizer, {})
    again, its_optimizer = fresh("adam")
    restored(tmp_path / "one", again, its_optimizer)
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
    with one_line_error(r"damaged \(") as caught:
        restored(written, *fresh("adam"))
    assert str(written) in str(caught.value)


def test_checkpoint_missing_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"damaged \("):
        restored(tmp_path / "none", *fresh("adam"))


def test_checkpoint_of_another_network_is_refused(written):
    other = nn.Linear(3, 3)
    with pytest.raises(UserError, match=r"damaged \("):
        restored(written, other, torch.optim.Adam(other.parameters()))


# --- Hostile or damaged entries: refused before anything is changed. ---


def rewritten(path, change) -> None:
    """Write a checkpoint again with other entries, and the checksum that belongs to them."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        facts = json.loads(file.metadata()["facts"])
    facts.pop("sha256")
    change(tensors)
    described = json.dumps({**facts, "sha256": checkpoint._digest(tensors, facts)}, sort_keys=True)
    path.write_bytes(save(tensors, metadata={"facts": described}))


FORMS = {
    "unknown part": lambda t: t.update({"other/x": torch.ones(1)}),
    "unknown weight": lambda t: t.update({"model/9.weight": torch.ones(1)}),
    "missing weight": lambda t: t.pop("model/5.weight"),
    "weight of another shape": lambda t: t.update({"model/5.bias": torch.ones(4)}),
    "weight of another type": lambda t: t.update({"model/5.bias": torch.ones(3, dtype=torch.float64)}),
    "buffer of another shape": lambda t: t.update({"model/1.running_mean": torch.ones(1)}),
    "no optimizer": lambda t: [t.pop(name) for name in list(t) if name.startswith("optimizer/")],
    "unknown parameter": lambda t: t.update({"optimizer/999/exp_avg": torch.ones(1)}),
    "negative parameter": lambda t: t.update({"optimizer/-1/exp_avg": torch.ones(1)}),
    "unknown moment": lambda t: t.update({"optimizer/0/other": torch.ones(1)}),
    "missing moment": lambda t: t.pop("optimizer/0/exp_avg"),
    "moment of another shape": lambda t: t.update({"optimizer/0/exp_avg": torch.ones(2, 2)}),
    "no random state": lambda t: t.pop("random/cpu"),
    "short random state": lambda t: t.update({"random/cpu": torch.zeros(5, dtype=torch.uint8)}),
    "short state of NumPy": lambda t: t.update({"random/numpy": torch.zeros(5, dtype=torch.int64)}),
    "place outside NumPy's state": lambda t: t["random/numpy"].__setitem__(624, 10**6),
    "negative words of Python": lambda t: t["random/python"].__setitem__(3, -1),
    "unknown random state": lambda t: t.update({"random/tpu": torch.zeros(5, dtype=torch.uint8)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_checkpoint_with_other_entries_is_refused_before_anything_is_changed(written, form):
    rewritten(written, FORMS[form])
    model, optimizer = fresh("adam")
    before, drawn = {n: t.clone() for n, t in model.state_dict().items()}, torch.get_rng_state()
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: damaged \(") as caught:
        restored(written, model, optimizer)
    assert str(caught.value).isprintable()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert torch.equal(drawn, torch.get_rng_state())
    assert not optimizer.state


def drawn_by_all() -> list[float]:
    return [float(torch.rand(())), random.gauss(0, 1), random.random(), float(np.random.randn()), np.random.rand()]


def test_checkpoint_continues_what_python_and_numpy_draw(tmp_path):
    with random_kept():
        drawn_by_all()  # half of a pair of normal numbers is left
        model, optimizer = fresh("adam")
        advance(model, optimizer, 1)
        write_checkpoint(tmp_path / "one", model, optimizer, {})
        torch.manual_seed(0)  # which `fresh` has set
        expected = drawn_by_all()
        random.seed(3), np.random.seed(3)
        restored(tmp_path / "one", *fresh("adam"))
        torch.manual_seed(0)
        assert drawn_by_all() == expected


def test_checkpoint_of_a_version_without_their_states_is_taken_and_seeds_them(written):
    rewritten(written, lambda tensors: [tensors.pop(f"random/{name}") for name in ("python", "numpy")])
    with random_kept():
        draws = []
        for seed in (1, 2):
            random.seed(seed), np.random.seed(seed)
            restored(written, *fresh("adam"))
            draws.append(drawn_by_all()[1:])
    assert draws[0] == draws[1]


def test_checkpoint_rewritten_as_it_was_is_taken(written):
    rewritten(written, lambda tensors: None)
    restored(written, *fresh("adam"))


@pytest.mark.parametrize("kind", ["link", "fifo", "sparse", "directory", "long header", "deep header"])
def test_checkpoint_that_is_no_plain_file_is_refused(written, kind):
    data = written.read_bytes()
    written.unlink()
    if kind == "link":
        written.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(written)
    elif kind == "directory":
        written.mkdir()
    elif kind == "sparse":
        with written.open("wb") as file:
            file.truncate(2**40)
    elif kind == "long header":
        written.write_bytes((2**63).to_bytes(8, "little") + data[8:])
    else:
        written.write_bytes((100_000).to_bytes(8, "little") + b"[" * 100_000)
    with pytest.raises(Damaged, match=rf"checkpoint\.safetensors: {'too large' if kind == 'sparse' else 'damaged'} "):
        restored(written, *fresh("adam"))


GOOD = {"step": 5, "last_loss": 0.5, "data": "x", "threads": 1, "curves": {"metrics.csv": [1, "a"]}}
WINDOW = {"losses": torch.ones(2), "hits": torch.tensor(3.0)}


def test_facts_that_can_be_are_taken():
    check_facts(GOOD, WINDOW, 10, 4)
    check_facts({**GOOD, "last_loss": None}, WINDOW, 10, 4)


@pytest.mark.parametrize(
    ("facts", "window"),
    [({"step": "5"}, {}), ({"step": 11}, {}), ({"step": None}, {}), ({"last_loss": "x"}, {}), ({"data": None}, {}),
     ({"last_loss": float("nan")}, {}), ({"threads": 10**6}, {}), ({"threads": 0}, {}), ({"curves": {"a": 1}}, {}),
     ({"curves": {"a": ["x", 1]}}, {}), ({"curves": []}, {}), ({}, {"losses": torch.ones(5)}), ({"step": 1}, {}),
     ({}, {"losses": torch.ones(())}), ({}, {"losses": torch.ones(2, 2)}), ({}, {"losses": None}),
     ({}, {"hits": torch.ones(2)}), ({}, {"hits": None})],
)  # fmt: skip
def test_facts_that_cannot_be_are_refused(facts, window):
    with pytest.raises(ValueError, match=r"its|it "):
        check_facts({**GOOD, **facts}, {**WINDOW, **window}, 10, 4)


@pytest.mark.parametrize("lost", ["step", "last_loss", "data"])
def test_facts_that_lack_one_are_refused(lost):
    with pytest.raises(ValueError, match=r"its|it "):
        check_facts({key: value for key, value in GOOD.items() if key != lost}, WINDOW, 10, 4)


@pytest.mark.parametrize("curves", [[], {"metrics.csv": []}, {"metrics.csv": 1}])
def test_weights_beside_curves_that_nobody_could_know_are_refused(tmp_path, curves):
    model, optimizer = fresh("adam")
    write_checkpoint(tmp_path / "one", model, optimizer, {}, curves=curves)
    with pytest.raises(Damaged, match=r"one: damaged"):
        read_weights(tmp_path / "one", model)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_names_of_the_optimizers_state_are_known(variant):
    model, optimizer = fresh(*variant)
    advance(model, optimizer, 1)
    kept = {name for state in optimizer.state.values() for name, value in state.items() if value is not None}
    assert set().union(*kinds_by_parameter(optimizer)) == kept


def test_an_optimizer_continues_with_what_it_had_in_every_type(tmp_path):
    for name in ("DoubleSGD", "LateSGD"):
        model, optimizer = fresh(*VARIANTS[name])
        advance(model, optimizer, 3)
        write_checkpoint(tmp_path / name, model, optimizer, {})
        again, its_optimizer = fresh(*VARIANTS[name])
        restored(tmp_path / name, again, its_optimizer)
        for state, its in zip(optimizer.state.values(), its_optimizer.state.values(), strict=True):
            assert {key: (type(value), getattr(value, "dtype", value)) for key, value in state.items()} == {
                key: (type(value), getattr(value, "dtype", value)) for key, value in its.items()
            }


def test_late_state_is_that_of_an_own_optimizer_alone(tmp_path):
    model, optimizer = fresh("sgd")
    advance(model, optimizer, 1)
    next(iter(optimizer.state.values()))["slow"] = torch.zeros(())
    write_checkpoint(tmp_path / "one", model, optimizer, {})
    with one_line_error(r"optimizer/0/slow is unknown"):
        restored(tmp_path / "one", *fresh("sgd"))


def test_state_that_no_checkpoint_can_hold_is_refused():
    with one_line_error(
        r"ComplexSGD: remembers self.state\[parameter\]\['waves'\] of type torch.complex128; a checkpoint"
    ):
        check_own_optimizer(fresh("test_checkpoint.ComplexSGD", *OWN)[1])
