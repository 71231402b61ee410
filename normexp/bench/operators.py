"""The operators of a step: what each computes, what it moves, how long it takes, and to what it belongs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry
from torch.utils.module_tracker import ModuleTracker

T = TypeVar("T")
CONVOLUTION, PRODUCT, NORM = "convolution", "matrix product", "normalization"
ACTIVATION, POOLING, LOSS, OPTIMIZER, DATA, OTHER = "activation", "pooling", "loss", "optimizer", "data", "other"
GROUPS = (CONVOLUTION, PRODUCT, NORM, ACTIVATION, POOLING, LOSS, OPTIMIZER, DATA, OTHER)
# Group -> how the names of its operators begin, backward or not; the first that fits counts.
NAMES = {
    CONVOLUTION: ("convolution", "_convolution", "mkldnn_convolution"),
    PRODUCT: ("mm", "addmm", "bmm", "baddbmm", "_scaled_dot_product"),
    NORM: ("native_batch_norm", "batch_norm", "native_layer_norm", "native_group_norm", "_fused_rms_norm"),
    ACTIVATION: ("relu", "threshold", "leaky_relu", "gelu", "silu", "elu", "tanh", "sigmoid", "softplus", "_softmax"),
    POOLING: ("max_pool", "avg_pool", "_adaptive_avg_pool", "adaptive_max_pool"),
    LOSS: ("nll_loss", "_log_softmax", "mse_loss", "binary_cross_entropy"),
    OPTIMIZER: ("_fused_", "_foreach_"),
}  # fmt: skip
GATHERS = ("index", "index_select", "gather", "embedding")  # read as much of the first operand as they write
TORCHS = ("torch.nn.modules.batchnorm", "torch.nn.modules.normalization", "torch.nn.modules.instancenorm")


@dataclass(frozen=True)
class Call:
    """One operator, executed.

    Args:
        flops: a multiplication and an addition are two; 0 where torch's counter knows no formula.
        bytes: of the operands and the results, each once.
    """

    name: str
    group: str
    seconds: float
    flops: int
    bytes: int


class Recording(TorchDispatchMode):
    """Records every operator that runs inside, backward passes too, and no views.

    An operator inside a normalization is of that group, whatever it is; what is not known is `other`.

    Args:
        model: tells which modules are normalizations: torch's own, and all that the schemes made.
        clock: what tells the seconds.
    """

    def __init__(self, model: nn.Module, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self.clock = clock
        self.calls: list[Call] = []
        self.part: str | None = None
        self.tracker = ModuleTracker()
        root = type(model).__name__
        self.norms = {f"{root}.{name}" for name, module in model.named_modules() if _is_norm(module)}

    def __enter__(self) -> Recording:
        self.tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.tracker.__exit__(*error)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.is_view or func.namespace == "profiler":  # nothing is computed
            return func(*args, **kwargs)
        began = self.clock()
        result = func(*args, **kwargs)
        seconds = self.clock() - began
        name = func.overloadpacket.__name__
        self.calls.append(
            Call(name, self.group(name), seconds, flops(func, args, kwargs, result), moved(func, args, kwargs, result))
        )
        return result

    def group(self, name: str) -> str:
        """Return the group of an operator that runs now."""
        if self.part is not None:
            return self.part
        return group_of(name) if self.norms.isdisjoint(self.tracker.parents) else NORM

    @contextmanager
    def within(self, part: str) -> Iterator[None]:
        """Count all that runs inside for one group."""
        self.part = part
        try:
            yield
        finally:
            self.part = None

    def drawn(self, items: Iterable[T]) -> Iterator[T]:
        """Pass endless items on; what it takes to make one is `data`."""
        iterator = iter(items)
        while True:
            with self.within(DATA):
                item = next(iterator)
            yield item


def _is_norm(module: nn.Module) -> bool:
    kind = type(module).__module__
    return kind.startswith("normexp.norms.") or kind in TORCHS


def group_of(name: str) -> str:
    """Return the group of an operator by its name alone."""
    return next((group for group, begins in NAMES.items() if name.startswith(begins)), OTHER)


def flops(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> int:
    """Return what torch's own formula says, or 0."""
    formula = flop_registry.get(func.overloadpacket)
    return 0 if formula is None else int(formula(*args, **kwargs, out_val=result))


def moved(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> int:
    """Return the bytes of operands and results; what is written in place is both."""
    name = func.overloadpacket.__name__
    if "empty" in name:  # allocates
        return 0
    if result is None:  # a fused optimizer
        arguments = zip(func._schema.arguments, args, strict=False)
        result = [value for argument, value in arguments if argument.alias_info and argument.alias_info.is_write]
    given, made = (sum(map(_size, _tensors(each))) for each in ((args, kwargs), result))
    return made + (min(given, made) if name in GATHERS else given)


def _tensors(values: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _size(x: Tensor) -> int:
    """Return the bytes of a tensor; what a stride of 0 repeats lies in memory once."""
    repeats = (size for size, stride in zip(x.shape, x.stride(), strict=True) if not stride)
    return x.numel() * x.itemsize // max(1, torch.Size(repeats).numel())
