"""A normalization of the user's own that returns something else than its input's form, or that changes its input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn

from normexp.norms.own.hooks import normalizing_hook


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

    with ExitStack() as stack:
        for module in filter(normalizing_hook, model.modules()):
            stack.callback(module.register_forward_pre_hook(before).remove)
            stack.callback(module.register_forward_hook(after).remove)
        yield


def _check(name: str, x: Tensor, y: object, changed: bool) -> None:
    if not isinstance(y, Tensor):
        raise ValueError(f"{name} returns a {type(y).__name__}, not a tensor")
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        way_out = " (.to(x.dtype))" if x.shape == y.shape else ""
        raise ValueError(f"{name} makes {_form(y)} of {_form(x)}; it must keep shape and type{way_out}")
    if changed:
        raise ValueError(f"{name} changes its input in place, which the network may read again; return a new tensor")


def _form(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
