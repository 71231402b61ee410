"""The angle that an update turns every weight by, beside the one at which weight decay holds it in equilibrium."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.errors import UserError
from normexp.probes.base import Probe, Reading, Situation
from normexp.probes.gradients import loss_gradients
from normexp.probes.layers import free_weights
from normexp.probes.scale_free import TOLERANCE, Noticed, Usual, noticed, reason


@dataclass(frozen=True, kw_only=True)
class Equilibrium(Probe):
    """The angle, in radians, by which the optimizer's next update turns every scale-invariant weight.

    `angle` is that of the update on fixed examples, with the run's own optimizer: momentum, Adam's moments and weight
    decay included. It is made on a copy, and taken back. `equilibrium_angle` is what it settles at where weight decay
    and the gradient balance (see `equilibrium_angle`); `ratio` is the first over the second. Of a weight whose length
    the network's outputs notice, or of which they notice nothing at all, there is only `scale_change`, by how much they
    change when it is doubled.

    Args:
        count: number of training examples, the same at every evaluation, as one batch.
        tolerance: largest change of the outputs that an eps may cause.

    Raises: UserError without weight decay, for an optimizer whose equilibrium is not known, and for a network of which
        no weight is scale-invariant; it names the first layer.

    Source: van Laarhoven 2017, arXiv:1706.05350; Wan et al. 2020, arXiv:2006.08419; Kosson, Messmer & Jaggi 2024,
    arXiv:2305.17212 [formulas as in the authors' code, epfml/REQ].
    """

    count: int = 256
    tolerance: float = TOLERANCE

    def measure(self, situation: Situation) -> list[Reading]:
        optimizer = situation.optimizer
        if optimizer is None:
            raise UserError("probe=equilibrium: looks at the optimizer of a training run; there is none")
        model, (x, _) = situation.model, situation.training(self.count)
        usual = Usual(model, x, free_weights(model))
        found = {name: noticed(usual, name, self.tolerance) for name in usual.names}
        free = [name for name, each in found.items() if each.is_scale_invariant]
        if not free:
            raise UserError(f"probe=equilibrium: no weight is scale-invariant: {_why_none(model, found)}")
        settled = equilibrium_angle(optimizer.param_groups[0])
        turned = next_angles(model, optimizer, loss_gradients(situation, self.count), free)
        readings: list[Reading] = [(name, "scale_change", each.scale) for name, each in found.items()]
        for name, angle in turned.items():
            values = {"angle": angle, "equilibrium_angle": settled, "ratio": angle / settled}
            readings += [(name, statistic, value) for statistic, value in values.items()]
        return readings


def _why_none(model: nn.Module, found: Mapping[str, Noticed]) -> str:
    """Say of a network without a scale-invariant weight what is noticed of the first."""
    for name, each in found.items():
        if not each.has_no_effect:
            return f"{reason(model, name)}; with norm=weight they do not"
    return next(
        (f"the network's outputs hardly depend on {name} at all" for name in found), "there is no Linear or Conv layer"
    )


def equilibrium_angle(group: Mapping[str, Any]) -> float:
    """Return the root mean square angle that a scale-invariant weight turns by per update, from a parameter group.

    SGD: sqrt(2 lr wd / (1 + m)). AdamW: sqrt(2 lr wd (1 - b1) / (1 + b1)). Both for lr wd much below 1 - m.

    Derived for gradients g of one length, at right angles to w and independent from step to step: in the end one
    gradient moves w by lr g / (1 - m), so w^2 grows by lr^2 g^2 / (1 - m)^2 a step, shrinks by 2 lr wd w^2 / (1 - m)
    and rests at w^2 = lr g^2 / (2 wd (1 - m)). One update has the mean square lr^2 g^2 / (1 - m^2), over w^2 that is
    2 lr wd / (1 + m). AdamW has a first moment of mean square g^2 (1 - b1) / (1 + b1), and in the end one gradient
    moves w by lr g: w^2 = lr g^2 / (2 wd).

    Raises: UserError for an optimizer of another kind, and without weight decay.
    """
    lr, decay = float(group["lr"]), float(group["weight_decay"])
    if not decay:
        raise UserError("weight_decay=0: without weight decay there is no equilibrium; give optim.weight_decay")
    if "dampening" in group and not group.get("nesterov"):  # SGD: the momentum of RMSprop is of scaled gradients
        return math.sqrt(2 * lr * decay / (1 + float(group["momentum"])))
    if "betas" in group and group.get("decoupled_weight_decay"):
        first = float(group["betas"][0])
        return math.sqrt(2 * lr * decay * (1 - first) / (1 + first))
    raise UserError("the equilibrium is known for optim=sgd without nesterov and optim=adamw only")


def angle(before: Tensor, after: Tensor) -> float:
    """Return the angle between two weights as vectors of all entries, in radians, exact for small ones too."""
    one, other = (each.detach().double().flatten() for each in (before, after))
    chord = float((one / one.norm() - other / other.norm()).norm())
    return 2 * math.asin(min(chord / 2, 1.0))


def next_angles(
    model: nn.Module, optimizer: Optimizer, gradients: Mapping[str, Tensor], names: list[str]
) -> dict[str, float]:
    """Return by how much the optimizer's next update turns these parameters; network and optimizer stay as they are."""
    with update_taken_back(model, optimizer):
        before = {name: model.get_parameter(name).detach().clone() for name in names}
        for name, parameter in model.named_parameters():
            parameter.grad = gradients[name].clone() if name in gradients else None
        optimizer.step()
        return {name: angle(before[name], model.get_parameter(name)) for name in names}


@contextmanager
def update_taken_back(model: nn.Module, optimizer: Optimizer) -> Iterator[None]:
    """Put parameters, gradients and the optimizer's state back at the end."""
    parameters = [(each, each.detach().clone(), each.grad) for each in model.parameters()]
    state = copy.deepcopy(optimizer.state_dict())
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, value, gradient in parameters:
                parameter.copy_(value)
                parameter.grad = gradient
        optimizer.load_state_dict(state)
