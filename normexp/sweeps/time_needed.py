"""How long a sweep will take: a few cells of different kinds are timed, for as short a while as is worth it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from normexp.errors import Interrupted
from normexp.runs.progress import format_duration
from normexp.sweeps.plan import Cell
from normexp.sweeps.pool import UNBEGUN, Worker

MOST_ESTIMATES = 8  # different cells timed for the estimate; the others count as the mean of these
MOST_SECONDS = 10.0  # after the first one, after which no other one is timed,
SHARE, FEWEST_SECONDS = 0.1, 1.0  # or that share of the time that is told, but no fewer than these


def time_needed(workers: Sequence[Worker], cells: Sequence[Cell], force: bool, trials: int) -> str:
    """Say how long the cells take side by side, from estimates of the different kinds; or why that is not known.

    Args:
        trials: as long as these cells each.
    """
    first = {cell.kind: cell for cell in reversed(cells)}

    def told(seconds: Mapping[Any, float]) -> float:
        """Return how long the cells take; those of a kind that was not timed as long as the mean of the others."""
        mean = sum(seconds.values()) / len(seconds)
        total = sum((1 if force else cell.left) * seconds.get(cell.kind, mean) for cell in cells)
        return trials * total / len(workers)

    answers = _timed(workers[0], first, told)
    seconds = _seconds(answers)
    if not seconds:
        return f"how long it takes is not known: {next(iter(answers.values()))['cause']}"
    of_all = f", for {trials} trials" if trials > 1 else ""
    kinds = "each kind of run" if len(seconds) == len(first) else f"{len(seconds)} of {len(first)} kinds of runs"
    side_by_side = f"{format_duration(told(seconds))} with jobs={len(workers)}"
    return f"about {side_by_side}{of_all}, timed by a few steps of {kinds}"


def _timed(
    worker: Worker, kinds: Mapping[Any, Cell], told: Callable[[Mapping[Any, float]], float]
) -> dict[Any, dict[str, Any]]:
    """Return the estimates of kinds of cells, in their order, of as many as a short while after the first one allows.

    Args:
        told: says how long all cells take by the seconds of some kinds.

    Raises: Interrupted, where it is stopped.
    """
    answers: dict[Any, dict[str, Any]] = {}
    began = math.inf  # when the first had started the process and read the data
    for kind, cell in list(kinds.items())[:MOST_ESTIMATES]:
        seconds = _seconds(answers)
        share = max(FEWEST_SECONDS, SHARE * told(seconds)) if seconds else MOST_SECONDS
        if time.monotonic() - began > min(MOST_SECONDS, share):
            break
        try:
            answers[kind] = worker.request({"verb": "estimate", "overrides": cell.overrides})
        except Interrupted:
            raise Interrupted(UNBEGUN) from None
        began = min(began, time.monotonic())
    return answers


def _seconds(answers: Mapping[Any, Mapping[str, Any]]) -> dict[Any, float]:
    """Return the seconds of the kinds of cells that could be timed."""
    return {kind: answer["seconds"] for kind, answer in answers.items() if "seconds" in answer}
