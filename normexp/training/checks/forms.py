"""A normalization of the user's own that returns something else than its input's form, or that changes its input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from torch import Tensor, nn

from normexp.errors import kind_of
from normexp.norms.networks.trial import hooked
from normexp.norms.own.hooks import normalizing_hook
from normexp.training.checks.unkept_state import type_and_shape


@contextmanager
def forms_kept(model: nn.Module) -> Iterator[None]:
    """Raise ValueError in this block for a normalization of the user's own whose output has another form.

    A network may broadcast one of another shape, or of another type, and train without a word; where it adds what it
    normalizes to something, as a residual branch, an input that was changed in place counts twice.
    """
    versions: list[int] = []

    def before(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        versions.append(given[0]._version)

    def after(module: nn.Module, given: tuple[Tensor, ...], output: object) -> None:
        _check(f"the module of its {normalizing_hook(module)}()", given[0], output, given[0]._version != versions.pop())

    made = [module for module in model.modules() if normalizing_hook(module)]
    entering = (module.register_forward_pre_hook(before) for module in made)
    with hooked(chain(entering, (module.register_forward_hook(after) for module in made))):
        yield


def _check(name: str, x: Tensor, y: object, changed: bool) -> None:
    if not isinstance(y, Tensor):
        raise ValueError(f"{name} returns a {kind_of(y)}, not a tensor")
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        way_out = " (.to(x.dtype))" if x.shape == y.shape else ""
        made = f"makes {type_and_shape(y)} of {type_and_shape(x)}"
        raise ValueError(f"{name} {made}; it must keep shape and type{way_out}")
    if changed:
        raise ValueError(f"{name} changes its input in place, which the network may read again; return a new tensor")
