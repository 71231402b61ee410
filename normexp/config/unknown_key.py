"""What is said of a key that does not exist: what there is, and the nearest of it."""

from __future__ import annotations

from collections.abc import Sequence

from normexp.config.hints import key_hint, place_hint
from normexp.config.options import groups, options_with
from normexp.config.text import shortened
from normexp.errors import UserError, did_you_mean, nearest


def unknown_key(key: str, text: str, leaves: Sequence[str]) -> UserError:
    """Name the nearest key: by the whole path, else by its last part (`optimizer.lrr` is near `optim.lr`)."""
    names = [*groups(), *(leaf for leaf in leaves if not leaf.endswith("_target_"))]
    last = {name.rpartition(".")[2]: name for name in names}
    close = key_hint(key, names, text)
    if close is None:
        close = nearest(key, names) or last.get(nearest(key.rpartition(".")[2], last) or "")
    group, _, rest = key.partition(".")
    if group in groups():
        allowed = ", ".join(name for name in names if name.startswith(f"{group}.")) or f"no key of {group}"
        if place := place_hint(key, names):
            close = place
        elif having := options_with(group, rest):
            usual = next((name for name in having if name in rest), having[0])
            return UserError(
                f"key {shortened(key)!r} does not exist; allowed: {allowed}; {' or '.join(having)} has it: "
                f"{group}={usual} {key}={shortened(text)}"
            )
    else:
        allowed = ", ".join(name for name in names if "." not in name) + " and GROUP.KEY"
    return UserError(f"key {shortened(key)!r} does not exist; allowed: {allowed}{did_you_mean(close)}")
