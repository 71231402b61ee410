"""What a study reads of a configuration; all else would change nothing, under a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normexp.config.identity import IGNORED_KEYS
from normexp.config.text import shortened, shown
from normexp.errors import Impossible

NETWORK = ("dataset", "inputs", "model", "norm", "placement", "init", "batch_size", "compile", "precision", "seed")
TRAINING = (*NETWORK, "optim", "schedule", "epochs", "steps", "clip_norm")
_SETS = {"network": NETWORK, "training": TRAINING}


def check_study(name: str, about: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise Impossible for a change of what a study does not read, by its `_reads_`.

    Args:
        about: the description keys of the study's option.
        changes: key or group -> value, of all that differs from the defaults.
    """
    if "_reads_" not in about:
        return
    read = groups_read(about)
    for key, value in changes.items():
        if key.partition(".")[0] not in (*read, *IGNORED_KEYS, "study"):
            typed = shortened(shown(value))
            only = f"it reads {', '.join(read)} alone" if read else "it reads nothing else"
            raise Impossible(f"{key}={typed} with study={name}, which does nothing with it: {only}; leave it out")


def groups_read(about: Mapping[str, Any]) -> list[str]:
    """Return the groups and keys outside groups that a study's option names in `_reads_`, one by one or as a set."""
    named = about["_reads_"]
    return [group for word in named for group in _SETS.get(word, (word,))]
