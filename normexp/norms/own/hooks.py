"""What the hooks of a user's own scheme make: modules that are the scheme's, drawn from a stream of their own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import nn

from normexp.errors import kind_of
from normexp.seeding import seeded

if TYPE_CHECKING:
    from normexp.norms.base import Norm

MARK = "of_the_scheme"  # an attribute of a module that a scheme has made for itself
MADE_BY = "made_by_hook"  # one of a module whose output has its input's shape and type
KEEPING_FORM = ("normalization", "linear_normalization", "sequence")


@dataclass(frozen=True)
class _Places:
    seed: int
    numbers: Iterator[int] = field(default_factory=itertools.count)


_places: ContextVar[_Places | None] = ContextVar("places", default=None)


@contextmanager
def hooks_drawn(seed: int) -> Iterator[None]:
    """Give every call of an own hook in this block a stream of its own, by the seed and its place in the order.

    What a scheme draws then shifts nothing that the network draws. Outside of such a block a hook draws from the
    global generators, as a torch module does.
    """
    token = _places.set(_Places(seed))
    try:
        yield
    finally:
        _places.reset(token)


def making(hook: Callable[..., Any]) -> Callable[..., nn.Module]:
    """Return a hook of somebody's own, of which what it returns is looked at: a `return` is soon forgotten."""

    @functools.wraps(hook)
    def made(self: Norm, *given: Any, **named: Any) -> nn.Module:
        before = _modules_of(*given, *named.values())
        with _drawn():
            module = hook(self, *given, **named)
        if not isinstance(module, nn.Module):
            told = f"returned a {kind_of(module)}, not a torch.nn.Module"
            raise ValueError(f"{type(self).__name__}.{hook.__name__} {told}")
        if hook.__name__ == "recurrent":
            _must_be_step(type(self).__name__, module)
        sets_weights = hook.__name__.startswith("parametrize")  # of a layer, which stays the network's
        made = _modules_of(getattr(module, "parametrizations", None)) if sets_weights else _modules_of(module)
        for each in made - before:
            setattr(each, MARK, True)
        if hook.__name__ in KEEPING_FORM:
            setattr(module, MADE_BY, hook.__name__)
        return module

    return made


def is_of_scheme(module: nn.Module) -> bool:
    """Tell whether a hook of the user's own has made a module: it keeps its start, and is no layer of the network."""
    return getattr(module, MARK, False) is True


def normalizing_hook(module: nn.Module) -> str | None:
    """Return which hook of the user's own has made a module that keeps shape and type; None of any other."""
    return getattr(module, MADE_BY, None)


def _must_be_step(scheme: str, module: nn.Module) -> None:
    """Raise ValueError for another module in a recurrent network, which would leave it out unnoticed."""
    from normexp.norms.base import Step

    if not isinstance(module, Step):
        kind = type(module).__name__
        meant = f"return TimeStep({kind}(...)), or derive {kind} from Step (both of normexp.norms.base)"
        raise ValueError(f"{scheme}.recurrent returned a {kind}, not a Step; {meant}")


def _drawn() -> AbstractContextManager[None]:
    places = _places.get()
    return nullcontext() if places is None else seeded(places.seed, "scheme", next(places.numbers))


def _modules_of(*values: object) -> set[nn.Module]:
    return {each for value in values if isinstance(value, nn.Module) for each in value.modules()}
