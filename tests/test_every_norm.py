"""Every scheme trains: on real digits, through the program's own parts, to a loss that is finite and falls."""

import math

import pytest
import torch

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.config.options import option, options
from normexp.errors import Impossible
from normexp.training.build import build, initialize_from_data
from normexp.training.loop import Window, evaluate, make_step, train

NORMS = options("norm")
STEPS = 30


def trained(*overrides):
    """Train a little; return (losses, validation loss)."""
    config = compose([*overrides, f"steps={STEPS}", "threads=1", "optim.lr=0.02"])
    parts = build(config, instantiate(config["dataset"]).load(0))
    initialize_from_data(parts, 0)
    window = Window.of(STEPS, parts.device)
    step = make_step(
        parts.forward, parts.task, parts.optimizer, parts.autocast, lambda: parts.norm.penalty(parts.model)
    )
    batches = parts.batches.from_step(0)
    train(step, parts.task, batches, window, parts.optimizer, parts.settings, 0, STEPS, lambda done: False)
    validation = parts.evaluated["validation"]
    everything = [validation.take(torch.arange(len(validation)))]
    measured = evaluate(parts.forward, parts.task, everything, parts.autocast)
    return window.losses.tolist(), measured["loss"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("model", ["cnn", "mlp"])
def test_every_norm_trains_on_digits(model, norm):
    try:
        losses, validation = trained(f"model={model}", f"norm={norm}")
    except Impossible:
        assert option("norm", norm).get("_needs_") == "maps"
        return
    assert all(map(math.isfinite, losses))
    assert math.isfinite(validation)
    assert sum(losses[-5:]) < sum(losses[:5])
