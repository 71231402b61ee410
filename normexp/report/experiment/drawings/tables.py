"""The tables that a run wrote beside its metrics.csv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from normexp.errors import UserError, unknown
from normexp.evidence.curves import Cell
from normexp.records import RunDirectory
from normexp.report.experiment.drawings.subject import Subject

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """One CSV file of one run."""

    where: str
    path: Path
    rows: Sequence[dict[str, str]]

    def texts(self, column: str) -> list[str]:
        """Return a column. Raises UserError where there is none of this name."""
        if column not in self.rows[0]:
            raise unknown(f"{self.where}: column of {self.path.name}", column, self.rows[0])
        return [row[column] or "" for row in self.rows]

    def numbers(self, column: str) -> Numbers:
        """Return a column as numbers, an empty cell as NaN. Raises UserError where a cell is no number."""
        texts = self.texts(column)
        try:
            return np.array([float(text or "nan") for text in texts])
        except ValueError:
            line, text = next((i, text) for i, text in enumerate(texts, start=2) if not _is_number(text))
            raise UserError(f"{self.where}: {self.path}, line {line}: {column} is {text!r}, not a number") from None


def tables(subject: Subject, key: str = "table") -> dict[Cell, Table]:
    """Return the table that `key` names, of the first seed of every cell."""
    return {cell: _read(subject, cell, run, subject.spec[key]) for cell, run in subject.first_seed.items()}


def _read(subject: Subject, cell: Cell, run: RunDirectory, name: str) -> Table:
    path = run.path / f"{name.removesuffix('.csv')}.csv"
    if not run.has(path.name):
        there = [each.removesuffix(".csv") for each in run.names() if each.endswith(".csv")]
        raise unknown(f"{subject.where}: table of {cell}", name, there)
    rows = run.rows(path.name)
    if not rows:
        raise subject.error(f"{path} has no rows")
    return Table(subject.where, path, rows)


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True
