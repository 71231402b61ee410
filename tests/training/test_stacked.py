"""Runs of one shape as one batched program: every row is what its run is alone, in float64 but for rounding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.utils import counters

from normexp.config import compose
from normexp.data.loading import Loader
from normexp.norms.base import Norm
from normexp.training.batches import Examples
from normexp.training.build import build, initialize_from_data
from normexp.training.checks.stackable import why_not
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.metrics import evaluate
from normexp.training.process import process_settings
from normexp.training.stacked import Stacked
from normexp.training.task import Classification

RATES = (0.05, 0.01, 0.05)
WORDS = ("dataset=digits", "model=mlp", "model.widths=[12,7]", "batch_size=30", "steps=12", "device=cpu", "threads=1")
STEPS = 12
LOADER = Loader()


class Exact(Classification):
    """Cross-entropy, or the squared error, in the outputs' own type."""

    def num_correct(self, outputs: Tensor, y: Tensor) -> Tensor:
        return outputs.new_zeros(()) if y.is_floating_point() else super().num_correct(outputs, y)

    def loss(self, outputs: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
        return (F.mse_loss if y.is_floating_point() else F.cross_entropy)(outputs, y, reduction=reduction)

    def of_each(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if y.is_floating_point():
            return (outputs - y).square().mean(1), outputs.new_zeros(len(outputs))
        return F.cross_entropy(outputs, y, reduction="none"), outputs.argmax(1) == y


def common(words: Sequence[str]) -> list[str]:
    """Return what all runs have, without the network where these words name one."""
    other = any(word.startswith("model=") for word in words)
    return [word for word in WORDS if not (other and word.startswith("model"))]


def run(*words: str, seed: int = 0) -> Components:
    config = compose([*common(words), f"seed={seed}", *words])
    return build(config, LOADER.load(config), LOADER.examples)


def double(*words: str, seed: int = 0) -> Components:
    """Return a run whose network, examples and loss are in float64."""
    made = run(*words, seed=seed)
    initialize_from_data(made)
    made.model.double()

    made.batches.examples = wide(made.batches.examples)
    return replace(made, task=Exact(), evaluated={"test": wide(made.evaluated["test"])})


@cache
def wide(examples: Examples) -> Examples:
    """Return examples in float64: the same object for the same examples."""
    copied = object.__new__(Examples)
    y = examples.y.double() if examples.y.is_floating_point() else examples.y
    copied.__dict__ |= {**vars(examples), "x": examples.x.double(), "y": y}
    return copied


def runs(*words: str) -> list[Components]:
    return [double(*words, f"optim.lr={rate}", seed=seed) for seed, rate in enumerate(RATES)]


def trained(stacked: Stacked, steps: int = STEPS) -> list[Tensor]:
    """Do some steps; return the losses of each."""
    return [stacked.step(x, y, done)[0] for done, (x, y) in zip(range(steps), stacked.batches(), strict=False)]


STACKED = [
    "none",
    "batch",
    "layer",
    "rms",
    "weight_standard",
    "dynamic_tanh",
    "derf",
    "dyisru",
    "ghost_batch",
    "positional",
    "recurrent_batch",
    "rep_batch",
    "scale_norm",
    "scaled_weight_standard",
    "spectral",
    "ssnorm",
]


CHOICES = {
    **{norm: (f"norm={norm}",) for norm in STACKED},
    "population": ("norm=batch", "norm.estimates=population"),
    "unbiased": ("norm=batch", "norm.var=unbiased", "batch_size=4"),
    "unbiased, no scale": ("norm=batch", "norm.var=unbiased", "norm.affine=false", "batch_size=4"),
    "no scale, no shift": ("norm=batch", "norm.affine=false"),
    "normalized outputs": ("norm=batch", "model.normalize_output=true", "norm.placement=post"),
    "softmax regression": ("model=linear",),
    "adam": ("norm=batch", "optim=adam"),
    "adamw": ("optim=adamw", "optim.weight_decay=0.1"),
    "rmsprop": ("optim=rmsprop", "optim.momentum=0.5"),
    "decay, nesterov, cosine": ("optim.weight_decay=0.01", "optim.nesterov=true", "schedule=cosine"),
    "data that differ": ("dataset=house_prices", "norm=batch"),
    "linear_tail": ("optim=adam", "schedule=linear_tail", "schedule.beta1=0.5"),
}


@pytest.mark.parametrize("words", CHOICES.values(), ids=CHOICES)
def test_every_row_is_what_its_run_is_alone(words):
    alone, stacked = runs(*words), Stacked(runs(*words))
    losses = torch.stack(trained(stacked))
    for row, (single, other) in enumerate(zip(alone, stacked.runs, strict=True)):
        own = [update.loss for update in fit(single, stop=STEPS)]
        torch.testing.assert_close(losses[:, row], torch.stack(own), rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(other.model.state_dict(), single.model.state_dict(), rtol=1e-6, atol=1e-9)
        for each in (single, other):
            each.before_evaluation()
        assert stacked.evaluate("test")[row] == pytest.approx(evaluate(single, [of_test_split(single)]), rel=1e-6)


@pytest.mark.parametrize("words", [("dataset=house_prices", "norm=layer"), ("norm=dynamic_tanh",)], ids=" ".join)
def test_a_stack_is_evaluated_as_each_run_is(words):
    """In float32, with each run's own task: generated targets have a unit for each seed."""
    alone = [run(*words, seed=seed) for seed in range(3)]
    found = Stacked([run(*words, seed=seed) for seed in range(3)]).evaluate("test")
    assert found == [pytest.approx(evaluate(each, [of_test_split(each)]), rel=1e-4) for each in alone]


@pytest.mark.skipif(not hasattr(torch._dynamo.config, "trace_autograd_ops"), reason="torch leaves backward outside")
@pytest.mark.parametrize(
    "words",
    [*(pytest.param((each,), id=each, marks=pytest.mark.slow) for each in ("model=linear", "norm=batch")),
     pytest.param(("norm=layer",), id="norm=layer")],
)  # fmt: skip
def test_a_compiled_stack_is_one_graph_and_learns_the_same(words, monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))  # machine code takes seconds
    plain = torch.stack(trained(Stacked(runs(*words))))
    counters.clear()
    with process_settings(compiled=True):
        compiled = Stacked(runs(*words, "compile=true"))
        torch.testing.assert_close(torch.stack(trained(compiled)), plain, rtol=1e-9, atol=1e-11)
    assert counters["stats"]["unique_graphs"] == 1
    assert compiled.chain is not None


def of_test_split(made: Components) -> tuple[Tensor, Tensor]:
    examples = made.evaluated["test"]
    return examples.take(torch.arange(len(examples)))


def test_optimizers_are_parted_as_single_ones_would_be():
    alone, stacked = runs("optim=adam"), Stacked(runs("optim=adam"))
    trained(stacked)
    stacked.part_optimizers()
    for single, other in zip(alone, stacked.runs, strict=True):
        list(fit(single, stop=STEPS))
        found, wanted = other.optimizer.state_dict()["state"], single.optimizer.state_dict()["state"]
        assert found.keys() == wanted.keys()
        for place, state in wanted.items():
            torch.testing.assert_close(found[place], state, rtol=1e-8, atol=1e-12)


def test_a_row_that_overflows_leaves_the_others_alone():
    rates = ("optim.lr=0.05", "optim.lr=1e6", "optim.lr=0.01")
    words = ("norm=none", "model.activation=identity", "optim.momentum=0")
    stacked = Stacked([run(*words, rate, seed=seed) for seed, rate in enumerate(rates)])
    with_wild = torch.stack(trained(stacked))
    assert not with_wild[:, 1].isfinite().all()
    for row in (0, 2):
        single = run(*words, rates[row], seed=row)
        own = torch.stack([update.loss for update in fit(single, stop=STEPS)])
        assert own.isfinite().all()
        torch.testing.assert_close(with_wild[:, row], own, rtol=1e-3, atol=1e-5)


def test_the_runs_are_not_changed_by_asking():
    pair = [run("norm=batch", seed=seed) for seed in (0, 1)]
    before = [{name: tensor.clone() for name, tensor in each.model.state_dict().items()} for each in pair]
    assert why_not(pair) is None
    for each, state in zip(pair, before, strict=True):
        torch.testing.assert_close(each.model.state_dict(), state, rtol=0, atol=0)


REFUSED = {
    "convolutions": (("model=cnn",), "convolutions are no faster stacked"),
    "decoder": (("dataset=text", "model=gpt", "batch_size=2"), "transformers are no faster stacked"),
    "clip_norm": (("clip_norm=1",), "clip_norm is of one network"),
    "probe": (("probe=gradient_norm",), "probes look at one network"),
    "muon": (("optim=muon",), "Muon does not move every weight by itself"),
    "penalty": (("norm=spectral_penalty",), "the scheme adds to the loss"),
    "bf16": (("precision=bf16",), "precision=bf16 is of single runs"),
    "own backward": (("norm=online",), "torch.vmap: "),
    "no rule in torch": (("norm=weight",), "torch.vmap: "),
}


@pytest.mark.parametrize(("words", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_stacked_says_why(words, reason):
    answer = why_not([run(*words, seed=seed) for seed in (0, 1)])
    assert answer is not None
    assert answer.startswith(reason)


class Scaled(nn.Module):
    """Multiplies by a number of its own, which no stack sees."""

    def __init__(self) -> None:
        super().__init__()
        self.by = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by


@dataclass(frozen=True, kw_only=True)
class Scaling(Norm):
    """A scheme with a number of its own that is no buffer."""

    def normalization(self, num_features: int) -> nn.Module:
        return Scaled()


def test_a_scheme_whose_state_no_stack_sees_is_found_out():
    pair = [run("norm._target_=test_stacked.Scaling", "plugins=[test_stacked]", seed=seed) for seed in (0, 1)]
    pair[1].model.hidden[0][1].by = 0.5  # differs from run to run, which one program cannot
    assert "is not what it is alone" in (why_not(pair) or "")


class Noise(nn.Module):
    """Draws where no stack sees it, too little to be seen in losses."""

    def forward(self, x: Tensor) -> Tensor:
        return x * (1 + 1e-6 * np.random.rand())


@dataclass(frozen=True, kw_only=True)
class Noisy(Norm):
    """A scheme that draws from NumPy's global generator."""

    def normalization(self, num_features: int) -> nn.Module:
        return Noise()


def test_draws_of_numpy_which_a_stack_would_make_once_for_all_are_found_out():
    pair = [run("norm._target_=test_stacked.Noisy", "plugins=[test_stacked]", seed=seed) for seed in (0, 1)]
    assert why_not(pair) == "it draws from NumPy's generator, once for all runs"
