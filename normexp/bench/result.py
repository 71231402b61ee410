"""What a suite found: a table for people, the same numbers for programs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normexp.records import write_atomically
from normexp.records.files import make_folder
from normexp.report.tables.formats import markdown
from normexp.report.tables.table import Table


def note_of_load() -> str:
    """Say how busy the machine was, which a table of seconds needs beside it."""
    return f"Load of the machine in the fifteen minutes before: {os.getloadavg()[2]:.0f}."


@dataclass(frozen=True)
class Result:
    """One table.

    Args:
        name: of the files results/bench/NAME.md and .json.
        cells: first column text, then numbers.
        data: the measurements behind the cells.
        wrong: what is not as it should be whatever the clock says; a suite with such a line has failed.
    """

    name: str
    caption: str
    headers: list[str]
    cells: list[list[str]]
    notes: tuple[str, ...] = ()
    data: Any = None
    wrong: tuple[str, ...] = ()

    def markdown(self) -> str:
        return markdown(Table(self.caption, self.headers, self.cells, notes={"": self.notes}))

    def write(self, folder: Path, environment: dict[str, Any]) -> list[Path]:
        """Write NAME.md and NAME.json; return their paths."""
        make_folder(folder)
        content = {"environment": environment, "caption": self.caption, "data": self.data, "wrong": self.wrong}
        paths = [folder / f"{self.name}.md", folder / f"{self.name}.json"]
        write_atomically(paths[0], self.markdown())
        write_atomically(paths[1], json.dumps(content, indent=1) + "\n")
        return paths
