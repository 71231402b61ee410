"""`compile=norms`: a scheme's modules as compiled functions, the rest of the network as it is."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from normexp.errors import first_line
from normexp.norms.base import Step
from normexp.norms.kernels.loops import Loops, in_loops
from normexp.norms.kernels.passes import Passes

GAINS = "gains_from_compile"  # the mark of a module whose operators a compiler fuses; `vectors`: on (N, C) alone
logger = logging.getLogger("normexp")


def compile_norms(model: nn.Module, scheme: str) -> None:
    """Have the scheme's modules compute by compiled functions where a gradient is wanted.

    Only those that gain by it. torch keeps one compiled form for every shape and option, which modules of one kind
    share. Evaluation, whose last batch has a size of its own, computes as usual. Names in the state dict stay.

    Args:
        scheme: its name, to say that nothing of it is compiled.
    """
    forms: dict[type, InTraining | Passes] = {}
    for module in gaining(model):
        form = forms.setdefault(type(module), form_of(type(module)))
        if isinstance(form, Passes):
            module.passes = form  # type: ignore[assignment]
        else:
            module.forward = functools.partial(form, module)
    if not forms:
        logger.info(f"compile=norms: norm={scheme} gains nothing by it here, and computes as usual")


def form_of(kind: type[nn.Module]) -> InTraining | Passes:
    """Return what stands for the forward pass of one kind of modules, or for the two passes that it calls itself."""
    passes = getattr(kind, "passes", None)
    if isinstance(passes, Passes):
        return Passes(*(Form(kind.__name__, plain) for plain in passes))
    return InTraining(kind) if getattr(kind, "loops", None) is None else OnMaps(kind)


def gaining(model: nn.Module) -> Iterator[nn.Module]:
    """Yield the modules that are marked; not those of recurrent cells, whose batches shrink from step to step."""
    for module in model.children():
        if getattr(module, GAINS, False):
            yield module
        elif not isinstance(module, Step):
            yield from gaining(module)


@functools.cache
def compiled(plain: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(plain, fullgraph=True, dynamic=False)


class Form:
    """A function of a module, compiled until it turns out that it cannot be."""

    def __init__(self, name: str, plain: Callable[..., Any]) -> None:
        self.name, self.plain = name, plain
        self.chosen = compiled(plain)

    def __call__(self, *args: Any) -> Any:
        from torch._dynamo.exc import TorchDynamoException

        try:
            return self.chosen(*args)
        except TorchDynamoException as error:
            if self.chosen is self.plain:
                raise
            logger.info(f"compile=norms: {self.name} cannot be compiled and computes as usual: {first_line(error)}")
            self.chosen = self.plain
            return self.plain(*args)


class InTraining(Form):
    """The forward pass of one kind of modules: compiled in training alone."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__(kind.__name__, kind.forward)
        self.gains = getattr(kind, GAINS)

    def __call__(self, module: nn.Module, x: Tensor) -> Any:
        if not module.training or not torch.is_grad_enabled() or (self.gains == "vectors" and x.dim() > 2):
            return self.plain(module, x)
        return super().__call__(module, x)


class OnMaps(InTraining):
    """The same, but maps go by the loops of the module, compiled one by one."""

    def __init__(self, kind: Any) -> None:
        super().__init__(kind)
        self.loops = Loops(*(Form(kind.__name__, plain) for plain in kind.loops))

    def __call__(self, module: Any, x: Tensor) -> Any:
        if x.dim() > 2 and module.training and torch.is_grad_enabled():
            return in_loops(module, self.loops, x)
        return super().__call__(module, x)
