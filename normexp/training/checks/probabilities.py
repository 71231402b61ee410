"""A network of the user's own that takes the softmax itself: nothing fails, and it hardly learns."""

from __future__ import annotations

import copy

import torch

from normexp.config import Config
from normexp.data.base import Data
from normexp.seeding import seeded
from normexp.training.checks.trial import trial_examples
from normexp.training.components import Components


def gives_probabilities(config: Config, components: Components, data: Data) -> str:
    """Say in one line that the outputs are probabilities, where the loss wants logits; empty where they are not.

    Cross-entropy takes the softmax itself; of outputs between 0 and 1 it stays far above 0, with small gradients.
    """
    if data.task == "regression" or "." not in config.choices["model"]:
        return ""
    model = copy.deepcopy(components.model).eval()
    with torch.no_grad(), seeded(config["seed"], "trial"):
        outputs = model(torch.zeros(trial_examples(config, data), *data.input_shape, device=components.device))
    if (outputs < 0).any() or not torch.allclose(outputs.sum(-1), torch.ones_like(outputs[..., 0]), atol=1e-3):
        return ""
    told = "its outputs are probabilities, and the loss takes the softmax itself; leave it out of the network"
    return f"model={config.choices['model']}: {told}"
