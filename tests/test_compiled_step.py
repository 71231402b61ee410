"""`compile=true`: forward and backward as one compiled function, with the curves of the ordinary step."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch._dynamo.utils import counters

from normexp.build import build, initialize_from_data
from normexp.config import compose, options
from normexp.errors import Impossible, UserError
from normexp.instantiate import instantiate
from normexp.train import Window, train

DIGITS = ("dataset=digits", "dataset.subset=200", "batch_size=16", "steps=4", "threads=1", "optim.lr=0.01")
MLP, CNN = ("model=mlp", "model.widths=[16,16]"), ("model=cnn", "model.widths=[8,8]")


@pytest.fixture(autouse=True)
def graphs_of_plain_torch(monkeypatch):
    """Compile to torch's own operators: machine code takes seconds."""
    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))


def losses_and_weights(*words):
    config = compose([*DIGITS, *words])
    parts = build(config, instantiate(config["dataset"]).load(0))
    initialize_from_data(parts, 0)
    torch.manual_seed(0)
    window, batches = Window.of(parts.steps, parts.device), parts.batches.from_step(0)
    train(
        parts.step(), parts.task, batches, window, parts.optimizer, parts.settings, 0, parts.steps, lambda done: False
    )
    return window.losses, [*parts.model.parameters(), *parts.model.buffers()]


def compare(*words):
    ordinary, compiled = losses_and_weights(*words), losses_and_weights(*words, "compile=true")
    torch.testing.assert_close(compiled[0], ordinary[0], rtol=1e-5, atol=1e-6)
    for found, expected in zip(compiled[1], ordinary[1], strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("words", [(*MLP, "norm=batch"), (*CNN, "norm=batch", "clip_norm=0.1")], ids=["mlp", "cnn"])
def test_compiled_step_learns_the_same(words):
    compare(*words)


@pytest.mark.skipif(not hasattr(torch._dynamo.config, "trace_autograd_ops"), reason="torch leaves backward outside")
def test_compiled_step_holds_its_backward_pass():
    counters.clear()
    losses_and_weights(*MLP, "norm=batch", "compile=true")
    assert counters["stats"]["unique_graphs"] == 1
    assert not counters["graph_break"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [MLP, CNN], ids=["mlp", "cnn"])
@pytest.mark.parametrize("norm", options("norm"))
def test_compiled_step_learns_the_same_under_every_scheme(norm, model):
    try:
        compose([*DIGITS, *model, f"norm={norm}"])
        losses_and_weights(*model, f"norm={norm}")
    except (Impossible, UserError) as error:
        pytest.skip(str(error))
    compare(*model, f"norm={norm}")
