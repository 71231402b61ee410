"""Which columns of a table are used: those that are named, as they are typed, and those that can be learned from."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from normexp.config.text import LONGEST, as_item, override_text
from normexp.data.tables.table import Table, holds_words
from normexp.errors import UserError, nearest, unknown

MOST_WORDS = 100  # a column with more words is a name or a number of its row, nothing to learn from


def check_columns(table: Table, target: str, features: Sequence[str] | None) -> None:
    """Raise UserError for a column that there is not, or that cannot be what it is named for."""
    if target not in table.columns:
        raise _unknown_column("dataset.target", target, list(table.columns))
    others = [each for each in table.columns if each != target]
    for name in features or ():
        if name == target:
            raise UserError(f"dataset.features: {name!r} is the target, and cannot be an input too")
        if name not in table.columns:
            left_out = name[:1] == "-" and name[1:] in others
            meant = features_without([name[1:]], others) if left_out else ""
            raise _unknown_column("dataset.features", name, others, meant)
    if features is not None and len(set(features)) < max(len(features), 1):
        raise UserError(f"dataset.features={list(features)}: give one column or more, each once")


def leaving_out(table: Table, names: Sequence[str]) -> str:
    """Say how all columns are left out, at once, that cannot be learned from."""
    unusable = [name for name in names if not _is_usable(table, name)]
    meant = features_without(unusable, names)
    return f"leave it out: {meant}" if meant else "leave it out with dataset.features, the columns to keep"


def features_without(left_out: Sequence[str], names: Sequence[str]) -> str:
    """Return the override that names all other columns; nothing where there is none, or it is too long for a line."""
    kept = [name for name in names if name not in left_out]
    text = shlex.quote(f"dataset.features={override_text(kept)}")
    return text if kept and len(text) <= LONGEST else ""


def _is_usable(table: Table, name: str) -> bool:
    """Tell whether a column has values, and not too many words; one with a slip has, once that is corrected."""
    try:
        column = table.column(name)
    except UserError:
        return True
    return len(set(column) - {""}) <= MOST_WORDS if holds_words(column) else not np.isnan(column).all()


def _unknown_column(key: str, name: str, names: Sequence[str], meant: str = "") -> UserError:
    """Build the error for a name that is none of `names`; a sweep or a list takes `height, cm` for two."""
    parts = {part.strip(): each for each in names for part in (each, *each.split(","))}
    beginning = (each for part, each in parts.items() if part.casefold().startswith(name.casefold()))
    close = next(beginning, None) or nearest(name, names)
    return unknown(key, name, map(as_item, names), meant or (as_item(close) if close else None))
