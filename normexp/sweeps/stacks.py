"""`stack=true`: which cells of a sweep are trained together, as one batched program."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.config.of_grids import STACK
from normexp.config.overrides import take_out
from normexp.config.text import amount
from normexp.errors import UserError
from normexp.records import CHECKPOINT, DAMAGED, METRICS, Together, together_before
from normexp.sweeps.plan import Cell
from normexp.sweeps.pool import Worker
from normexp.sweeps.prefetch import to_download
from normexp.sweeps.workers import worker_pool

if TYPE_CHECKING:
    from normexp.sweeps.submit import Sharing

MOST = 64  # runs of one stack: more gain nothing, and the memory is that of so many networks
MAY_DIFFER = ("seed", "optim.lr", "results_dir")
LARGEST = 1e6  # rate beside ordinary ones: what a step computes with the largest must not overflow in the others
logger = logging.getLogger("normexp")
Job = Cell | tuple[Cell, ...]


def take_stack(overrides: Sequence[str]) -> tuple[str, list[str]]:
    """Take `stack=WORD` out of the overrides: it belongs to the sweep. Raises UserError for another word."""
    given, rest = take_out(overrides, "stack")
    for word in map(str.lower, given):
        if word not in STACK:
            raise UserError(f"stack={word}: allowed: {', '.join(STACK)}")
    return (given or ["false"])[-1].lower(), rest


def check_stacks(cells: Sequence[Cell], sharing: Sharing, force: bool) -> None:
    """Raise UserError where `stack=true` asks for what cannot be trained together, before anything is said or written.

    Nothing is built where data are still to be downloaded.
    """
    if sharing.stack != "true" or not cells or to_download(cell.config for cell in cells):
        return
    begun = [] if force else _begun(cells, {cell.path: together_before(cell.directory) for cell in cells})
    with worker_pool(sharing.workers, 1, sharing.kept) as workers:
        for group in _by_shape(cells, begun, force)[1]:
            if len(group) > 1 and (reason := _why_not(group, workers[0])):
                raise UserError(f"stack=true: {group[0].config.title}: {reason}; stack=auto trains such runs alone")


def stacks(cells: Sequence[Cell], workers: Sequence[Worker], word: str, force: bool) -> list[Job]:
    """Return what the workers train: tuples of cells together, the others alone.

    Cells that differ in seed and learning rate alone make a stack, of 64 at most, or several where workers would be
    idle. One that was begun alone and has a checkpoint goes on alone, a stack that was stopped as it was.

    Args:
        word: `auto` trains alone what cannot be stacked; of `true` that was refused before, by `check_stacks`.
    """
    if word == "false":
        return list(cells)
    before = {cell.path: together_before(cell.directory) for cell in cells}
    begun = [] if force else _begun(cells, before)
    alone, shapes = _by_shape(cells, begun, force)
    jobs: list[Job] = [*begun, *alone]
    share = -(-len(workers) // max(len(shapes), 1))
    for group in shapes:
        if reason := _why_not(group, workers[0]):
            logger.info(f"{len(group)} not stacked: {group[0].config.title}: {reason}")
            jobs += group
        else:
            jobs += _parts(group, share, {before[cell.path].stacked for cell in group} - {0})
    together = [len(job) for job in jobs if isinstance(job, tuple)]
    told = (
        f"{sum(together)} of {len(cells)} runs are trained in {amount(len(together), 'stack')}, in less time than that"
    )
    logger.info(told if together else "no run is stacked")
    return jobs


def _by_shape(
    cells: Sequence[Cell], begun: Sequence[Sequence[Cell]], force: bool
) -> tuple[list[Cell], list[list[Cell]]]:
    """Return the cells that go on alone, and the others in groups that differ in seed and learning rate alone.

    Args:
        begun: stacks that were stopped, whose cells are in neither.
    """
    there = {cell.path for group in begun for cell in group}
    alone: list[Cell] = []
    shapes: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.path in there:
            continue
        if cell.state == DAMAGED or (cell.directory.has(CHECKPOINT) and not force):
            alone.append(cell)
        else:
            shapes.setdefault(_shape(cell), []).append(cell)
    return alone, list(shapes.values())


def _shape(cell: Cell) -> str:
    same = sorted((key, str(value)) for key, value in cell.config.changes.items() if key not in MAY_DIFFER)
    return str((same, cell.config["optim"]["lr"] > LARGEST))


def _why_not(group: Sequence[Cell], worker: Worker) -> str:
    """Return why these cells are not stacked; nothing where they can be."""
    if len(group) < 2:
        return "nothing to stack it with"
    config = group[0].config
    if config.choices["study"] != "none":
        return "a study trains as it likes"
    if config["logger"]:
        return "logger= is of single runs"
    if config["compile"] == "norms":
        return "compile=norms is of single runs"
    two = [cell.overrides for cell in group[:2]]
    return str(worker.request({"verb": "stackable", "overrides": two}).get("cause", ""))


def _begun(cells: Sequence[Cell], before: Mapping[Path, Together]) -> list[tuple[Cell, ...]]:
    """Return the stacks that were stopped while they trained, without those of their runs that have ended."""
    groups: dict[tuple[str, int, str], list[Cell]] = {}
    for cell in cells:
        if (program := before[cell.path]).stacked:
            groups.setdefault((_shape(cell), program.stacked, program.stack), []).append(cell)
    return [tuple(group) for group in groups.values() if any(map(_has_begun, group))]


def _has_begun(cell: Cell) -> bool:
    """Tell whether there is a row of step 0, which is written when all runs of a stack are there."""
    try:
        return bool(cell.directory.rows(METRICS))
    except (UserError, FileNotFoundError):
        return False


def _parts(group: Sequence[Cell], workers: int, sizes: set[int]) -> list[Job]:
    """Divide a group evenly: a stack for every worker of its own, and none above the largest size.

    Args:
        workers: this group's share of them, at least one.
        sizes: of stacks that were stopped before all of their runs were there; these are divided as they were.
    """
    count = max(-(-len(group) // MOST), min(workers, len(group) // 2))
    if len(sizes) == 1 and len(group) % (size := sizes.pop()) == 0:
        count = len(group) // size
    cuts = [len(group) * part // count for part in range(count + 1)]
    return [tuple(group[start:stop]) for start, stop in pairwise(cuts)]
