"""Clauses about a whole block: its parameters, state, evaluation, layer and loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import weight_layers
from normexp.norms.checks.clause import Broken, Case, Clause, always, compare, on_blocks
from normexp.norms.checks.subject import UNITS


def images() -> Tensor:
    return torch.randn(4, 3, 8, 8) + 3


def every_parameter_learns(case: Case) -> None:
    block = case.block()
    y = block(torch.randn(4, 3, 8, 8))
    y.backward(torch.randn_like(y))
    for name, parameter in block.named_parameters():
        if parameter.grad is None or not parameter.grad.any():
            raise Broken(f"parameter {name} gets no gradient")


def state_dict_round_trip(case: Case) -> None:
    block, other, x = case.block(), case.block(), images()
    block(x)
    other.load_state_dict(block.state_dict())
    if not torch.equal(block.eval()(x), other.eval()(x)):
        raise Broken("a block that loads another's state_dict computes something else")


def evaluation_is_a_function(case: Case) -> None:
    check_evaluation(case.block(), images(), "evaluation")


def check_evaluation(module: nn.Module, x: Tensor, what: str) -> None:
    """Raise Broken where evaluation, behind a step of training, changes the state or does not repeat its output."""
    module(x)
    before = {key: value.clone() for key, value in module.eval().state_dict().items()}
    first, second = module(x), module(x)
    if moved := [key for key, value in module.state_dict().items() if not torch.equal(before[key], value)]:
        raise Broken(f"{what} changes {moved[0]}")
    if not torch.equal(first, second):
        raise Broken(f"{what} gives two outputs for one input")


def autocast_to_bfloat16(case: Case) -> None:
    block, x = case.block(), torch.randn(4, 3, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        found = block(x)
        found.float().square().mean().backward()
    compare(found.float(), block(x), 0.05, "autocast changes the output")
    for name, parameter in block.named_parameters():
        if parameter.grad is not None and not parameter.grad.isfinite().all():
            raise Broken(f"autocast: the gradient of {name} is not finite")


def layer_stays_a_layer(case: Case) -> None:
    """Networks set initial weights and look for layers after the scheme has had them."""
    for layer in (nn.Linear(3, UNITS), nn.Conv2d(3, UNITS, 3), nn.Conv1d(3, UNITS, 3), nn.ConvTranspose2d(3, UNITS, 3)):
        expected = layer.weight.shape
        found: list[Any] = weight_layers(case.norm.block(layer, nn.Tanh()))
        if len(found) != 1 or found[0].weight.shape != expected:
            raise Broken(f"the block of a {type(layer).__name__} holds {len(found)} such layers, or of another shape")


def penalty_is_a_number(case: Case) -> None:
    penalty = case.norm.penalty(case.norm.block(nn.Linear(3, UNITS)))
    if penalty is not None and (not isinstance(penalty, Tensor) or penalty.dim() or not penalty.isfinite()):
        raise Broken("penalty is neither None nor a finite scalar")


def refuses_an_unknown_placement(case: Case) -> None:
    try:
        replace(case.norm, placement="before")
    except ValueError:
        return
    raise Broken("placement='before' is taken; leave the option `placement` as it is in Norm")


def is_frozen(case: Case) -> None:
    """Every block of a network is made by one scheme, which must be the same for all of them."""
    try:
        case.norm.placement = "post"  # type: ignore[misc]
    except AttributeError:
        return
    raise Broken("the scheme can be changed while a network is built: @dataclass(frozen=True, kw_only=True)")


OF_BLOCKS = (
    Clause("every parameter of a block gets a gradient", every_parameter_learns, on_blocks),
    Clause("state_dict round trip", state_dict_round_trip, on_blocks),
    Clause("evaluation changes no state and repeats itself", evaluation_is_a_function, on_blocks),
    Clause("bfloat16 autocast", autocast_to_bfloat16, on_blocks),
    Clause("a Linear or Conv layer stays one", layer_stays_a_layer, on_blocks),
    Clause("penalty is None or a finite scalar", penalty_is_a_number, always),
    Clause("an unknown placement is refused", refuses_an_unknown_placement, always),
    Clause("frozen", is_frozen, always),
)
