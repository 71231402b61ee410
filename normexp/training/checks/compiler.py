"""What `compile` needs on the machine."""

from __future__ import annotations

from normexp.config.text import shown
from normexp.errors import UserError


def check_compiler(setting: bool | str) -> None:
    """Raise UserError where torch's compiler finds no C++ compiler for `compile=setting` on a CPU."""
    from torch._inductor.cpp_builder import get_cpp_compiler

    try:
        get_cpp_compiler()
    except RuntimeError:
        raise UserError(
            f"compile={shown(setting)}: needs a C++ compiler, and none was found (g++, or what CXX names); "
            "compile=false needs none"
        ) from None
