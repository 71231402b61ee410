"""Four steps of a small network on a few digits: what ordinary and compiled training are compared on."""

import torch
from torch import Tensor

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.training.build import build, initialize_from_data
from normexp.training.fit import fit
from normexp.training.process import process_settings

DIGITS = ("dataset=digits", "dataset.subset=200", "batch_size=16", "steps=4", "threads=1", "optim.lr=0.01")
MLP, CNN = ("model=mlp", "model.widths=[16,16]"), ("model=cnn", "model.widths=[8,8]")


def losses_and_weights(*words: str) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of every step, and the state dict after the last."""
    config = compose([*DIGITS, *words])
    with process_settings(compiled=config["compile"]):
        components = build(config, instantiate(config["dataset"]).load(0))
        initialize_from_data(components)
        losses = torch.stack([update.loss for update in fit(components)])
    return losses, dict(components.model.state_dict())


def compare(compiled: str, *words: str) -> None:
    """Assert that a way to compile learns what ordinary training learns, under the same names."""
    (losses, weights), (expected, expected_weights) = losses_and_weights(compiled, *words), losses_and_weights(*words)
    torch.testing.assert_close(losses, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(weights, expected_weights, rtol=1e-4, atol=1e-5)
