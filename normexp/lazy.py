"""Public names that are imported when they are first used; a wrong one is told the nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazy_loader

from normexp.errors import did_you_mean, nearest

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach_stub(package: str, file: str) -> Attached:
    """Return a package's `__getattr__`, `__dir__` and `__all__`, from the stub beside its file.

    Python itself proposes a name where it prints a traceback; a notebook, a log and `str(error)` have ours alone.
    """
    load, listed, names = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if name in names:
            return load(name)
        hint = did_you_mean(nearest(name, names))
        # with a name and no object Python proposes nothing more
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name)

    return get, listed, names
