"""The tables that runs wrote beside their metrics.csv, as frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from normexp.errors import UserError, unknown
from normexp.evidence.curves import Cell
from normexp.records import RunDirectory
from normexp.report.figures.context import FigureContext


def tables(
    context: FigureContext[Any], name: str, numbers: Sequence[str], texts: Sequence[str] = ()
) -> dict[Cell, pd.DataFrame]:
    """Return the columns of NAME.csv of one seed, for every cell: numbers as floats, texts as they stand there.

    Raises: UserError for a table or a column that is not there, or a cell that is no number.
    """
    runs = context.one_seed(context.spec.seed)
    return {cell: _read(context, cell, run, name, numbers, texts) for cell, run in runs.items()}


def _read(
    context: FigureContext[Any], cell: Cell, run: RunDirectory, name: str, numbers: Sequence[str], texts: Sequence[str]
) -> pd.DataFrame:
    path = run.path / f"{name.removesuffix('.csv')}.csv"
    if not run.has(path.name):
        there = [each.removesuffix(".csv") for each in run.names() if each.endswith(".csv")]
        raise unknown(f"{context.where}: table of {cell}", name, there)
    table = pd.DataFrame(run.rows(path.name), dtype=str)
    if table.empty:
        raise context.error(f"{path} has no rows")
    for column in (*numbers, *texts):
        if column not in table:
            raise unknown(f"{context.where}: column of {path.name}", column, table.columns)
    for column in dict.fromkeys(numbers):
        table[column] = _numbers(context, path, column, table[column])
    return table


def _numbers(context: FigureContext[Any], path: Path, column: str, texts: pd.Series[str]) -> pd.Series[float]:
    """Return a column as numbers, an empty cell as NaN. Raises UserError where a cell is no number."""
    found = pd.to_numeric(texts.where(texts != "", "nan"), errors="coerce")
    wrong = found.isna() & ~texts.str.lower().isin(["", "nan"])
    if wrong.any():
        line = int(np.flatnonzero(wrong)[0])
        raise UserError(f"{context.where}: {path}, line {line + 2}: {column} is {texts[line]!r}, not a number")
    return found
