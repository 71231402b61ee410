"""A sweep as its workers share it: the folder results/.sweeps/ID with the plan, the claims and the workers' files.

Nothing in it is absolute: moved or copied together with the results, it is continued where it lies.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import socket
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from normexp.config.text import override_text
from normexp.errors import UserError
from normexp.records.files import folder_above, read_regular, write_atomically
from normexp.records.parsing import json_object
from normexp.records.printable import printable
from normexp.sweeps.claim_folder import BLOCK, ClaimFolder
from normexp.sweeps.last import lies_below
from normexp.sweeps.protocol import CellState, carry_out, cell_states, claim_name, reopen

RUNS = "runs"  # in the results folder: where the runs of no experiment are
USUAL = "the defaults"  # what a cell is called that has the usual value of all that varies
SWEEPS = ".sweeps"  # in the results folder; what looks for run directories passes hidden folders by
PLAN = "plan.json.gz"
MOST_PLAN = 2**28  # bytes, packed
VERSION = 1


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a shared sweep: the overrides of its run, and its run directory below the results folder."""

    overrides: tuple[str, ...]
    path: str


class CellToTrain(Protocol):
    """A cell as a plan has it."""

    @property
    def overrides(self) -> list[str]: ...

    @property
    def path(self) -> Path: ...

    @property
    def state(self) -> str:
        """The status of its record when the sweep was planned."""


@dataclass(frozen=True)
class Pace:
    """How often a worker shows that it lives, and how long without that makes it dead: seconds, one pair a sweep."""

    heartbeat: float = 10.0
    takeover: float = 90.0


class SharedSweep:
    """A sweep's folder. Raises UserError for one that cannot be read, on the first look at its plan."""

    def __init__(self, path: Path) -> None:
        self.path, self.folder = path, ClaimFolder(path)

    @property
    def results(self) -> Path:
        return folder_above(folder_above(self.path))

    @cached_property
    def plan(self) -> dict[str, Any]:
        """What was planned: `common` overrides, `cells`, `heartbeat`, `takeover`, `own_results`."""
        if self.path.is_file():
            raise UserError(f"{printable(self.path)}: is a file; give the folder results/{SWEEPS}/ID of a sweep")
        try:
            plan = json_object(_unpacked(read_regular(self.path / PLAN, MOST_PLAN)))
            if plan["version"] != VERSION:
                raise UserError(f"{printable(self.path / PLAN)}: of another version of normexp")
            _check_plan(plan)
            return plan
        except FileNotFoundError:
            raise UserError(
                f"{printable(self.path)}: {socket.gethostname()} sees no plan of a sweep there ({PLAN}); "
                "its folder must be shared between the machines"
            ) from None
        except (OSError, EOFError, ValueError, KeyError, TypeError):
            raise UserError(f"{printable(self.path / PLAN)}: damaged; delete it, and start the sweep again") from None

    @property
    def pace(self) -> Pace:
        return Pace(float(self.plan["heartbeat"]), float(self.plan["takeover"]))

    def __len__(self) -> int:
        return len(self.plan["cells"])

    @property
    def blocks(self) -> range:
        return range(-(-len(self) // BLOCK))

    def cells_of(self, block: int) -> range:
        return range(block * BLOCK, min(len(self), (block + 1) * BLOCK))

    def states(self, block: int) -> dict[int, CellState]:
        """Return the states of a block's cells, also of those that nobody has claimed."""
        known = cell_states(self.folder.claims(block))
        return {cell: known.get(cell, CellState()) for cell in self.cells_of(block)}

    def cell(self, number: int) -> PlannedCell:
        """Return a cell as this machine trains it: its results folder is where the plan was found."""
        path, own = self.plan["cells"][number]
        here = [f"results_dir={override_text(str(self.results))}"] if self.plan["own_results"] else []
        return PlannedCell((*self.plan["common"], *own, *here), path)

    def directory(self, number: int) -> Path:
        return self.results / self.plan["cells"][number][0]

    @cached_property
    def names(self) -> dict[str, str]:
        """What tells a cell apart, by its run directory: overrides that not all have; in an experiment, that place."""
        plain = {path: " ".join(own) for path, own in self.plan["cells"] if path.startswith(f"{RUNS}/")}
        return {path: plain.get(path, path) or USUAL for path, _ in self.plan["cells"]}

    def name(self, number: int) -> str:
        """Return what tells a cell apart."""
        return self.names[self.plan["cells"][number][0]]

    def cause(self, cell: int, generation: int) -> str:
        """Return why a cell failed at one of its claims; nothing where that is not known."""
        return self.folder.read(f"{claim_name(cell, generation)}.failed") or ""

    def retry_failed(self, lost: Collection[int]) -> int:
        """Open the cells that failed to whoever wants to try again, and those that are lost; return how many.

        Args:
            lost: cells without a finished record, which may have been there when they ended.
        """
        failed = [
            (cell, state.generation)
            for block in self.blocks
            for cell, state in self.states(block).items()
            if state.end == "failed" or (state.end and cell in lost)
        ]
        for cell, generation in failed:
            carry_out(reopen(cell, generation), self.folder)
        return len(failed)


def is_shared_sweep(path: Path) -> bool:
    """Tell whether a path is the folder of a shared sweep, results/.sweeps/ID."""
    return os.path.exists(path / PLAN)


def shared_sweep(cells: Sequence[CellToTrain], results: Path) -> SharedSweep:
    """Return the folder that a sweep of these cells has or would have; its name says what the cells are."""
    return _folder(_planned(cells, results), results)


def write_plan(cells: Sequence[CellToTrain], results: Path, pace: Pace) -> SharedSweep:
    """Write the plan of a sweep unless it is there; return its folder. Whoever was first sets the pace.

    Raises: UserError where it cannot be written.
    """
    planned = _planned(cells, results)
    sweep = _folder(planned, results)
    if (sweep.path / PLAN).exists():
        return sweep
    try:
        sweep.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"results_dir: cannot make {printable(sweep.path)} ({error.strerror})") from None
    plan = {"version": VERSION, "heartbeat": pace.heartbeat, "takeover": pace.takeover, **planned}
    packed = gzip.compress(json.dumps(plan, separators=(",", ":")).encode(), mtime=0)
    write_atomically(sweep.path / PLAN, packed)
    return sweep


def _unpacked(data: bytes) -> bytes:
    """Return what gzip packed. Raises ValueError where it is damaged, cut off, or larger than any plan."""
    reader = zlib.decompressobj(wbits=31)  # of a gzip file
    try:
        content = reader.decompress(data, MOST_PLAN)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not reader.eof:
        raise ValueError("cut off, or too large")
    return content


def _check_plan(plan: dict[str, Any]) -> None:
    """Raise ValueError, KeyError or TypeError for a plan of another form, or with a run outside the results folder."""
    _ = float(plan["heartbeat"]), float(plan["takeover"])
    overrides = [plan["common"], *(own for _, own in plan["cells"])]
    if not all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in overrides):
        raise ValueError("overrides are lists of texts")
    if not all(lies_below(path) for path, _ in plan["cells"]):
        raise ValueError("a run lies elsewhere")


def forget_plan(sweep: SharedSweep) -> None:
    """Remove the folder of a sweep for which nothing could be started; not where a worker has claimed a cell."""
    if (sweep.path / "claims").exists():
        return
    shutil.rmtree(sweep.path, ignore_errors=True)
    with suppress(OSError):  # holds others
        sweep.path.parent.rmdir()
        sweep.results.rmdir()


def _folder(planned: dict[str, Any], results: Path) -> SharedSweep:
    content = json.dumps(planned, separators=(",", ":"))
    return SharedSweep(results / SWEEPS / hashlib.sha256(content.encode()).hexdigest()[:8])


def _planned(cells: Sequence[CellToTrain], results: Path) -> dict[str, Any]:
    """Return what all cells have in common, and of each its directory below the results and its own overrides."""
    all_overrides = [[word for word in cell.overrides if not word.startswith("results_dir=")] for cell in cells]
    common = set(all_overrides[0]).intersection(*all_overrides[1:]) if all_overrides else set()
    return {
        "own_results": any(word.startswith("results_dir=") for word in cells[0].overrides),
        "common": [word for word in all_overrides[0] if word in common],
        "cells": [
            [cell.path.relative_to(results).as_posix(), [word for word in words if word not in common]]
            for cell, words in zip(cells, all_overrides, strict=True)
        ],
    }
