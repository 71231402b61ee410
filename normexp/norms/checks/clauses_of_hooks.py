"""Clauses about the hooks that a scheme has beside `normalization`: other places of a network, and the loop."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product
from typing import Any, get_args

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, Site, weight_layers
from normexp.norms.checks.clause import Broken, Case, Clause, compare
from normexp.norms.checks.clauses_of_blocks import check_evaluation
from normexp.norms.checks.clauses_of_gradients import check_derivative
from normexp.norms.checks.clauses_of_sizes import finite
from normexp.norms.checks.subject import UNITS

TOKENS = (4, 5, UNITS)
STEPS, ROWS = 3, [8, 8, 4]  # sequences end, and leave fewer rows
IMAGES = 64
LOOP = ("initialize", "step_hook", "before_evaluation")


def tokens_keep_their_form(case: Case) -> None:
    for dtype, training in product((torch.float32, torch.float64), (True, False)):
        module = case.norm.sequence(UNITS).to(dtype).train(training)
        keep_form(module, torch.randn(TOKENS, dtype=dtype), "sequence")


def tokens_in_half_precision(case: Case) -> None:
    """As autocast gives them to a module whose parameters are float32."""
    for training in (True, False):
        keep_form(case.norm.sequence(UNITS).train(training), torch.randn(TOKENS).bfloat16(), "sequence")


def gradient_of_tokens(case: Case) -> None:
    module = case.norm.sequence(UNITS).double()
    x = torch.randn(TOKENS, dtype=torch.double, requires_grad=True)
    check_derivative(module, x, "backward of sequence")


def evaluation_of_tokens(case: Case) -> None:
    check_evaluation(case.norm.sequence(UNITS), torch.randn(TOKENS), "evaluation of sequence")


def linear_places_keep_their_form(case: Case) -> None:
    for shape, training in product(case.shapes(), (True, False)):
        keep_form(case.norm.linear_normalization(UNITS).train(training), torch.randn(shape), "linear_normalization")


def time_steps_keep_their_form(case: Case) -> None:
    for site in get_args(Site):
        step = case.norm.recurrent(UNITS, max_steps=STEPS, site=site)
        every = [torch.randn(count, UNITS) for count in ROWS]
        together = copy.deepcopy(step).all_steps(torch.cat(every), ROWS)
        alone = torch.cat([keep_form(step, x, f"recurrent, {site}", t) for t, x in enumerate(every)])
        compare(together, alone, 1e-4, f"recurrent, {site}: all_steps is not its steps one by one")
        keep_form(step.eval(), every[0], f"recurrent, {site}, of a longer sequence in evaluation", STEPS)


def recurrent_layer_stays_a_layer(case: Case) -> None:
    found: list[Any] = weight_layers(case.norm.parametrize_recurrent(nn.Linear(3, UNITS, bias=False)))
    if [each.weight.shape for each in found] != [(UNITS, 3)]:
        raise Broken("parametrize_recurrent does not return one Linear layer with a weight of the same shape")


def pools_keep_their_size(case: Case) -> None:
    x = torch.randn(4, UNITS, 6, 4)
    for pool in (nn.MaxPool2d(2), nn.AvgPool2d(2)):
        expected, found = pool(x).shape, case.norm.pool(pool)(x).shape
        if found != expected:
            raise Broken(f"pool({type(pool).__name__}) gives {tuple(found)}, not {tuple(expected)}")


def loop_is_served(case: Case) -> None:
    """What is called before training, after every update, and before every evaluation."""
    block, inputs = case.block(), torch.randn(IMAGES, 3, 8, 8)
    known = dict(block.named_parameters())
    case.norm.initialize(block, inputs)
    if other := [name for name, each in block.named_parameters() if each is not known.get(name)]:
        raise Broken(f"initialize puts in a parameter ({other[0]}) that no optimizer would have")
    hook = case.norm.step_hook(block)
    block(inputs).square().mean().backward()
    if hook is not None:
        hook()
    first, second = (evaluated(case.norm, block, inputs) for _ in range(2))
    finite(first, "evaluation behind initialize, step_hook and before_evaluation")
    if not torch.equal(first, second):
        raise Broken("before_evaluation sets something else when it is called again")


def evaluated(norm: Norm, block: nn.Module, inputs: Tensor) -> Tensor:
    norm.before_evaluation(block.train(), lambda count: inputs[:count])
    if not block.training:
        raise Broken("before_evaluation leaves the model in evaluation mode")
    with torch.no_grad():
        y: Tensor = block.eval()(inputs)
    return y


def keep_form(module: nn.Module, x: Tensor, what: str, *given: int) -> Tensor:
    """Return the module's output. Raise Broken where it has another form than x, or one of the two no gradient."""
    x = x.requires_grad_()
    entered = x.clone()
    y: Tensor = module(entered, *given)
    if (y.shape, y.dtype) != (x.shape, x.dtype):
        raise Broken(f"{what}: {tuple(x.shape)} {x.dtype} -> {tuple(y.shape)} {y.dtype}")
    if not torch.equal(entered, x):
        raise Broken(f"{what}: changes its input in place")
    if not y.requires_grad:
        raise Broken(f"{what}: the output has no gradient")
    finite(y, f"{what}: the output")
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    finite(gradient, f"{what}: the gradient")
    return y.detach()


def has(*hooks: str) -> Callable[[Case], bool]:
    """Return what tells whether a scheme has one of these hooks."""
    return lambda case: any(getattr(type(case.norm), hook) is not getattr(Norm, hook) for hook in hooks)


def acts_on_tokens(case: Case) -> bool:
    return has("sequence")(case) and not isinstance(case.norm.sequence(UNITS), nn.Identity)


def tokens_exactly(case: Case) -> bool:
    return case.exact_gradient and acts_on_tokens(case)


def acts_on_linear_places(case: Case) -> bool:
    hook = case.norm.linear_normalization
    return has("linear_normalization")(case) and not isinstance(hook(UNITS), nn.Identity)


def takes_time_steps(case: Case) -> bool:
    return has("recurrent")(case) or (case.normalizes and case.takes_vectors)


OF_HOOKS = (
    Clause("tokens keep their shape and type", tokens_keep_their_form, acts_on_tokens),
    Clause("tokens in half precision", tokens_in_half_precision, acts_on_tokens),
    Clause("gradient of tokens is the derivative", gradient_of_tokens, tokens_exactly),
    Clause("evaluation of tokens changes no state and repeats itself", evaluation_of_tokens, acts_on_tokens),
    Clause("linear places keep their shape and type", linear_places_keep_their_form, acts_on_linear_places),
    Clause("time steps keep their shape", time_steps_keep_their_form, takes_time_steps),
    Clause("a recurrent layer stays one", recurrent_layer_stays_a_layer, has("parametrize_recurrent")),
    Clause("a pool keeps its size", pools_keep_their_size, has("pool")),
    Clause("initialize, step_hook and before_evaluation", loop_is_served, has(*LOOP)),
)
