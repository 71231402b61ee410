"""Runs that are finished elsewhere with the same settings: they are taken from there, and not trained again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from normexp.config import Config
from normexp.config.identity import identity
from normexp.errors import UserError
from normexp.records import FINISHED, RunDirectory, find_runs, printable
from normexp.records.counting import whole
from normexp.runs.own_code import changed_code, with_another
from normexp.runs.place import check_data, with_content
from normexp.runs.run import check_complete, check_stale
from normexp.sweeps.plan import Cell

logger = logging.getLogger("normexp")


@dataclass(frozen=True)
class Elsewhere:
    """The finished runs at or below a path, by what makes two runs the same run; none where there is no path."""

    path: Path | None
    _sound: dict[str, RunDirectory | None] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return printable(self.path)

    @cached_property
    def runs(self) -> dict[str, list[RunDirectory]]:
        """Identity -> records of that run; what is unfinished or cannot be read is left out.

        Raises UserError where there is none.
        """
        found: dict[str, list[RunDirectory]] = {}
        for run in find_runs([self.path] if self.path is not None else []):
            try:
                if run.status["status"] in FINISHED:
                    found.setdefault(_identity(run), []).append(run)
            except UserError as error:
                logger.info(f"not taken: {error}")
        return found

    def split(self, cells: Sequence[Cell]) -> tuple[dict[Path, RunDirectory], list[Cell]]:
        """Return {place of a new cell: run that has its settings, defaults and data}, and the other cells."""
        taken = {} if self.path is None else self._of(cells)
        return taken, [cell for cell in cells if cell.path not in taken]

    def _of(self, cells: Sequence[Cell]) -> dict[Path, RunDirectory]:
        new = {cell.path: with_content(cell.config) for cell in cells if cell.state == "new"}
        return {path: run for path, config in new.items() if (run := self._run(config))}

    def _run(self, config: Config) -> RunDirectory | None:
        """Return the first record of a run that can stand for it; of the others before it is said once why not."""
        if config.identity not in self._sound:
            records = self.runs.get(config.identity, [])
            self._sound[config.identity] = next((run for run in records if _is_sound(run, config)), None)
        return self._sound[config.identity]


NOWHERE = Elsewhere(None)


def _identity(run: RunDirectory) -> str:
    return identity(run.config.get("_changes_") or {}, run.data.get("content"))


def _is_sound(run: RunDirectory, config: Config) -> bool:
    """Tell whether a run can stand for what would be trained today; say why not."""
    try:
        sound = whole(run)
        check_complete(sound)
        check_stale(sound, config)
        check_data(sound, config)
        if changed := changed_code(config, sound):
            raise UserError(f"{run.path}: was trained {with_another(changed)} there is now")
    except UserError as error:
        logger.info(f"not taken: {printable(error)}")
        return False
    return True
