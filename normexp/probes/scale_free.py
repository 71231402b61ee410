"""Which parameters have a scale that the outputs do not notice, and which is the reason where a law cannot apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.func import functional_call

from normexp.errors import UserError, first_line
from normexp.norms.checks.subject import distance
from normexp.probes.base import training_mode

TOLERANCE = 0.01  # relative change of the outputs that an eps of ordinary size may cause
OF_GRADIENT = 0.25  # the same of a gradient: an eps within TOLERANCE causes 0.03 at most, saturation about 1

WAY_OUT = "normalize that layer without affine parameters, or measure a control with study.control=true"


@torch.no_grad()
def outputs(model: nn.Module, x: Tensor, changed: Mapping[str, Tensor]) -> Tensor:
    """Return the network's outputs in training mode with some parameters replaced."""
    with training_mode(model, x.device):
        return functional_call(model, dict(changed), (x,))


def output_change(model: nn.Module, x: Tensor, name: str, usual: Tensor) -> float:
    """Return ||y' - y|| / ||y|| where a weight is doubled, or 1 is added to a bias, which may be 0.

    Args:
        usual: y, the outputs as they are.
    """
    value = model.get_parameter(name).detach()
    return distance(outputs(model, x, {name: 2 * value if value.dim() > 1 else value + 1}), usual)


def direction_change(model: nn.Module, x: Tensor, name: str, usual: Tensor) -> float:
    """Return ||y' - y|| / ||y|| where half of a weight's entries, drawn, have the other sign: its length is the same.

    Not where all have: behind instance normalization, ReLU and a mean over positions that changes nothing, since
    values of mean 0 have the same mean above it as below.
    """
    value = model.get_parameter(name).detach()
    signs = torch.ones(value.numel(), device="cpu")
    drawn = torch.randperm(len(signs), generator=torch.Generator().manual_seed(0), device="cpu")
    signs[drawn[: (len(signs) + 1) // 2]] = -1
    return distance(outputs(model, x, {name: value * signs.view(value.shape).to(value)}), usual)


def gradient_change(model: nn.Module, x: Tensor, name: str, usual: Tensor) -> float:
    """Return ||2 g' - g|| / ||g|| of a weight's gradient g, and of g' where it is doubled; NaN where there is none.

    Where only the direction counts, a gradient is as small as its weight is large, and this is 0. In front of a
    saturated nonlinearity the outputs do not notice the length either, but the gradient vanishes with it.

    Args:
        usual: g, the weight's gradient as it is.
    """
    doubled = gradients(model, x, {name: 2 * model.get_parameter(name).detach()})[name]
    return distance(2 * doubled, usual)


def gradients(model: nn.Module, x: Tensor, at: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the gradients at these values of parameters, of a mean over the outputs with drawn coefficients.

    The values are written into the parameters: activation checkpointing calls parts of a network again on the way
    back, with the parameters as they are then.
    """
    parameters = {name: model.get_parameter(name) for name in at}
    with training_mode(model, x.device), torch.enable_grad():  # which puts the parameters back
        for name, parameter in parameters.items():
            parameter.data.copy_(at[name])
            parameter.requires_grad_()
        y = model(x)
        if not y.requires_grad:
            return {name: torch.zeros_like(value) for name, value in at.items()}
        drawn = torch.randn(y.shape, generator=torch.Generator().manual_seed(0), device="cpu").to(y)
        found = _gradients((drawn * y).mean(), list(parameters.values()))
    return dict(zip(parameters, found, strict=True))


def _gradients(value: Tensor, parameters: list[nn.Parameter]) -> tuple[Tensor, ...]:
    """Return the gradients of a value. Raises UserError where the network's own code does not give them."""
    try:
        return torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
    except RuntimeError as error:
        raise UserError(f"the network's gradients cannot be taken: {first_line(error)}") from error


@dataclass(frozen=True)
class Usual:
    """A network's outputs in training mode as they are, and its gradients there, which are taken once if at all.

    Args:
        x: a batch.
        names: of the weights that gradients are of.
    """

    model: nn.Module
    x: Tensor
    names: Iterable[str]

    @cached_property
    def outputs(self) -> Tensor:
        return outputs(self.model, self.x, {})

    @cached_property
    def gradients(self) -> dict[str, Tensor]:
        return gradients(self.model, self.x, {name: self.model.get_parameter(name) for name in self.names})


@dataclass(frozen=True)
class Noticed:
    """What the network's outputs notice of a weight: the one rule which weights are scale-invariant.

    Args:
        scale: the change of the outputs where it is doubled.
        direction: that where half of its entries are negated; None where the scale is noticed, which decides.
        gradient: by how much the gradient at twice the weight is not half of the gradient (`gradient_change`); None
            where scale or direction decide.
        tolerance: largest change of the outputs that an eps may cause.
    """

    scale: float
    direction: float | None = None
    gradient: float | None = None
    tolerance: float = TOLERANCE

    @property
    def is_scale_invariant(self) -> bool:
        return self.gradient is not None and self.gradient <= OF_GRADIENT

    @property
    def is_saturated(self) -> bool:
        """Tell whether the outputs notice the direction alone, and the gradient the length, too."""
        return self.gradient is not None and not self.is_scale_invariant

    @property
    def has_no_effect(self) -> bool:
        """Tell whether the weight's part of the outputs is so small that nothing can be said of its scale."""
        return self.direction is not None and not self.direction >= self.tolerance


def noticed(usual: Usual, name: str, tolerance: float = TOLERANCE) -> Noticed:
    """Return what the network's outputs notice of a weight."""
    model, x = usual.model, usual.x
    scale = output_change(model, x, name, usual.outputs)
    if not scale < tolerance:
        return Noticed(scale, tolerance=tolerance)
    direction = direction_change(model, x, name, usual.outputs)
    gradient = gradient_change(model, x, name, usual.gradients[name]) if direction >= tolerance else None
    return Noticed(scale, direction, gradient, tolerance)


def check_scale_free(model: nn.Module, x: Tensor, who: str) -> None:
    """Raise UserError, which names the layer, unless every trained parameter is one whose scale changes nothing.

    Args:
        x: a batch; what counts is the network in training mode.
        who: the study that asks: `study=equilibrium`.
    """
    usual = outputs(model, x, {})
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and output_change(model, x, name, usual) > TOLERANCE:
            raise UserError(f"{who}: the law does not apply: {reason(model, name)}; {WAY_OUT}")


def reason(model: nn.Module, name: str) -> str:
    """Return in words why a parameter is not scale-invariant."""
    if model.get_parameter(name).dim() > 1:
        return f"the network's outputs depend on the length of {name}, which no norm follows that cancels it"
    return f"{name} acts after the norm, so its size changes the outputs"
