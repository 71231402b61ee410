"""Clauses about shapes, types and batch sizes."""

from __future__ import annotations

from itertools import product

import torch
from torch import Tensor, nn

from normexp.norms.checks.clause import (
    MAPS,
    SEQUENCES,
    Broken,
    Case,
    Clause,
    compare,
    make,
    normalizes,
    on_activations,
    on_maps,
)  # fmt: skip
from normexp.norms.checks.subject import UNITS


def keeps_shape_and_type(case: Case) -> None:
    """The other clauses are about the shapes that the scheme takes; it owes an answer to sequences and maps."""
    for shape in dict.fromkeys((*case.shapes(), SEQUENCES, MAPS)):
        for dtype in (torch.float32, torch.float64):
            y = make(case.norm, dtype)(torch.randn(shape, dtype=dtype))
            if (y.shape, y.dtype) != (shape, dtype):
                raise Broken(f"{shape} {dtype} -> {tuple(y.shape)} {y.dtype}")


def leaves_its_input(case: Case) -> None:
    """A residual network adds what it has normalized."""
    for shape in case.shapes():
        x = torch.randn(shape)
        before, module = x.clone(), make(case.norm)
        for training in (True, False):
            module.train(training)(x)
            if not torch.equal(x, before):
                raise Broken(f"changes its input in place, on {shape}")


def channels_last_stays(case: Case) -> None:
    for dtype, offset in product((torch.float32, torch.bfloat16), (0.0, 1e4)):
        x = (torch.randn(4, UNITS, 5, 3) + offset).to(dtype).contiguous(memory_format=torch.channels_last)
        module = case.norm.normalization(UNITS)
        for training in (True, False):
            if not module.train(training)(x).is_contiguous(memory_format=torch.channels_last):
                mode = "training" if training else "evaluation"
                raise Broken(f"the output is in another memory format in {mode}, {dtype}, at a mean of {offset:g}")


def one_pixel_is_a_vector(case: Case) -> None:
    """Where vectors are refused, and not all that are no maps, maps of one pixel must be refused as well."""
    x = torch.randn(4, UNITS, 1, 1)
    if case.takes_vectors:
        compare(make(case.norm)(x), make(case.norm)(x.flatten(1)).view_as(x), 1e-5, "maps of one pixel, unlike vectors")
    elif case.takes_sequences and answered(case.norm.normalization(UNITS), x) is not None:
        raise Broken("takes maps of one pixel, but no vectors")


def one_example(case: Case) -> None:
    """Maps of one example hold many values; of one vector, training may say that it is too little."""
    module = case.norm.normalization(UNITS)
    finite(module(torch.randn(1, UNITS, 6, 5)), "training on one example's maps")
    if case.takes_vectors:
        x = torch.randn(1, UNITS)
        if (y := answered(module, x)) is not None:
            finite(y, "training on one vector")
        finite(module.eval()(x), "evaluation of one vector")


def no_example(case: Case) -> None:
    """An empty batch has an empty output, in evaluation; training may refuse it with a ValueError."""
    module = case.norm.normalization(UNITS)
    for shape in case.shapes():
        x = torch.randn(0, *shape[1:])
        answered(module.train(), x)
        if module.eval()(x).shape != x.shape:
            raise Broken(f"evaluation of an empty batch {tuple(x.shape)} has another shape")
    for name, value in module.state_dict().items():
        finite(value, f"{name} after an empty batch")


def answered(module: nn.Module, x: Tensor) -> Tensor | None:
    """Return the module's output, or None where it refuses x with a ValueError, as it should."""
    try:
        y: Tensor = module(x)
    except ValueError:
        return None
    return y


def finite(y: Tensor, what: str) -> None:
    if not y.isfinite().all():
        raise Broken(f"{what} is not finite")


def mixes_examples_as_said(case: Case) -> None:
    module = case.norm.normalization(UNITS)
    x = torch.randn(MAPS)
    other = torch.cat([x[:1], torch.randn_like(x[1:])])
    last = torch.cat([torch.randn_like(x[:-1]), x[-1:]])
    mixed = not (torch.equal(module(x)[0], module(other)[0]) and torch.equal(module(x)[-1], module(last)[-1]))
    if mixed != case.mixes_examples:
        said = "depends" if case.mixes_examples else "does not depend"
        raise Broken(f"an example's output {said} on the others, says the scheme, but it is the other way round")


def says_whether_it_mixes(case: Case) -> bool:
    return case.acts_on_activations and case.takes_maps and case.mixes_examples is not None


OF_SIZES = (
    Clause("output has the input's shape and type", keeps_shape_and_type, on_activations),
    Clause("the input stays as it is", leaves_its_input, on_activations),
    Clause("channels last stays channels last", channels_last_stays, on_maps),
    Clause("a map of one pixel is a vector", one_pixel_is_a_vector, on_maps),
    Clause("one example", one_example, on_maps),
    Clause("no example", no_example, normalizes),
    Clause("examples are mixed as said", mixes_examples_as_said, says_whether_it_mixes),
)
