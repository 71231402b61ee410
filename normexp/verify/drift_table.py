"""A table of recorded runs that were trained again: one row per experiment and scale, the latest."""

from __future__ import annotations

from pathlib import Path

import pandas

from normexp.errors import UserError, first_line
from normexp.records import RunDirectory, printable
from normexp.records.files import write_atomically

KEY = ["experiment", "scale"]
COLUMNS = [*KEY, "run", "verdict", "column", "step", "before", "now", "relative", "why", "commit"]


def read_table(path: Path) -> pandas.DataFrame:
    """Return the rows of a table as text, none where there is no file. Raises UserError where none can be."""
    if not path.parent.is_dir():
        raise UserError(f"{printable(path)}: {printable(path.parent)} is no folder")
    if not path.exists():
        return pandas.DataFrame(columns=COLUMNS)
    try:
        rows = pandas.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{printable(path)}: {first_line(error)}") from None
    if list(rows.columns) != COLUMNS:
        raise UserError(f"{printable(path)}: no table of verify drift; its columns would be {', '.join(COLUMNS)}")
    return rows


def add_row(path: Path, record: RunDirectory, results: dict[str, str]) -> None:
    """Write the row of a record into a table, in place of an earlier one of its experiment and scale."""
    experiment, scale, run = record_key(record)
    row = dict.fromkeys(COLUMNS, "") | {"experiment": experiment, "scale": scale, "run": run} | results
    rows = pandas.concat([read_table(path), pandas.DataFrame([row])])
    rows = rows.drop_duplicates(KEY, keep="last").sort_values(KEY)
    write_atomically(path, rows.to_csv(index=False, lineterminator="\n"))


def record_key(record: RunDirectory) -> tuple[str, str, str]:
    """Return experiment, scale and run of a record in results/NAME/SCALE/runs or select/ARM/RUN."""
    *_, experiment, scale, kind, arm, run = record.path.parts
    return experiment, scale, f"{kind}/{arm}/{run}"
