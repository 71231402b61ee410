"""`like: NAME` in an experiment's file: what another experiment says holds, where this file says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LIKE = "like"
OWN = ("summary", "law", "minutes", "claims", "underpowered")  # declared or found out with runs of one's own
OWN_AT_SCALE = ("sequential", "findings", "underpowered")


def laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says that is like another one.

    A mapping is laid over the other's key by key, in its order unless it has all of its keys; all else replaces what
    the other has, and null takes it away, `select` at every scale. What an experiment declares of its results, or has
    found out, is never another's.
    """
    no_choice = ("select",) if own.get("select", ...) is None else ()
    inherited = _without(base, OWN)
    if isinstance(scales := base.get("scales"), Mapping):
        left = (*OWN_AT_SCALE, *no_choice)
        inherited["scales"] = {name: _without(at, left) for name, at in scales.items()}
    return _over(inherited, {key: value for key, value in own.items() if key != LIKE})


def _without(content: Any, keys: tuple[str, ...]) -> Any:
    return {key: each for key, each in content.items() if key not in keys} if isinstance(content, Mapping) else content


def _over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(base)
    for key, value in own.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            made[key] = _over(base[key], value)
        elif value is None and key in base:
            del made[key]
        else:
            made[key] = value
    order = own if base.keys() <= own.keys() else made
    return {key: made[key] for key in order if key in made}
