"""Every scheme trains: on real digits, through the program's own parts, to a loss that is finite and falls."""

import math

import pytest
import torch

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.config.options import option, options
from normexp.errors import Impossible
from normexp.training.build import build, initialize_from_data
from normexp.training.fit import fit
from normexp.training.metrics import evaluate

NORMS = options("norm")
STEPS = 30
NARROW = {"cnn": ["model.widths=[8,16]"], "mlp": ["model.widths=[48,48]"]}


def trained(*overrides):
    """Train a little; return (losses, loss on all validation images before, and after)."""
    config = compose([*overrides, f"steps={STEPS}", "threads=1", "optim.lr=0.02"])
    components = build(config, instantiate(config["dataset"]).load(0))
    initialize_from_data(components)
    validation = components.evaluated["validation"]
    images = [validation.take(torch.arange(len(validation)))]
    before = evaluate(components, images)["loss"]
    losses = [float(update.loss) for update in fit(components)]
    return losses, before, evaluate(components, images)["loss"]


def test_filter_response_trains_on_vectors_with_an_eps_that_is_learned():
    losses, before, after = trained("model=mlp", "norm=filter_response", "norm.learn_eps=true", *NARROW["mlp"])
    assert all(map(math.isfinite, losses))
    assert after < before


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("model", ["cnn", "mlp"])
def test_every_norm_trains_on_digits(model, norm):
    try:
        losses, before, after = trained(f"model={model}", f"norm={norm}", *NARROW[model])
    except Impossible:
        assert option("norm", norm).get("_needs_") == "maps"
        return
    assert all(map(math.isfinite, losses))
    assert math.isfinite(after)
    # Of the same images: thirty batches of their own each differ by as much as the slowest scheme learns.
    assert after < before
