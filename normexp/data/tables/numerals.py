"""What a cell of a table says as a number, whatever sign stands before its decimals and between its thousands."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

import numpy as np

from normexp.config.allowed import LARGEST_FLOAT  # examples are float32
from normexp.data.base import Array

SIGNED = re.compile(r"[+-]?([\d.,]*)([.,])(\d+)([eE][+-]?\d+)?")  # before and after the last sign of a number
SEPARATORS = " \u00a0\u202f'\u2019"  # of thousands, beside the comma or the point that is not before decimals
SPACED = re.compile(rf"[+-]?[1-9]\d{{0,2}}([{SEPARATORS}])\d{{3}}(?:\1\d{{3}})*([.,])\d+")


def decimal_sign(delimiter: str, columns: Collection[Sequence[str]]) -> tuple[str, bool]:
    """Return the file's sign before decimals, and whether some number says so, which can be read in no other way.

    In a file of semicolons, which spreadsheets write where the comma stands before decimals, it is enough that one may
    be such a number: 1,003 in a column where every number has the sign, and no number of the file has it twice.
    """
    if delimiter == ",":
        return ".", True
    having = {sign: [cell for column in columns for cell in column if sign in cell] for sign in ",."}
    signs = {sign for sign, cells in having.items() if any(sign_in(cell) == sign for cell in cells)}
    sure = bool(signs)
    if not sure and delimiter == ";" and not any(cell.count(",") > 1 for cell in having[","]):
        signs = {","} if any(map(_may_have_commas_before_decimals, columns)) else set()
    return "," if signs == {","} else ".", sure


def _may_have_commas_before_decimals(column: Sequence[str]) -> bool:
    numbers = [cell for cell in column if any(map(str.isdigit, cell))]
    return bool(numbers) and all("," in cell and SIGNED.fullmatch(cell) for cell in numbers)


def sign_in(cell: str) -> str | None:
    """Return the sign before decimals where it can be nothing else: of 0,5, 1,003E2 and 1 003,5, not of 1,003."""
    if spaced := SPACED.fullmatch(cell):
        return spaced[2]
    match = SIGNED.fullmatch(cell)
    if match is None or match[2] in match[1]:
        return None
    if not match[4] and len(match[3]) == 3 and re.fullmatch(r"[1-9]\d{0,2}", match[1]):
        return None
    return match[2]


def ungrouped(cells: list[str], decimal: str) -> list[str]:
    """Return the cells without separators of thousands, if all their signs are such and one can be nothing else."""
    signs = SEPARATORS + (",." if decimal == "." else ".,")[0]
    grouped = re.compile(rf"[+-]?[1-9]\d{{0,2}}([{signs}])\d{{3}}(\1\d{{3}})*({re.escape(decimal)}\d*)?")
    separator = re.compile(f"[{signs}]")
    found = [cell for cell in cells if separator.search(cell)]
    sure = any(number_in(cell, decimal) is None for cell in found)  # "1.003" alone has three decimals
    if not sure or not all(map(grouped.fullmatch, found)):
        return cells
    return [separator.sub("", cell) for cell in cells]


def plain_numbers(cells: Sequence[str], decimal: str) -> Array | None:
    """Return what `number_in` says of every cell, NaN of an empty one; None where one of the others is no number."""
    text = "".join(cells)
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        numbers = np.array([float(cell.replace(decimal, ".")) if cell else math.nan for cell in cells])
    except ValueError:
        return None
    finite = np.count_nonzero(np.abs(numbers) <= LARGEST_FLOAT)
    return numbers if finite == len(cells) - cells.count("") else None


def numbers_in(cells: Sequence[str], decimal: str) -> list[float | None]:
    """Return what `number_in` says of every cell. Each different one is looked at once."""
    said = {cell: number_in(cell, decimal) for cell in set(cells)}
    return [said[cell] for cell in cells]


def number_in(cell: str, decimal: str) -> float | None:
    """Return the finite number that a cell says, or None. Python's 1_000 is no number to anybody else."""
    try:
        number = float(cell.replace(decimal, "."))
    except ValueError:
        return None
    foreign = "_" in cell or (decimal == "," and "." in cell)
    return None if foreign or not abs(number) <= LARGEST_FLOAT else number


def is_large(cell: str, decimal: str) -> bool:
    """Tell whether a cell is a number that is too large, be it so for float64, too; the word inf is none."""
    try:
        large = abs(float(cell.replace(decimal, "."))) > LARGEST_FLOAT
    except ValueError:
        return False
    return large and "_" not in cell and any(map(str.isdigit, cell))
