"""What the last run of a plan would be refused for is said before the first one trains, and before anything is written.

A worker builds every different combination of parts once, whatever the seeds: it has torch and the user's modules
imported then, and trains with them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
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
    cells: Iterable[Cell], sharing: Sharing, said: Callable[[Cell, str], str], probed: bool = False
) -> dict[Path, list[str]]:
    """Build the parts of every different run; return what its probe measures, where it was tried.

    What this command has checked before is not built again. Left out are data that have to be downloaded first; with
    workers elsewhere also what this machine alone lacks.

    Args:
        said: (cell, cause) -> the line of the error.
        probed: try the probes of ours, too.

    Raises: UserError for the first run that would be refused, Interrupted where it is stopped.
    """
    kind_of = {cell.path: (probed, *_kind(cell.config)) for cell in cells}
    first = {kind_of[cell.path]: cell for cell in reversed(list(cells))}
    known: dict[Kind, list[str]] = {} if sharing.kept is None else sharing.kept.checked
    absent = to_download(cell.config for cell in first.values())
    new = [kind for kind in first if kind not in known and first[kind].config.choices["dataset"] not in absent]
    if new:
        new.sort(key=lambda kind: str(first[kind].config["dataset"]))  # a worker keeps the last data that it has read
        with worker_pool(sharing.workers, 1, None if sharing.is_elsewhere else sharing.kept) as workers:
            for kind in new:
                known[kind] = _checked(workers[0], first[kind], sharing.is_elsewhere, said, probed)
    return {path: known[kind] for path, kind in kind_of.items() if kind in known}


def _kind(config: Config) -> Kind:
    """Return what its parts are made from: all but the seed, and the numbers of an optimizer that is not its own."""
    passed_by = "seed" if "." in config.choices["optim"] else ("seed", "optim.")
    return tuple((key, str(value)) for key, value in config.changes.items() if not key.startswith(passed_by))


def _checked(worker: Worker, cell: Cell, elsewhere: bool, said: Callable[[Cell, str], str], probed: bool) -> list[str]:
    try:
        answer = worker.request({"verb": "check", "overrides": cell.overrides, "probed": probed})
    except Interrupted:
        raise Interrupted(UNBEGUN) from None
    if "refused" in answer and not (elsewhere and answer["unavailable"]):
        raise (Unavailable if answer["unavailable"] else UserError)(said(cell, answer["refused"]))
    return list(answer.get("probed", []))
