"""What holds a scheme of the user's own to the contract, when its class is made and when it is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from normexp.errors import UserError, did_you_mean, nearest, never_awaited, not_taking
from normexp.norms.own.hooks import making

if TYPE_CHECKING:
    from normexp.norms.base import Norm

OLD_HOOKS = {
    "activation": "normalization",
    "weight": "parametrize",
    "recurrent_weight": "parametrize_recurrent",
    "after_step": "step_hook",
}

MAKERS = (
    "parametrize", "normalization", "linear_normalization", "sequence", "nonlinearity", "recurrent",
    "parametrize_recurrent", "pool",
)  # fmt: skip


def hold_to_contract(scheme: type[Norm], base: type[Norm]) -> None:
    """Have a new class check its options after its own rules, and what its hooks return.

    Args:
        base: the class that has the contract.

    Raises: UserError for a hook under a name that it had once, and for a method in place of a property: that is true
        whatever it would return.
    """
    for name, each in vars(base).items():
        if isinstance(each, property) and isinstance(vars(scheme).get(name), FunctionType):
            raise UserError(f"{_name(scheme)}: {name} is a property; write @property above it")
    for old, new in OLD_HOOKS.items():
        if callable(vars(scheme).get(old)):
            raise UserError(f"{_name(scheme)}: the hook {old}() of a scheme is now called {new}()")
    for name, checked in (("__post_init__", _checked_before), ("__init__", _checked_after)):
        if name in vars(scheme):
            setattr(scheme, name, checked(base, vars(scheme)[name]))
    for name in MAKERS if is_own(scheme) else ():
        if isinstance(hook := vars(scheme).get(name), FunctionType) and not never_awaited(hook):
            setattr(scheme, name, making(hook))


def check_hooks(scheme: Norm, base: type[Norm]) -> None:
    """Raise UserError for a scheme without a hook, or with one that cannot be called with what it is called with."""
    _check_any(type(scheme), base)
    _check_signatures(scheme, base)


def _checked_before(base: type[Norm], rules: Callable[..., None]) -> Callable[..., None]:
    """Return a scheme's own rules behind those of all schemes."""

    @functools.wraps(rules)
    def __post_init__(self: Norm, *given: Any) -> None:
        base.__post_init__(self)
        rules(self, *given)

    return __post_init__


def _checked_after(base: type[Norm], own: Callable[..., None]) -> Callable[..., None]:
    """Return the `__init__` that somebody wrote by hand for a scheme, which then is held to the rules of all."""

    @functools.wraps(own)
    def __init__(self: Norm, *given: Any, **named: Any) -> None:
        own(self, *given, **named)
        if type(self).__init__ is __init__:  # the outermost one: now all options are set
            base.__post_init__(self)

    return __init__


def _hooks(base: type[Norm]) -> list[str]:
    return [name for name, each in vars(base).items() if isinstance(each, FunctionType) and not name.startswith("_")]


def _check_signatures(scheme: Norm, base: type[Norm]) -> None:
    """Raise UserError for a hook that is an `async def`, or does not take what it is called with.

    It would end a run that has begun.
    """
    for hook in _hooks(base) if is_own(type(scheme)) else ():
        if getattr(type(scheme), hook) is getattr(base, hook):
            continue
        if wrong := never_awaited(getattr(scheme, hook)):
            raise UserError(f"{_name(type(scheme))}: its {hook}() {wrong}")
        if wrong := not_taking(getattr(scheme, hook), getattr(base, hook)):
            raise UserError(f"{_name(type(scheme))}: its {hook}() {wrong}")


def _check_any(scheme: type[Norm], base: type[Norm]) -> None:
    """Raise UserError for a scheme that replaces no hook, one misspelled, say: it would be `norm=none` unnoticed."""
    hooks = _hooks(base)
    if scheme is base or any(getattr(scheme, hook) is not getattr(base, hook) for hook in hooks):
        return
    close = next(filter(None, (nearest(name, hooks, 0.6) for name in vars(scheme) if not name.startswith("_"))), None)
    raise UserError(
        f"{_name(scheme)}: replaces no hook of a scheme, so that it would do nothing; "
        f"allowed: {', '.join(hooks)}{did_you_mean(close and f'{close}()')}"
    )


def is_own(scheme: type[Norm]) -> bool:
    """Tell whether a scheme is the user's own."""
    return not scheme.__module__.startswith("normexp.")


def _name(scheme: type[Norm]) -> str:
    return f"{scheme.__module__}.{scheme.__name__}"
