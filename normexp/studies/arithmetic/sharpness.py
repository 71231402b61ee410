"""The largest curvature that Adam sees: the power method on differences of gradients."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from normexp.seeding import generator, seeded
from normexp.training.components import Components

LENGTH = 1e-3  # of a difference, relative to the length of all weights; shorter ones drown in float32's rounding

Vector = list[Tensor]  # one tensor per parameter


def preconditioned_sharpness(components: Components, examples: int, iterations: int) -> float:
    """Return the largest eigenvalue of D^(-1/2) H D^(-1/2) for D = sqrt(v) + eps of Adam, v with its bias taken out.

    H is the Hessian of the mean training loss over `examples` examples in training mode, with one draw of dropout and
    noise. Differences of gradients take the place of second derivatives, which some layers do not have.
    """
    parameters = [p for p in components.model.parameters() if p.requires_grad]
    scale = [_preconditioner(components, p).rsqrt() for p in parameters]
    start = [p.detach().clone() for p in parameters]
    length = LENGTH * norm(start)
    x, y = components.batches.first(examples)

    def curvature(direction: Vector) -> Vector:
        moved = [s * d for s, d in zip(scale, direction, strict=True)]
        step = length / norm(moved)
        up, down = (_gradient_at(components, parameters, start, moved, sign * step, x, y) for sign in (1, -1))
        return [s * (a - b) / (2 * step) for s, a, b in zip(scale, up, down, strict=True)]

    random = generator(components.seed, "sharpness")
    direction = [torch.randn(p.shape, generator=random).to(p) for p in parameters]
    eigenvalue = 0.0
    for _ in range(iterations):
        unit = [d / norm(direction) for d in direction]
        direction = curvature(unit)
        eigenvalue = sum(float((a * b).sum()) for a, b in zip(unit, direction, strict=True))
    return eigenvalue


def _preconditioner(components: Components, parameter: Tensor) -> Tensor:
    (group,) = components.optimizer.param_groups
    state = components.optimizer.state[parameter]
    second_moment: Tensor = state["exp_avg_sq"] / (1 - group["betas"][1] ** float(state["step"]))
    return second_moment.sqrt() + group["eps"]


def _gradient_at(
    components: Components,
    parameters: list[nn.Parameter],
    start: Vector,
    way: Vector,
    step: float,
    x: Tensor,
    y: Tensor,
) -> Vector:
    """Return the gradient at start + step * way, and leave the parameters and the random state as they were."""
    with torch.no_grad():
        for parameter, here, direction in zip(parameters, start, way, strict=True):
            parameter.copy_(here + step * direction)
    with seeded(components.seed, "sharpness"):
        loss = components.task.loss(components.model(x), y)
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for parameter, here in zip(parameters, start, strict=True):
            parameter.copy_(here)
    return list(gradients)


def norm(vector: Vector) -> float:
    """Return the length of all tensors together."""
    return math.sqrt(sum(float(tensor.square().sum()) for tensor in vector))
