"""What a cell of a table says as a number, whatever sign stands before its decimals and between its thousands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

LARGEST = float(np.finfo(np.float32).max)  # examples are float32
SIGNED = re.compile(r"[+-]?([\d.,]*)([.,])(\d+)")  # what stands before and after the last sign of a number
SEPARATORS = " \u00a0\u202f'\u2019"  # of thousands, beside the comma or the point that is not before decimals


def decimal_sign(delimiter: str, columns: Iterable[Sequence[str]]) -> str:
    """Return the file's sign before decimals; in a file of semicolons what may be one is enough."""
    if delimiter == ",":
        return "."
    cells = [cell for column in columns for cell in column if SIGNED.fullmatch(cell)]
    signs = {sign for cell in cells if (sign := sign_in(cell))}
    if not signs and delimiter == ";":
        signs = {sign for cell in cells for sign in ",." if sign in cell}
    return "," if signs == {","} else "."


def sign_in(cell: str) -> str | None:
    """Return the sign before a number's decimals where it can be nothing else: of 0,5 and 1.003,5, not of 1,003."""
    match = SIGNED.fullmatch(cell)
    if match is None or match[2] in match[1] or (len(match[3]) == 3 and re.fullmatch(r"[1-9]\d{0,2}", match[1])):
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


def number_in(cell: str, decimal: str) -> float | None:
    """Return the finite number that a cell says, or None. Python's 1_000 is no number to anybody else."""
    try:
        number = float(cell.replace(decimal, "."))
    except ValueError:
        return None
    foreign = "_" in cell or (decimal == "," and "." in cell)
    return None if foreign or not abs(number) <= LARGEST else number


def is_large(cell: str, decimal: str) -> bool:
    """Tell whether a cell is a finite number that is too large."""
    try:
        return "_" not in cell and LARGEST < abs(float(cell.replace(decimal, "."))) < math.inf
    except ValueError:
        return False
