"""A table of text -> its columns, each of numbers or of words, and what is remarkable in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from normexp.config.allowed import LARGEST_FLOAT
from normexp.config.text import excerpt
from normexp.data.base import Array
from normexp.data.remarks import alike
from normexp.data.tables.numerals import is_large, number_in, numbers_in, plain_numbers, sign_in, ungrouped
from normexp.errors import UserError

MISSING = ("", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")  # whatever their case
LONGEST_MISSING = max(map(len, MISSING))
LONG_WHOLE = re.compile(r"[+-]?\d{16,39}")
CODE = re.compile(r"0\d+")
FEW_ROWS = 20  # as many numbers may well be in order without being those of the rows


@dataclass(frozen=True)
class Table:
    """The cells of a file, as text.

    Args:
        columns: name -> cells, in the file's order.
        lines: where in the file each row begins (the header is line 1).
        decimal: the sign before the decimals of a number.
        sure: whether some number of the file says so.
    """

    path: Path
    columns: Mapping[str, tuple[str, ...]]
    lines: tuple[int, ...]
    decimal: str = "."
    sure: bool = True
    _filled: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False)
    _plain: dict[str, Array | None] = field(default_factory=dict, init=False, repr=False)
    _readings: dict[str, tuple[list[str], str]] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str, way_out: str = "choose other columns with dataset.features") -> Array:
        """Return a column as float64 (N,), missing cells NaN; or, where no cell is a number, its words, missing "".

        Where every sign between digits separates thousands, as in "1,003", or can only stand before decimals, as in
        "3,5" and "1.003,5", the cells are numbers all the same. Raises UserError where only some cells are numbers: one
        of them is likely a slip.

        Args:
            way_out: what that error proposes beside correcting the cell.
        """
        if (plain := self._plain_column(name)) is not None:
            return plain.copy()
        cells, decimal = self.reading(name)
        numbers = numbers_in(cells, decimal)
        odd = [row for row, cell in enumerate(cells) if cell and numbers[row] is None]
        only_odd = len(odd) == sum(map(bool, cells))
        if odd and only_odd and not all(is_large(cells[row], decimal) for row in odd):
            return words_as_array(cells)
        if odd:
            raise self._slip(name, odd, cells[odd[0]], way_out)
        return np.array([np.nan if number is None else number for number in numbers])

    def remark(self, name: str) -> str:
        """Say how a column is read whose cells have digits and are no plain numbers; nothing of another."""
        if self._plain_column(name) is not None:
            return self.rounded(name) or self.coded(name) or self._undecided(name) or self._counting(name)
        cells = self.filled(name)
        first = next(row for row, cell in enumerate(cells) if cell and number_in(cell, self.decimal) is None)
        if not all(re.search(r"\d", cell) for cell in cells if cell):
            return self.alike(name) or self._naming(name)
        column = self.column(name)
        taken = "words" if holds_words(column) else f"numbers (here {column[first]:.15g})"
        return f"{name} has {cells[first]!r}, taken as {taken}"

    def rounded(self, name: str) -> str:
        """Say which whole number of a column has more digits than float64 keeps; nothing where none has."""
        longest = (cell for cell in self.filled(name) if len(cell) > 15 and LONG_WHOLE.fullmatch(cell))
        cell = next((cell for cell in longest if int(cell) != int(float(cell))), None)
        return f"{name} has {cell!r}, taken as {float(cell):.0f} (float64)" if cell else ""

    def coded(self, name: str) -> str:
        """Say which number of a column begins with a zero: it may be a code, as of a place or an article."""
        cell = next((cell for cell in self.filled(name) if cell.startswith("0") and CODE.fullmatch(cell)), None)
        return f"{name} has {cell!r}, taken as {float(cell):.15g}" if cell else ""

    def _undecided(self, name: str) -> str:
        """Say which number may be one of thousands, too, where no number of the file says what its signs are."""
        cell = next((cell for cell in self.filled(name) if self.decimal in cell), None)
        if self.sure or cell is None:
            return ""
        return f"{name} has {cell!r}, taken as {number_in(cell, self.decimal):.15g}"

    def _naming(self, name: str) -> str:
        """Say that no two rows have the same word, as in a column of names."""
        words = [cell for cell in self.filled(name) if cell]
        return f"{name} has another word in every row" if len(set(words)) == len(words) >= FEW_ROWS else ""

    def _counting(self, name: str) -> str:
        """Say that a column holds the numbers of the rows, as tables have that were saved with their index."""
        cells = self.columns[name]
        if len(cells) < FEW_ROWS or cells[0] not in ("0", "1"):
            return ""
        counted = all(cell == str(number) for number, cell in enumerate(cells, int(cells[0])))
        return f"{name} counts the rows" if counted else ""

    def alike(self, name: str) -> str:
        """Say which two words of a column differ in upper and lower case alone; nothing where none do."""
        pair = alike(self.filled(name))
        return f"{name} has {pair[0]!r} and {pair[1]!r}, taken as two words" if pair else ""

    def filled(self, name: str) -> list[str]:
        """Return a column's cells, those without a value empty."""
        if name not in self._filled:  # every column is asked for several times
            cells = self.columns[name]
            missing = {cell for cell in set(cells) if len(cell) <= LONGEST_MISSING and cell.casefold() in MISSING}
            self._filled[name] = ["" if cell in missing else cell for cell in cells] if missing else list(cells)
        return self._filled[name]

    def reading(self, name: str) -> tuple[list[str], str]:
        """Return a column's cells without separators of thousands, and its sign before decimals: usually the file's."""
        if name not in self._readings:
            self._readings[name] = self._read(name)
        return self._readings[name]

    def _plain_column(self, name: str) -> Array | None:
        """Return a column of plain numbers as `column` does; None of one whose cells must be looked at one by one."""
        if name not in self._plain:
            self._plain[name] = plain_numbers(self.filled(name), self.decimal)
        return self._plain[name]

    def _read(self, name: str) -> tuple[list[str], str]:
        cells = self.filled(name)
        if self._plain_column(name) is not None:
            return cells, self.decimal
        other = "," if self.decimal == "." else "."
        if (plain := self._read_with(other, cells)) is not None:
            return plain, other
        return ungrouped(cells, self.decimal), self.decimal

    def _read_with(self, other: str, cells: list[str]) -> list[str] | None:
        """Return a column's cells without separators of thousands if its sign before decimals is not the file's.

        Several must say so, and none may be read both ways: of 2.500 beside 3,5 it takes 1.003,5 to know.
        """
        signed = [cell for cell in cells if other in cell]
        usual = [cell for cell in cells if self.decimal in cell]
        if len(signed) < 2 or set(map(sign_in, signed)) != {other} or (usual and not set(usual) & set(signed)):
            return None
        plain = ungrouped(cells, other)
        return None if None in numbers_in([cell or "0" for cell in plain], other) else plain

    def _slip(self, name: str, rows: Sequence[int], cell: str, way_out: str) -> UserError:
        large = is_large(cell, self.decimal)
        what = f"beyond {LARGEST_FLOAT:.1e}" if large else "not a number, though others there are"
        more = f" ({len(rows)} such cells)" if len(rows) > 1 else ""
        return UserError(
            f"{self.path}: line {self.lines[rows[0]]}, column {name!r}: {excerpt(cell)} is {what}{more}; "
            f"correct it, or {way_out}"
        )


def words_as_array(words: Sequence[str]) -> Array:
    """Return words as an array (N,) of the words themselves: NumPy's own form gives each the room of the longest."""
    return np.array(words, dtype=object)


def holds_words(column: Array) -> bool:
    """Tell a column of words from one of numbers."""
    return column.dtype == object
