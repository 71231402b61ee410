"""`like: NAME` in an experiment's file: what another experiment says holds, where this file says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normexp.errors import unknown
from normexp.experiments.document import LIKE, Document

OWN = ("summary", "law", "minutes", "claims", "underpowered")  # declared or found out with runs of one's own
OWN_AT_SCALE = ("sequential", "findings", "underpowered")
LAID_OVER = ("arms", "grid", "select")  # by scales, too, where nothing is left of what is taken away
NAMED = {"arms": "arm", "refused": "refused arm", "grid": "axis"}


def laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says that is like another one.

    A mapping is laid over the other's key by key, in its order unless it has all of its keys; all else replaces what
    the other has, and null takes it away, of arms, grid and `select` at every scale. What an experiment declares of its
    results, or has found out, is never another's.
    """
    if isinstance(scales := base.get("scales"), Mapping):
        base = {**base, "scales": {name: {} if at is None else at for name, at in scales.items()}}
    return _over(_inherited(base, own), {key: value for key, value in own.items() if key != LIKE}, base)


def check_names(document: Document, base: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise UserError for an arm or an axis that null would take away, and that the other does not have."""
    for key, what in NAMED.items():
        there, said = base.get(key, {}), own.get(key)
        if isinstance(there, Mapping) and isinstance(said, Mapping):
            for name in (name for name, value in said.items() if value is None and name not in there):
                raise document.error(str(unknown(what, str(name), map(str, there))), key, name)


def _inherited(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of the other can be a file's that says this."""
    inherited: dict[str, Any] = _without(base, OWN)
    if isinstance(scales := base.get("scales"), Mapping):
        gone = {key: own.get(key, {}) for key in LAID_OVER}
        inherited["scales"] = {name: _left(_without(at, OWN_AT_SCALE), gone) for name, at in scales.items()}
    return inherited


def _without(content: Any, keys: tuple[str, ...]) -> Any:
    return {key: each for key, each in content.items() if key not in keys} if isinstance(content, Mapping) else content


def _left(content: Any, gone: Any) -> Any:
    """Return content without what is null in the other mapping."""
    if not (isinstance(content, Mapping) and isinstance(gone, Mapping)):
        return content
    there = {key: each for key, each in content.items() if gone.get(key, ...) is not None}
    return {key: _left(each, gone.get(key)) for key, each in there.items()}


def _over(base: Mapping[str, Any], own: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says over what is inherited.

    Args:
        whole: what the other has, with what is not inherited. Null takes away what is there; over null it is a value.
    """
    made = dict(base)
    for key, value in own.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            made[key] = _over(base[key], value, whole[key])
        elif value is None and whole.get(key) is not None:
            made.pop(key, None)
        else:
            made[key] = value
    order = own if base.keys() <= own.keys() else made
    return {key: made[key] for key in order if key in made}
