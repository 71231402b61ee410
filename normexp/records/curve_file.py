"""A CSV file that grows row by row while a run trains."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from normexp.records.fences import check_fence
from normexp.records.files import (
    MOST_TABLE,
    Damaged,
    is_full,
    open_regular,
    quarantine,
    read_regular,
    unwritable,
    write_atomically,
)
from normexp.records.parsing import decoded

_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def cell(value: object) -> str:
    """Format one CSV value so that it reads back to exactly the same number; None is an empty cell."""
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def line(cells: Iterable[object]) -> str:
    """Return one line, whatever is in its texts."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(" ".join(cell(value).splitlines()) for value in cells)
    return text.getvalue()


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return a whole file: a line with the names of the columns, then one for each row."""
    return "".join(map(line, [columns, *([row[name] for name in columns] for row in rows)]))


class CurveFile:
    """A CSV file with fixed columns, one row per evaluation, flushed row by row."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, list(columns)

    def start(self, keep_until: int) -> None:
        """Create the file, or keep the rows up to step `keep_until` of the one that is there."""
        kept = self._rows(keep_until) if keep_until >= 0 else []
        write_atomically(self.path, "".join([line(self.columns), *kept]))

    def append(self, row: Mapping[str, object]) -> None:
        with (
            self._room_named(),  # where it is missing half a row may stay, which the next attempt drops
            os.fdopen(open_regular(self.path, _APPENDING), "a", encoding="utf-8") as file,
        ):
            check_fence()
            file.write(line(row.get(name) for name in self.columns))

    def flush(self) -> None:
        """Have the rows on the disk, which may say only now that it is full."""
        with self._room_named(), self.path.open("rb") as file:
            os.fsync(file.fileno())

    @contextmanager
    def _room_named(self) -> Iterator[None]:
        """Name the file where the disk is full: the system names none that is open."""
        try:
            yield
        except OSError as error:
            if is_full(error):
                raise unwritable(self.path, error) from None
            raise

    def _rows(self, until: int) -> list[str]:
        """Return the complete rows of an existing file with these columns (a killed run may leave half a row).

        A file that is damaged is set aside: what a run cannot do without is checked before it is continued.
        """
        try:
            rows = decoded(read_regular(self.path, MOST_TABLE)).splitlines(keepends=True)
            return [row for row in rows[1:] if self._is_whole(row, until)] if rows[:1] == [line(self.columns)] else []
        except FileNotFoundError:
            return []
        except (ValueError, csv.Error, Damaged):
            quarantine(self.path)
            return []

    def _is_whole(self, row: str, until: int) -> bool:
        """Tell whether a line is a row up to a step. Rows are not parsed all at once: there may be millions."""
        cells = next(csv.reader([row]), [])
        whole = row.endswith("\n") and len(cells) == len(self.columns)
        return whole and cells[0].isdecimal() and int(cells[0]) <= until
