"""A forward read by torch.fx, which gives it what only stands for values; asking which values ends the reading."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from threading import get_ident
from types import FrameType, TracebackType
from typing import Any

from torch import Tensor, fx, nn

STANDS = re.compile(r"\b(Unknown(Attribute)?|(Parameter)?Proxy)\b")  # as Python's errors name what stands for a value
SEVERAL = (nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention, nn.AdaptiveLogSoftmaxWithLoss)  # outputs, in tuples


class Unknown(fx.Proxy):
    """Stands for a tensor while a forward is read. No table or set has it: that it is not there would not be true."""

    def __hash__(self) -> int:
        raise fx.proxy.TraceError("a value that is not known cannot be looked up")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` goes by: a tensor for the network's own code, where that is certain."""
        if not asks_type(sys._getframe(1)):
            return type(self)
        if type(self) is not Unknown or not isinstance(self.tracer, Reader) or not self.tracer.gives_tensor(self.node):
            raise fx.proxy.TraceError("it asks for the type of what is not known")
        return Tensor

    def __getattr__(self, name: str) -> fx.proxy.Attribute:
        return UnknownAttribute(self, name)


class UnknownAttribute(Unknown, fx.proxy.Attribute):
    """Stands for an attribute of a tensor, and knows whether anything is computed of it."""

    def __init__(self, root: fx.Proxy, name: str) -> None:
        super().__init__(root, name)
        self.called = False
        if isinstance(self.tracer, Reader):
            self.tracer.asked.append(self)

    def __call__(self, *args: Any, **kwargs: Any) -> fx.Proxy:
        self.called = True
        return super().__call__(*args, **kwargs)


class Reader(fx.Tracer):
    """Reads a forward of tensors, and fails where it goes by what is not known of them.

    Also where the network's own code catches the error that tells so; and where it only asks whether there is an
    attribute (`hasattr(x, "tensors")`) or which object it is (`x.dtype is torch.half`).
    """

    def trace(self, root: Any, concrete_args: Any = None) -> fx.Graph:
        """Return the graph. Raises what the network's code got from a value that is not known, or whatever else."""
        self.asked: list[UnknownAttribute] = []
        self.thread = get_ident()
        with noticed() as errors:
            graph = super().trace(root, concrete_args)
        for node in graph.find_nodes(op="get_attr"):
            node.meta["value"] = attrgetter(str(node.target))(self.root)
        for attribute in self.asked:
            if not attribute.called and attribute._node is None:
                raise fx.proxy.TraceError(f"it asks for the {attribute.attr} of what is not known")
        if errors:
            raise fx.proxy.TraceError(errors[0])
        return graph

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return Unknown(node, self)

    def call_module(self, m: nn.Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Note a call; let one of another thread, which torch.fx catches as well, go its way."""
        return super().call_module(m, forward, args, kwargs) if get_ident() == self.thread else forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return what stands for a parameter; another thread gets the parameter."""
        return super().getattr(attr, attr_val, parameter_proxy_cache) if get_ident() == self.thread else attr_val

    def gives_tensor(self, node: fx.Node) -> bool:
        """Tell whether a node surely gives a tensor: an input without a default, and the output of torch's modules."""
        if node.op == "placeholder":
            return not node.args
        if node.op != "call_module":
            return False
        module = self.root.get_submodule(str(node.target))
        alone = not isinstance(module, SEVERAL) and not getattr(module, "return_indices", False)
        return type(module).__module__.startswith("torch.nn.") and alone


@contextmanager
def noticed() -> Iterator[list[str]]:
    """Collect what the errors say that asking for unknown values raises in code outside torch, caught there or not."""
    found: list[str] = []

    def inside(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception" and of_unknown(arg[1], arg[2]):
            found.append(str(arg[1]))
        return inside

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        if is_of_torch(frame):  # nearly all: this is called for every call there is
            return None
        frame.f_trace_lines = False
        return inside

    before = sys.gettrace()  # a debugger's
    sys.settrace(enter)
    try:
        yield found
    finally:
        sys.settrace(before)


def of_unknown(error: BaseException, trace: TracebackType) -> bool:
    """Tell whether torch.fx raised an error, or Python did because it got what stands for a value."""
    places = (frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(trace))
    return any(place in (__name__, "torch.fx.proxy") for place in places) or bool(STANDS.search(str(error)))


def asks_type(frame: FrameType) -> bool:
    """Tell whether code outside torch asks for a type: torch's functions, in C, do so in its name, too."""
    return "isinstance" in frame.f_code.co_names and (not is_of_torch(frame) or frame.f_code.co_name == "is_tensor")


def is_of_torch(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "torch"
