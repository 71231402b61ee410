"""What a network gives, in training and after it: to compare it on inputs that should make no difference."""

import copy

import torch
from torch import Tensor, nn


def outcome(model: nn.Module, x: Tensor) -> list[Tensor]:
    """Return outputs, gradients and running statistics after one training step, and outputs in evaluation."""
    model = copy.deepcopy(model)
    y = model(x)
    grads = torch.autograd.grad(y.square().sum(), list(model.parameters()))
    buffers = [buffer.clone() for buffer in model.buffers()]
    return [y.detach(), *grads, *buffers, model.eval()(x).detach()]
