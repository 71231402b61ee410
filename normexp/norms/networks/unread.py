"""Why torch.fx could not read a network's forward, in one line that says what to write."""

from __future__ import annotations

import traceback
from itertools import pairwise
from types import FrameType

from torch import fx, nn

from normexp.errors import first_line


def why_unread(error: Exception, model: nn.Module) -> str:
    """Return in one line why a network's forward cannot be read, and what to give in place of a wrapper around it."""
    inner = next((name for name in ("_orig_mod", "module") if isinstance(getattr(model, name, None), nn.Module)), None)
    unknown = isinstance(error, NameError) and "not installed" in str(error)  # as torch.fx says it
    why = "it calls a module that is not registered as one of its own" if unknown else first_line(error)
    if name := _called_by_forward(error):
        why = f"it calls {name}.forward(x), so that what is inside is read, too; write {name}(x)"
    return f"{why}{f'; give the network inside it, model.{inner}' if inner else ''}"


def stranger(error: BaseException | None) -> nn.Module | None:
    """Return the module that torch.fx met and that is not registered, if that is what the error says."""
    frames = traceback.walk_tb(error.__traceback__) if isinstance(error, NameError) else ()
    found = (frame.f_locals.get("mod") for frame, _ in frames if frame.f_code.co_name == "path_of_module")
    return next((each for each in found if isinstance(each, nn.Module)), None)


def _called_by_forward(error: Exception) -> str:
    """Return the name of a layer of torch's whose forward() failed, called by another module without its `__call__`.

    A call of the layer itself is read as one, whatever is inside.
    """
    calls = [(frame, _owner(frame)) for frame, _ in traceback.walk_tb(error.__traceback__)]
    methods = [(frame, module) for frame, module in calls if module is not None]
    for (_, caller), (frame, module) in pairwise(methods):
        is_one_call = fx.Tracer().is_leaf_module(module, "")
        if frame.f_code.co_name == "forward" and module is not caller and is_one_call:
            names = (name for _, root in methods for name, each in root.named_modules() if each is module)
            return next(names, "")
    return ""


def _owner(frame: FrameType) -> nn.Module | None:
    """Return the module whose method runs in a frame."""
    first = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
    return first if issubclass(type(first), nn.Module) else None  # isinstance would ask a proxy of torch.fx itself
