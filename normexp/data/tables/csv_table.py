"""A CSV file -> a table of its cells."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from normexp.config.text import amount, composed
from normexp.data.files.members import GZIP, existing_file
from normexp.data.files.progress import logger
from normexp.data.tables.numerals import decimal_sign, number_in
from normexp.data.tables.table import Table
from normexp.errors import UserError

DELIMITERS = ",;\t|"
LONG = 10_000_000  # bytes, which take seconds to read
MINUS = re.compile(r"\u2212(?=[\d.,])")  # as word processors and the spreadsheets of some languages write it
SEPARATOR = re.compile(r"sep=.(?=\r?\n)")  # the first line of what some programs write for spreadsheets, which hide it

Row = tuple[int, list[str]]  # its line in the file, its cells


def table_path(file: str) -> Path:
    """Return the path of `dataset.file`. Raises UserError where there is no such file."""
    return existing_file(file, ".csv", "a CSV file")


def read_table(path: Path) -> Table:
    """Read a CSV file with a header, separated by comma, semicolon, tab or bar (whichever the header has most of).

    Where no comma separates columns, the sign before decimals is the comma if some number can only mean that (0,5) and
    none says the point (`decimal_sign`). Blank lines are skipped, and a first one that says `sep=;`.

    Raises UserError, naming the line, for what is no such file.
    """
    text = _text(path)
    delimiter = _delimiter(path, text)
    (_, header), *rows = _rows(path, text, delimiter)
    names = [_on_one_line(name) for name in header]
    _check_header(path, names)
    _check_rows(path, rows, len(names))
    columns = zip(*(cells for _, cells in rows), strict=True)
    stripped = {name: _plain(cells) for name, cells in zip(names, columns, strict=True)}
    return Table(path, stripped, tuple(line for line, _ in rows), *decimal_sign(delimiter, stripped.values()))


def _on_one_line(name: str) -> str:
    """Return the name of a column as it is typed: spreadsheets write long ones on several lines."""
    return " ".join(filter(None, map(str.strip, name.splitlines())))


def _plain(cells: Iterable[str]) -> tuple[str, ...]:
    stripped = tuple(map(str.strip, cells))
    if not any("\u2212" in cell for cell in stripped):
        return stripped
    return tuple(f"-{cell[1:]}" if MINUS.match(cell) else cell for cell in stripped)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    if data.startswith(GZIP):
        raise UserError(f"{path}: compressed by gzip; unpack it first")
    try:
        text = data.decode("utf-8").lstrip("\ufeff")  # byte order marks of spreadsheets; one saved again has two
        odd = data.find(b"\0", 0, 2)  # of UTF-16 without a mark
    except UnicodeDecodeError as error:
        odd = error.start
    if odd >= 0:
        raise UserError(f"{path}: not UTF-8 text (byte {data[odd]:#x} at {odd}); save it as CSV in UTF-8")
    if not text.strip():
        raise UserError(f"{path}: empty file; the first line must name the columns")
    if len(data) > LONG:
        logger.info(f"{path}: reading {len(data) / 1e6:.0f} MB")
    return composed(SEPARATOR.sub("", text, count=1) if SEPARATOR.match(text) else text)


def _delimiter(path: Path, text: str) -> str:
    """Return what separates most columns in the header, of those by which the row below it has as many, if any does.

    Of two a comma is the other's: in `price, EUR;size` above `0,5;3` it is words', and before decimals.
    """
    widths = {delimiter: _widths(text.lstrip(), delimiter) for delimiter in reversed(DELIMITERS)}
    fitting = {delimiter: each for delimiter, each in widths.items() if each[0] == each[1] > 1} or widths
    best = max(fitting, key=lambda delimiter: fitting[delimiter][0])
    if fitting[best][0] == 1:
        raise UserError(f"{path}: line 1 has one column; columns are separated by a comma, semicolon, tab or |")
    return best


def _widths(text: str, delimiter: str) -> tuple[int, int]:
    """Return how many cells the first two rows have, 0 where there is none; those in quotes may have line breaks.

    Both have 0 where they cannot be read: `_rows` says why.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows = (cells for cells in reader if cells)
    try:
        return len(next(rows, ())), len(next(rows, ()))
    except csv.Error:
        return 0, 0


def _rows(path: Path, text: str, delimiter: str) -> list[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    rows, ended = [], 0
    try:
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                rows.append((ended + 1, cells))
            ended = reader.line_num
    except csv.Error as error:
        opened = "unexpected end" in str(error)
        why = f"line {ended + 1}: a quotation mark is not closed" if opened else f"line {reader.line_num}: {error}"
        raise UserError(f"{path}: {why}") from None
    return rows


def _check_header(path: Path, names: Sequence[str]) -> None:
    if "" in names:
        column = names.index("") + 1
        index = " (numbers of the rows? leave them out when you save it; pandas: index=False)" if column == 1 else ""
        raise UserError(f"{path}: column {column} has no name; every column needs one in line 1{index}")
    if all(number_in(name, ".") is not None for name in names):
        raise UserError(f"{path}: line 1 holds numbers; it must name the columns")
    twice, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise UserError(f"{path}: two columns are called {twice!r}; names must differ")


def _check_rows(path: Path, rows: Sequence[Row], width: int) -> None:
    if not rows:
        raise UserError(f"{path}: no rows below the names of the columns")
    for line, cells in rows:
        if len(cells) != width:
            raise UserError(f"{path}: line {line} has {amount(len(cells), 'cell')}, line 1 names {width} columns")
