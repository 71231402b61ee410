"""A network is tried on a few examples before a run begins; a scheme that needs more of them is tried on a batch."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from normexp.config import compose
from normexp.data.base import Data, Dataset, Split
from normexp.data.loading import Loader
from normexp.errors import UserError
from normexp.norms import BatchNorm
from normexp.norms.base import Norm
from normexp.training.build import build
from normexp.training.checks.trial import TRIAL_EXAMPLES

WHITENING = ["model=mlp", "dataset=digits", "norm=decorrelated", "norm.group_size=50", "threads=1"]


def tried(*overrides: str) -> int:
    """Build a run; return its updates."""
    config = compose([*WHITENING, *overrides])
    return build(config, Loader().load(config)).steps


def test_a_batch_that_is_large_enough_is_taken_though_few_examples_are_not() -> None:
    assert TRIAL_EXAMPLES < 50
    assert tried("batch_size=128", "steps=3") == 3


def test_a_batch_that_is_too_small_is_refused_with_its_own_size() -> None:
    with pytest.raises(UserError, match=r"needs more than 50 values per channel .* input has shape \(40, 100\)$"):
        tried("batch_size=40")


@dataclass(frozen=True, kw_only=True)
class OwnBatch(BatchNorm):
    """Statistics over all positions, and then what follows them, under a class that says nothing of it."""


@dataclass(frozen=True, kw_only=True)
class OwnLayer(Norm):
    def normalization(self, num_features):
        return nn.GroupNorm(1, num_features)


class Decoder(nn.Module):
    def __init__(self, input_shape, num_outputs, norm, masked):
        super().__init__()
        self.tokens, self.masked = nn.Embedding(num_outputs, 8), masked
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.head = nn.Linear(8, num_outputs)
        nn.init.zeros_(self.head.weight)  # which hides at first what it sees
        self.mask = nn.Transformer.generate_square_subsequent_mask(input_shape[0])

    def forward(self, x):
        return self.head(self.layer(self.tokens(x.long()), self.mask if self.masked else None))


GPT = ["model=gpt", "model.layers=1", "model.heads=2", "model.width=8", "batch_size=4", "plugins=[test_trial]"]
SEES_LATER = {
    "batch statistics": (["norm=test_trial.OwnBatch"], True),
    "each position alone": (["norm=test_trial.OwnLayer"], False),
    "no mask": (["model=test_trial.Decoder", "model.masked=false"], True),
    "a mask": (["model=test_trial.Decoder", "model.masked=true"], False),
}


@pytest.mark.parametrize(("words", "refused"), SEES_LATER.values(), ids=SEES_LATER)
def test_an_own_part_by_which_a_position_sees_later_ones_is_refused(words, refused) -> None:
    own_model = words[0].startswith("model=")
    config = compose(["dataset=text", "dataset.context=16", *(GPT[4:] if own_model else GPT), *words])
    if not refused:
        build(config, Loader().load(config))
        return
    with pytest.raises(UserError, match=r"dataset=text: the output of a position changes with later tokens, which it"):
        build(config, Loader().load(config))


def test_an_own_part_may_see_later_tokens_where_these_are_no_targets() -> None:
    config = compose(["dataset=text", "dataset.context=16", *GPT, "norm=test_trial.OwnBatch"])
    data = Loader().load(config)
    build(config, data.map(lambda split: Split(split.x, split.x)))


@dataclass(frozen=True, kw_only=True)
class Bytes(Dataset):
    def read(self, seed):
        tokens = np.arange(8 * 17, dtype=np.uint8).reshape(8, 17)
        split = Split(tokens[:, :-1], tokens[:, 1:].astype(np.int64))
        return Data(split, split, split, "language", tuple(map(str, range(256))))


def test_tokens_of_a_text_that_are_bytes_stay_what_they_are() -> None:
    config = compose(["dataset=test_trial.Bytes", "inputs=none", *GPT])
    x, _ = build(config, Loader().load(config)).batches.examples.take(torch.arange(8))
    assert torch.equal(x, torch.arange(8 * 17).reshape(8, 17)[:, :-1].float())


def test_tokens_of_an_own_text_are_not_scaled() -> None:
    config = compose(["dataset=test_trial.Bytes", *GPT])
    with pytest.raises(
        UserError, match=r"^inputs=standardize does not fit dataset=test_trial.Bytes: .*; use inputs=none$"
    ):
        build(config, Loader().load(config))


class Changes(nn.Module):
    """What a normalization of somebody's own may do to x (N, C) by mistake."""

    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake, self.calls = mistake, torch.zeros(())

    def forward(self, x):
        if self.mistake == "counts":
            self.calls += 1
        return {
            "counts": lambda: x,
            "shape": lambda: x.mean(-1, keepdim=True),
            "type": lambda: x.double(),
            "tuple": lambda: (x, x),
            "in place": lambda: x.sub_(1),
        }[self.mistake]()


@dataclass(frozen=True, kw_only=True)
class Mistaken(Norm):
    mistake: str

    def normalization(self, num_features):
        return Changes(self.mistake)


@pytest.mark.parametrize("place", ["norm", "norm.activations"])
@pytest.mark.parametrize(
    ("mistake", "said"),
    {
        "shape": r"its normalization\(\) makes float32 \[64, 1\] of float32 \[64, 100\]; it must keep shape and type$",
        "type": r"makes float64 \[64, 100\] of float32 \[64, 100\]; it must keep shape and type \(\.to\(x\.dtype\)\)$",
        "tuple": r"the module of its normalization\(\) returns a tuple, not a tensor$",
        "in place": r"changes its input in place, which the network may read again; return a new tensor$",
        "counts": r"remembers \S+\.calls, which changes with every call; ",
    }.items(),
)
def test_what_an_own_normalization_may_not_do_is_told_alone_and_in_a_stack(mistake, said, place) -> None:
    words = [f"{place}=test_trial.Mistaken", f"{place}.mistake={mistake}", "plugins=[test_trial]"]
    stacked = ["norm=stack", "norm.weights=weight"] if place != "norm" else []
    config = compose(["model=mlp", "dataset=digits", "threads=1", *stacked, *words])
    with pytest.raises(UserError, match=said):
        build(config, Loader().load(config))


class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        raise TypeError("no way back")


class Particular(nn.Module):
    """What works in the float32 of a plain trial, forward."""

    def __init__(self, fails: str, width: int) -> None:
        super().__init__()
        self.fails, self.weight = fails, nn.Parameter(torch.eye(width))

    def forward(self, x):
        if self.fails == "backward":
            return Passed.apply(x)
        if self.fails == "evaluation" and self.training:
            return x
        with torch.autocast("cpu", enabled=False):
            return x @ self.weight


@dataclass(frozen=True, kw_only=True)
class Fails(Norm):
    where: str

    def normalization(self, num_features):
        return Particular(self.where, num_features)


BY = r"raised by norm=test_trial.Fails \(test_trial.py:\d+, in Passed.backward\)"


@pytest.mark.parametrize(
    ("where", "precision", "said"),
    [
        ("forward", "bf16", r"with precision=bf16: RuntimeError: .*(BFloat16|bfloat16).*; an example has shape"),
        ("evaluation", "bf16", r"with precision=bf16: RuntimeError: .*(BFloat16|bfloat16).*; an example has shape"),
        (
            "backward",
            "bf16",
            rf"with precision=bf16: TypeError: no way back, {BY}; an example has shape \(1, 8, 8\)$",
        ),
        (
            "backward",
            "fp32",
            rf"with precision=fp32: TypeError: no way back, {BY}; an example has shape \(1, 8, 8\)$",
        ),
        ("forward", "fp32", ""),
    ],
)
def test_an_own_scheme_is_tried_in_the_precision_of_the_run_and_backwards(where, precision, said) -> None:
    """It was recorded as a failed run."""
    own = ["norm=test_trial.Fails", f"norm.where={where}", "plugins=[test_trial]"]
    config = compose(["model=mlp", "dataset=digits", "threads=1", "device=cpu", f"precision={precision}", *own])
    data, state = Loader().load(config), torch.get_rng_state()
    if said:
        with pytest.raises(UserError, match=f"^model=mlp norm=test_trial.Fails dataset=digits: {said}"):
            build(config, data)
    else:
        build(config, data)
    assert torch.equal(torch.get_rng_state(), state)
