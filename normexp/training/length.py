"""How long a training is, in steps; nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

KEYS = ("steps", "epochs", "eval_every", "evals_per_epoch")


class Length(NamedTuple):
    """Number of updates of a whole run, and of those between two evaluations."""

    steps: int
    eval_every: int


def length_of(values: Mapping[str, Any], steps_per_epoch: int) -> Length:
    """Return the length that a configuration asks for."""
    steps = values["steps"] or values["epochs"] * steps_per_epoch
    return Length(steps, values["eval_every"] or -(-steps_per_epoch // values["evals_per_epoch"]))
