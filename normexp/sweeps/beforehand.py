"""What the last run of a plan would be refused for is said before the first one trains, and before anything is written.

A worker builds every different combination of parts once, whatever the seeds: it has torch and the user's modules
imported then, and trains with them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.config import Config
from normexp.errors import Interrupted, Unavailable, UserError
from normexp.sweeps.pool import UNBEGUN, Worker
from normexp.sweeps.prefetch import to_download
from normexp.sweeps.workers import worker_pool

if TYPE_CHECKING:
    from normexp.sweeps.plan import Cell
    from normexp.sweeps.submit import Sharing

Kind = tuple[Hashable, ...]


def check_parts(
    cells: Sequence[Cell], sharing: Sharing, said: Callable[[Cell, str], str], probed: bool = False
) -> dict[Path, list[str]]:
    """Build the parts of every different run; return what its probe measures, where it was tried.

    What this command has checked before is not built again, and nothing is where data are still to be downloaded. With
    workers elsewhere, what this machine alone lacks is passed by.

    Args:
        said: (cell, cause) -> the line of the error.
        probed: try the probes of ours, too.

    Raises: UserError for the first run that would be refused, Interrupted where it is stopped.
    """
    kind_of = {cell.path: _kind(cell.config) for cell in cells}
    first: dict[Kind, Cell] = {}
    for cell in cells:
        first.setdefault(kind_of[cell.path], cell)
    known: dict[Kind, list[str] | None] = {} if sharing.kept is None else sharing.kept.checked
    new = [kind for kind in first if kind not in known or (probed and known[kind] is None)]
    if new and not to_download(first[kind].config for kind in new):
        new.sort(key=lambda kind: str(first[kind].config["dataset"]))  # a worker keeps the last data that it has read
        with worker_pool(sharing.workers, 1, None if sharing.is_elsewhere else sharing.kept) as workers:
            for kind in new:
                known[kind] = _checked(workers[0], first[kind], sharing.is_elsewhere, said, probed)
    return {path: names for path, kind in kind_of.items() if (names := known.get(kind)) is not None}


def _kind(config: Config) -> Kind:
    """Return what its parts are made from: all but the seed, and the numbers of an optimizer that is not its own."""
    passed_by = "seed" if "." in config.choices["optim"] else ("seed", "optim.")
    return tuple((key, str(value)) for key, value in config.changes.items() if not key.startswith(passed_by))


def _checked(
    worker: Worker, cell: Cell, elsewhere: bool, said: Callable[[Cell, str], str], probed: bool
) -> list[str] | None:
    """Return what the probe of a run measures; None where it was not tried, or the worker failed by another fault."""
    try:
        answer = worker.request({"verb": "check", "overrides": cell.overrides, "probed": probed})
    except Interrupted:
        raise Interrupted(UNBEGUN) from None
    if answer.get("unavailable") and not elsewhere:
        raise Unavailable(answer["refused"])
    if "refused" in answer and not answer["unavailable"]:
        raise UserError(said(cell, answer["refused"]))
    names: list[str] | None = answer.get("probed")
    return names
