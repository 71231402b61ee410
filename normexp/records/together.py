"""In which program a run was trained, which decides how it is rounded: alone, or as one of a stack."""

from __future__ import annotations

from typing import NamedTuple

from normexp.records.run import RunDirectory, environment_before


class Together(NamedTuple):
    """What environment.json says of a stack; alone by default.

    Args:
        stacked: of how many runs it was.
        stack: the name of the first of them.
        row: the run's own.
        rate: the largest of all, with which every update is made.
    """

    stacked: int = 0
    stack: str = ""
    row: int = 0
    rate: float = 0.0


def together_before(directory: RunDirectory) -> Together:
    """Return in what program the attempt before was trained; alone where its environment.json is damaged."""
    before = environment_before(directory)
    return Together(*(before.get(key, usual) for key, usual in Together._field_defaults.items()))  # type: ignore[arg-type]
