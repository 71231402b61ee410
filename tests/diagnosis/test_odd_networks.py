"""Networks that change themselves, checkpoint, are complex or compiled: what a diagnosis leaves and says."""

import copy
import re
from threading import Event, Thread

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from normexp.diagnosis.batches import first_tensor, on_device_of
from normexp.diagnosis.diagnose import diagnose
from normexp.diagnosis.repair import recalibrate, to_groups
from normexp.errors import UserError


class Base(nn.Module):
    """A Linear layer, batch normalization, and another Linear layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm, self.last = nn.Linear(8, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.first(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.hidden(x))


class ChangesItself(Base):
    """Writes into parameters, plain tensors, lists and numbers, registers a buffer, and draws, in either mode."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(6), requires_grad=False)
        self.average, self.calls, self.cache, self.history = torch.zeros(6), 0, {}, [torch.zeros(6)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.hidden(x)
        mean = y.detach().mean(0) + 1
        self.codes.data.lerp_(mean, 0.5)
        self.first.weight.requires_grad_(self.training)
        self.average = 0.5 * self.average + mean
        self.history[0].add_(mean)
        self.cache["y"], self.calls = y, self.calls + 1
        self.register_buffer("seen", mean)
        return self.last(functional.dropout(y, 0.1) + self.codes)


def seen(model: nn.Module) -> dict[str, object]:
    """What a network holds by name, and torch's generator."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    flags = {name: (each.requires_grad, each.grad) for name, each in model.named_parameters()}
    plain = {name: copy.deepcopy(vars(model)[name]) for name in ("average", "calls", "cache", "history")}
    return {**state, "flags": flags, **plain, "draws": torch.get_rng_state()}


@pytest.mark.parametrize("passes", [diagnose, recalibrate])
def test_a_network_that_changes_itself_is_as_it_was(passes):
    """Its buffers alone were put back: parameters, plain tensors and counters had moved by dozens of passes."""
    model, x = ChangesItself(), torch.randn(32, 8)
    model.last.weight.grad = torch.ones(2, 6)
    before, average, graph = seen(model), model.average, functional.linear(torch.ones(6), model.last.weight).sum()
    passes(model, x)
    after = seen(model)
    moved = {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"} if passes is recalibrate else set()
    torch.testing.assert_close(*({k: v for k, v in each.items() if k not in moved} for each in (after, before)))
    assert model.average is average
    graph.backward()  # torch would refuse if the weight had been written into


def test_an_embedding_with_a_largest_norm_keeps_its_weights():
    model = nn.Sequential(nn.Embedding(9, 4, max_norm=0.1), nn.LayerNorm(4), nn.Linear(4, 2))
    before = model[0].weight.detach().clone()
    diagnose(model, torch.randint(9, (8, 5)))
    assert torch.equal(model[0].weight, before)


def test_a_buffer_whose_places_share_memory_may_stay():
    """torch does not write into it, and putting it back ended in torch's error."""
    model = Base()
    model.register_buffer("ids", torch.zeros(1).expand(5))
    assert diagnose(model, torch.randn(32, 8)).layers


class Checkpointed(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.hidden, x, use_reentrant=False))


def test_checkpointing_changes_no_number():
    """The way back had called the part again with the usual weight: a scale-invariant one was called saturated."""
    x, settings = torch.randn(32, 8), {"lr": 0.1}
    plain, checkpointed = (diagnose(kind(), x, settings) for kind in (Base, Checkpointed))
    assert "effective_rate" in plain.weights["first.weight"]
    assert checkpointed.weights == plain.weights


class Reentrant(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.norm, self.first(x), use_reentrant=True))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_network_that_gives_no_gradients_is_one_line():
    with pytest.raises(UserError, match="the network's gradients cannot be taken: When use_reentrant=True"):
        diagnose(Reentrant(), torch.randn(32, 8))


class Complex(Base):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 6, dtype=torch.cfloat)

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.first(x.to(torch.cfloat)).abs())


def test_a_complex_weight_has_the_norm_of_both_parts():
    """That of the real parts alone was printed, under a warning of torch."""
    model = Complex()
    found = diagnose(model, torch.randn(32, 8)).weights["first.weight"]["squared_norm"]
    assert found == pytest.approx(float(model.first.weight.detach().abs().square().sum()))


def test_data_keep_their_type_where_weights_are_no_real_numbers():
    """They had become complex, or whole numbers."""
    whole = nn.ParameterList([nn.Parameter(torch.zeros(2, dtype=torch.int8), requires_grad=False)])
    for model in (nn.Linear(2, 2, dtype=torch.cfloat), whole):
        assert on_device_of(model, [torch.full((1, 2), 0.5)])[0].tolist() == [[0.5, 0.5]]


def test_the_modes_are_compared_before_a_pass_in_train_moves_estimates():
    model, x = Base(), 3 * torch.randn(32, 8) + 2
    model.norm.momentum = 1.0
    found = diagnose(model, x).summary["train_eval_difference_of_outputs"]
    with torch.no_grad():
        evaluated, trained = model.eval()(x), model.train()(x)
    assert found == pytest.approx(float((trained - evaluated).norm() / evaluated.norm()), rel=1e-5)


class ByMode(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return y if self.training else self.other(y)


@pytest.mark.parametrize("other", [lambda y: y.mean(), lambda y: torch.cat([y, y], 1)], ids=["loss", "wider"])
def test_outputs_of_another_shape_have_no_difference(other):
    """A number came of spreading one over the other, or torch's error where that cannot be."""
    model = ByMode()
    model.other = other
    assert "train_eval_difference_of_outputs" not in diagnose(model, torch.randn(32, 8)).summary


def test_classes_are_no_outputs_to_be_measured():
    scores = torch.randn(3, 2)
    assert first_tensor({"labels": scores.argmax(1), "scores": scores}) is scores
    assert first_tensor(torch.complex(scores, scores)).shape == (3, 2, 2)
    with pytest.raises(UserError, match=r"returns a tensor of int64; a tensor in floating point is needed"):
        first_tensor(scores.argmax(1))


class HidesInTraining(Base):
    def __init__(self) -> None:
        super().__init__()
        self.hides = [nn.BatchNorm1d(6)]

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        return self.hides[0](super().hidden(x)) if self.training else super().hidden(x)


def test_a_layer_in_a_list_that_train_alone_calls_is_named_and_kept():
    model = HidesInTraining()
    before = copy.deepcopy(model.hides[0].state_dict())
    assert ("not registered", "hides") in {
        (each.kind, each.layer) for each in diagnose(model, torch.randn(32, 8)).faults
    }
    assert all(torch.equal(value, before[name]) for name, value in model.hides[0].state_dict().items())


class MakesALayer(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(self, "made"):
            self.made = nn.Linear(2, 2)
        return self.made(super().forward(x))


class Differentiates(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.clone().requires_grad_()
        return torch.autograd.grad(super().forward(x).sum(), x)[0]


class ByForward(Base):
    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm.forward(self.first(x))


def compiled_in_place() -> nn.Module:
    model = Base()
    model.norm.compile()
    return model


def without_gradients() -> nn.Module:
    with torch.inference_mode():
        return Base()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (MakesALayer, "model: makes a Linear when it is called first; pass a batch through it before this"),
        (
            Differentiates,
            "it is called under torch.no_grad(), so a forward that differentiates needs torch.enable_grad()",
        ),
        (compiled_in_place, "model: norm is compiled by its compile(), so it cannot be watched"),
        (
            lambda: nn.Sequential(torch.compile(Base())),
            "model: 0 is compiled by torch.compile, so it cannot be watched",
        ),
        (without_gradients, "model: made in torch.inference_mode(), so it has no gradients; give copy.deepcopy(model)"),
    ],
    ids=["makes a layer", "differentiates", "compiled in place", "compiled", "without gradients"],
)
def test_what_cannot_be_looked_at_is_one_line_and_stays(make, why):
    model = make()
    parts = list(model.modules())
    with pytest.raises(UserError, match=re.escape(why)):
        diagnose(model, torch.randn(32, 8))
    assert list(model.modules()) == parts


def test_a_copy_of_a_network_without_gradients_has_them():
    assert diagnose(copy.deepcopy(without_gradients()), torch.randn(32, 8)).summary["scale_invariant_weights"] == 1


def test_a_layer_whose_forward_is_called_is_not_said_to_have_no_input():
    (note,) = [each for each in diagnose(ByForward(), torch.randn(32, 8)).findings if each.kind == "never called"]
    assert note.text == "no call comes here; one of its forward() and reading its numbers are not seen"
    with pytest.raises(UserError, match="norm: no call comes here"):
        recalibrate(ByForward(), torch.randn(32, 8))


MODES = (torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16), lambda: torch.device("meta"))


@pytest.mark.parametrize("inside", MODES, ids=["inference", "autocast", "device"])
def test_a_diagnosis_is_the_same_in_whatever_mode_of_torch(inside):
    """Without gradients, or with rounded ones, a scale-invariant weight was called saturated."""
    model, x = Base(), torch.randn(32, 8)
    with inside():
        found = diagnose(model, x + 0).weights
    assert found == diagnose(model, x).weights


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"learning_rate": 0.1}, r"'learning_rate' does not exist; allowed: lr, momentum, weight_decay"),
        ({"lr": "0.1"}, r"lr='0\.1': must be a number from 0"),
        ({"lr": True}, "lr=True: must be a number from 0"),
        ({"lr": 0.1, "momentum": 1}, r"momentum=1: must be in \[0, 1\)"),
        (0.1, r"settings=0\.1: must be a dictionary"),
    ],
    ids=["name", "word", "truth", "range", "number"],
)
def test_settings_that_are_none_are_one_line(settings, why):
    with pytest.raises(UserError, match=why):
        diagnose(Base(), torch.randn(32, 8), settings)


def test_sparse_data_are_one_line():
    with pytest.raises(UserError, match="a batch is sparse"):
        diagnose(Base(), torch.eye(8).to_sparse())


def test_a_refused_repair_names_no_scheme_and_no_option_that_it_does_not_have():
    with pytest.raises(
        UserError, match=r"^Sequential cannot be converted to group normalization: 1 \(LayerNorm\)"
    ) as error:
        to_groups(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2)))
    assert "strict" not in str(error.value)


class Centers(Base):
    """Writes into the batch that it is given, as `x -= mean` does."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x -= 0.5
        return super().forward(x)


def test_a_network_that_writes_into_its_batch_gets_a_copy_at_every_call() -> None:
    torch.manual_seed(1)
    batch = torch.randn(64, 8)
    before, plain, writing = batch.clone(), Base(), Centers()
    recalibrate(plain, batch - 0.5)
    recalibrate(writing, batch)
    assert torch.equal(batch, before)
    assert torch.equal(writing.norm.running_mean, plain.norm.running_mean)
    assert not diagnose(writing, batch).faults
    assert torch.equal(batch, before)


def test_what_another_thread_calls_meanwhile_is_no_layer_of_the_network():
    """Its layers were said to be called and not registered."""
    other, x, stop = Base(), torch.randn(32, 8), Event()

    def call() -> None:
        while not stop.is_set():
            other(x)

    caller = Thread(target=call)
    caller.start()
    try:
        found = diagnose(Base(), x).findings
    finally:
        stop.set()
        caller.join()
    assert "not registered" not in {each.kind for each in found}


def test_numbers_of_numpy_are_settings():
    assert diagnose(Base(), torch.randn(32, 8), {"lr": np.float32(0.1), "momentum": np.float64(0.9)}).weights
