"""A column of a table as classes: numbers by value, or words as they are spelled, and remarks on it."""

from __future__ import annotations

import re
from decimal import Decimal

from normexp.data.base import Array
from normexp.data.tables.numerals import number_in
from normexp.data.tables.table import Table, words_as_array

MANY_DIGITS = re.compile(r"[+-]?\d{16,}")  # float64 keeps every whole number of 15 digits


def class_labels(table: Table, name: str) -> Array:
    """Return a column of classes: as `Table.column`, but as words, each as it is spelled, where numbers would not do.

    They would not where a cell is none; where one begins with 0, a code: 01 is not 1, or the zero says nothing and
    the words tell the same classes apart; and where one has more digits than float64 keeps, so that two were one.
    """
    return words_as_array(table.filled(name)) if needs_words(table, name) else table.column(name)


def needs_words(table: Table, name: str) -> bool:
    """Tell whether the classes of a column are words, see `class_labels`."""
    cells, decimal = table.reading(name)
    is_long = any(MANY_DIGITS.fullmatch(cell) for cell in cells)
    return is_long or bool(table.coded(name)) or any(cell and number_in(cell, decimal) is None for cell in cells)


def spelled(table: Table, name: str) -> str:
    """Say which two cells of a column of classes are spelled differently and are one number; nothing of others.

    Where they are words (see `class_labels`), these are two classes.
    """
    cells, decimal = table.reading(name)
    words = needs_words(table, name)
    seen: dict[float | Decimal, str] = {}
    for cell in sorted(set(cells)):
        if (number := number_in(cell, decimal)) is None:
            continue
        value = Decimal(cell.replace(decimal, ".")) if words else number  # of many digits float64 has one number
        if (other := seen.setdefault(value, cell)) != cell:
            return f"{name} has {other!r} and {cell!r}, taken as {'two words' if words else 'one class'}"
    return ""


def mixed(table: Table, name: str) -> str:
    """Say that a column of classes has numbers and words, all taken as words; nothing of another."""
    cells, decimal = table.reading(name)
    read = [(cell, number_in(plain, decimal)) for cell, plain in zip(table.filled(name), cells, strict=True) if cell]
    number = next((cell for cell, value in read if value is not None), None)
    word = next((cell for cell, value in read if value is None), None)
    return f"{name} has {number!r} and {word!r}, taken as words" if number and word else ""
