"""The columns of a table -> examples: words as indicator columns, gaps dropped, filled or refused, a test split."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from normexp.config.text import amount, excerpt, shortened
from normexp.data.base import Array, Data, Split, choose, empty_like, move
from normexp.data.remarks import MOST_NAMED
from normexp.data.streams import numpy_generator
from normexp.data.tables.class_labels import class_labels, mixed, spelled
from normexp.data.tables.columns import MOST_WORDS, check_columns, leaving_out
from normexp.data.tables.table import Table, holds_words
from normexp.errors import UserError, unknown

WAYS = ("drop", "mean", "error")

Task = Literal["classification", "regression"]


def to_data(table: Table, target: str, features: Sequence[str] | None, missing: str, task: Task) -> Data:
    """Return all rows as the training split.

    A column of words becomes one column of zeros and ones per word, in alphabetical order. Where `missing` is
    `mean`, x holds NaN, for `fill_gaps` to fill once the training split is known.

    Args:
        target: the column to predict; rows without it are dropped unless `missing` is `error`.
        features: the columns to predict it from; None takes all others.
        missing: `drop` the rows with gaps, fill them with the training split's `mean`, or `error`.

    Raises UserError for columns that do not exist or cannot be used.
    """
    if missing not in WAYS:
        raise unknown("dataset.missing", missing, WAYS)
    check_columns(table, target, features)
    names = [name for name in table.columns if name != target] if features is None else list(features)
    inputs = [_numbers(table, name, names) for name in names]
    gaps = {name: np.asarray(np.isnan(columns).any(axis=1)) for name, columns in zip(names, inputs, strict=True)}
    _check_known(table, gaps)
    y, classes, unknown_target = _TARGETS[task](table, target)
    dropped, gap_note = _handle_gaps(table, gaps, {target: unknown_target}, missing)
    x, long = _examples(dict(zip(names, inputs, strict=True)))
    remarks = [*_read_as(table, names), shortened(_target_remark(table, target, task)), long, gap_note]
    whole = Split(x[~dropped], y[~dropped])
    if not len(whole):
        raise UserError(f"{table.path}: dataset.missing={missing} leaves no row; every one has a gap")
    _check_varies(table, target, whole.y)
    same = _same_throughout(table, {name: column[~dropped] for name, column in zip(names, inputs, strict=True)})
    note = "; ".join(filter(None, [*remarks, same]))
    return Data(whole, empty_like(whole), empty_like(whole), task, classes, note)


def set_test_apart(data: Data, wish: float, seed: int) -> Data:
    """Move so many examples, chosen by `seed` alone, or below 1 that share, from the training to the test split.

    Raises: UserError where that would be all of them.
    """
    total = len(data.train)
    if wish >= total:
        raise UserError(f"dataset.test={wish}: the table has only {amount(total, 'usable row')}")
    order = numpy_generator(seed, "test split").permutation(total)
    chosen = order[: int(wish)] if wish >= 1 else choose(data, wish, seed, f"dataset.test={wish}")
    return move(data, np.sort(chosen), "test")


def fill_gaps(data: Data) -> Data:
    """Put the mean of the training split's values, of words their shares, into the gaps (NaN) of every split.

    Raises: UserError for an input without any value there.
    """
    if not any(np.isnan(split.x).any() for split in data.splits):
        return data
    known = ~np.isnan(data.train.x)
    if not known.any(axis=0).all():
        column = int(np.argmin(known.any(axis=0)))
        raise UserError(f"dataset.missing=mean: input {column + 1} has no value in the training split; use drop")
    mean = np.mean(data.train.x, axis=0, dtype=np.float64, where=known)
    return data.map(lambda split: replace(split, x=np.where(np.isnan(split.x), mean, split.x).astype(split.x.dtype)))


def _read_as(table: Table, names: Sequence[str]) -> list[str]:
    """Say how input columns are read that hold no plain numbers, and what to do where quantities count as words."""
    said = {name: remark for name in names if (remark := table.remark(name))}
    quantities = any(_has_quantities(table.column(name)) for name in said)
    return [_some([*said.values()], "; "), "write quantities as plain numbers" if quantities else ""]


def _check_known(table: Table, gaps: dict[str, Array]) -> None:
    """Raise UserError for a column without any value: to drop its gaps leaves no row, and it has no mean."""
    if empty := next((name for name, gap in gaps.items() if gap.all()), None):
        way_out = leaving_out(table, list(gaps))
        raise UserError(f"{table.path}: column {empty!r} has no value in any row; {way_out}")


def _numbers(table: Table, name: str, names: Sequence[str]) -> Array:
    """Return one input column as float64 (N, 1), or (N, words) where it holds words; a gap is NaN throughout.

    Args:
        names: all input columns, which the way out of an error names but for those that cannot be read.
    """
    column = table.column(name)
    if not holds_words(column):
        return column[:, None]
    way_out = "write plain numbers, or " if _has_quantities(column) else ""
    words = _words(table, column, f"column {name!r}", lambda: way_out + leaving_out(table, names))
    return np.where(column[:, None] == "", np.nan, column[:, None] == words)


def _has_quantities(column: Array) -> bool:
    """Tell whether a column's words are all numbers with something beside them: "EUR 5" and "8.5%", not "c0"."""
    return holds_words(column) and all(re.search(r"\b\d", word) for word in column if word)


def _words(table: Table, column: Array, what: str, way_out: Callable[[], str]) -> Array:
    """Return the different values of a column without the gaps, sorted. Raises UserError where there are too many."""
    words = np.unique(column[column != ""] if holds_words(column) else column[~np.isnan(column)])
    if len(words) > MOST_WORDS:
        first = words[0] if holds_words(column) else _names(words)[0]
        several = f"{len(words)} different values ({excerpt(first)}, ...)"
        raise UserError(f"{table.path}: {what} has {several}, at most {MOST_WORDS}; {way_out()}")
    return words


def _real_target(table: Table, target: str) -> tuple[Array, tuple[str, ...], Array]:
    """Return targets (N, 1), no classes, and which of them are missing (N,)."""
    column = table.column(target, "set dataset.task=classification, which takes all as words")
    if holds_words(column):
        way_out = "write plain numbers, or set" if _has_quantities(column) else "set"
        what = f"{table.path}: dataset.target={target} holds words ({excerpt(column[column != ''][0])}, ...)"
        raise UserError(f"{what}; {way_out} dataset.task=classification")
    return column[:, None].astype(np.float64 if loses_digits(column) else np.float32), (), np.isnan(column)


def _class_target(table: Table, target: str) -> tuple[Array, tuple[str, ...], Array]:
    """Return labels (N,), the classes in alphabetical (or numerical) order, and which labels are missing (N,)."""
    column = class_labels(table, target)
    text = holds_words(column)
    way_out = "choose a target of fewer classes" if text else "set dataset.task=regression"
    classes = _words(table, column, f"dataset.target={target}", lambda: way_out)
    labels = np.searchsorted(classes, column).astype(np.int64)
    return labels, tuple(classes) if text else _names(classes), column == "" if text else np.isnan(column)


def _names(numbers: Array) -> tuple[str, ...]:
    """Return different numbers as different texts: without the noise of float64 where that does."""
    short = tuple(f"{number:.15g}" for number in numbers)
    return short if len(set(short)) == len(short) else tuple(f"{number:.17g}" for number in numbers)


def _target_remark(table: Table, target: str, task: Task) -> str:
    """Words are what classes may be, and are not remarked."""
    if task == "regression":
        return table.remark(target)
    return mixed(table, target) or spelled(table, target) or table.alike(target)


_TARGETS = {"regression": _real_target, "classification": _class_target}


def _examples(inputs: dict[str, Array]) -> tuple[Array, str]:
    """Return all inputs as float32, or as float64 where that would lose digits, and what to say of those columns."""
    long = [name for name, column in inputs.items() if loses_digits(column)]
    x = np.concatenate(list(inputs.values()), axis=1, dtype=np.float64 if long else np.float32)
    return (
        x,
        f"{_some(long)}: more digits than float32 has (kept where inputs= scales them, lost with inputs=none)"
        if long
        else "",
    )


def loses_digits(column: Array) -> bool:
    """Tell whether float32 would change a whole number, or any by more than a thousandth of the column's spread."""
    known = column[~np.isnan(column)]
    change = np.abs(known - known.astype(np.float32))
    if not change.any():
        return False
    whole = known == np.rint(known)
    return bool(change[whole].any() or (np.ptp(known) > 0 and change.max() > known.std() / 1000))


def _same_throughout(table: Table, inputs: dict[str, Array]) -> str:
    """Say which inputs tell no rows apart. Raises UserError where none does."""
    kept = {name: column[~np.isnan(column).any(axis=1)] for name, column in inputs.items()}
    same = [name for name, column in kept.items() if len(column) and (column == column[0]).all()]
    if len(same) == len(inputs):
        nothing = f"{_some(same)}: the same in every row: nothing to learn from"
        raise UserError(f"{table.path}: {nothing}{_made_one(table, same)}")
    return f"{_some(same)}: the same in every row" if same else ""


def _handle_gaps(
    table: Table, gaps: dict[str, Array], target_gaps: dict[str, Array], missing: str
) -> tuple[Array, str]:
    """Return which rows to drop (N,), and what every table must say about the gaps."""
    gappy = {name: gap for name, gap in (gaps | target_gaps).items() if gap.any()}
    if not gappy:
        return np.zeros(len(table), dtype=bool), ""
    if missing == "error":
        name, gap = next(iter(gappy.items()))
        where = f"line {table.lines[int(gap.argmax())]}, column {name!r}"
        raise UserError(f"{table.path}: {where}: no value ({gap.sum()} in all); set dataset.missing=drop or mean")
    filled = {name: gap for name, gap in gappy.items() if missing == "mean" and name in gaps}
    dropped = np.zeros(len(table), dtype=bool)
    for gap in (gap for name, gap in gappy.items() if name not in filled):
        dropped |= gap
    lacking = [name for name in gappy if name not in filled]
    rows = f"{dropped.sum():,} of {len(table):,} rows without {_some(lacking, ' or ')} dropped" if lacking else ""
    return dropped, "; ".join(filter(None, (rows, _some([_filled(table, *each) for each in filled.items()], "; "))))


def _filled(table: Table, name: str, gap: Array) -> str:
    value = "share of every word in" if holds_words(table.column(name)) else "mean of"
    return f"{gap.sum():,} missing {name} = {value} the training split"


def _some(said: Sequence[str], between: str = ", ") -> str:
    """Return what is said of columns as one text, of many the first ones and how many more there are."""
    more = f"{between}{len(said) - MOST_NAMED:,} more" if len(said) > MOST_NAMED else ""
    return between.join(map(shortened, said[:MOST_NAMED])) + more


def _check_varies(table: Table, target: str, y: Array) -> None:
    if (y == y[0]).all():
        one = f"dataset.target={target} is the same in every row: nothing to learn"
        raise UserError(f"{table.path}: {one}{_made_one(table, [target])}")


def _made_one(table: Table, names: Sequence[str]) -> str:
    """Return the end of an error about columns of one value: which have several that float64 rounds to it."""
    said = list(filter(None, map(table.rounded, names)))
    return f"; {_some(said, '; ')}" if said else ""
