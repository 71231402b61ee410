"""The gradient of the training loss on fixed examples, for the probes that need it."""

from __future__ import annotations

import torch
from torch import Tensor

from normexp.probes.base import Situation, training_mode


def loss_gradients(situation: Situation, count: int) -> dict[str, Tensor]:
    """Return {parameter name: gradient of the mean loss} on `count` fixed training examples.

    As in a training step (statistics of this batch, dropout and noise, always the same ones), but without
    penalty, weight decay and autocast. A parameter without influence has the gradient 0.
    """
    x, y = situation.training(count)
    parameters = {name: each for name, each in situation.model.named_parameters() if each.requires_grad}
    with training_mode(situation.model, x.device):
        loss = situation.loss(situation.model(x), y)
        found = torch.autograd.grad(loss, list(parameters.values()), materialize_grads=True)
    return dict(zip(parameters, found, strict=True))
