"""`stack=true`: which cells of a sweep are trained together, as one batched program."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from normexp.config.of_grids import STACK
from normexp.config.overrides import take_out
from normexp.config.text import amount
from normexp.errors import UserError
from normexp.records import CHECKPOINT, DAMAGED, METRICS, Together, together_before
from normexp.sweeps.plan import Cell
from normexp.sweeps.pool import Worker

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


def stacks(cells: Sequence[Cell], workers: Sequence[Worker], word: str, force: bool) -> list[Job]:
    """Return what the workers train: tuples of cells together, the others alone.

    Cells that differ in seed and learning rate alone make a stack, of 64 at most, or several where workers would be
    idle. One that was begun alone and has a checkpoint goes on alone, a stack that was stopped as it was.

    Args:
        word: `auto` trains alone what cannot be stacked, `true` refuses it.

    Raises: UserError, before anything is written.
    """
    if word == "false":
        return list(cells)
    before = {cell.path: together_before(cell.directory) for cell in cells}
    begun = [] if force else _begun(cells, before)
    there = {cell.path for group in begun for cell in group}
    alone, shapes = _by_shape([cell for cell in cells if cell.path not in there], force)
    jobs: list[Job] = [*begun, *alone]
    share = -(-len(workers) // max(len(shapes), 1))
    for group in shapes:
        if reason := _why_alone(group, workers[0], word):
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


def _by_shape(cells: Sequence[Cell], force: bool) -> tuple[list[Cell], list[list[Cell]]]:
    """Return the cells that go on alone, and the others in groups that differ in seed and learning rate alone."""
    alone: list[Cell] = []
    shapes: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.state == DAMAGED or (cell.directory.has(CHECKPOINT) and not force):
            alone.append(cell)
        else:
            shapes.setdefault(_shape(cell), []).append(cell)
    return alone, list(shapes.values())


def _why_alone(group: Sequence[Cell], worker: Worker, word: str) -> str:
    """Return why these cells are trained alone; nothing where a stack can be made. Raises UserError where it must."""
    if len(group) < 2:
        return "nothing to stack it with"
    reason = _why_not(group, worker)
    if reason and word == "true":
        raise UserError(f"stack=true: {group[0].config.title}: {reason}; stack=auto trains such runs alone")
    return reason


def _shape(cell: Cell) -> str:
    same = sorted((key, str(value)) for key, value in cell.config.changes.items() if key not in MAY_DIFFER)
    return str((same, cell.config["optim"]["lr"] > LARGEST))


def _why_not(group: Sequence[Cell], worker: Worker) -> str:
    """Return why these cells are not stacked; nothing where they can be."""
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
