"""What a module with an autograd function of its own computes, as functions that a compiler can take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Passes(NamedTuple):
    """Forward and backward as functions of a module and tensors that change neither; whoever calls them keeps buffers.

    For a module whose backward writes buffers, which no compiler takes as a whole: `compile=norms` compiles the two.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]
