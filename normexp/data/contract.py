"""What `read` of a data set of the user's own returns, held to what `Data` says before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from normexp.config.allowed import LARGEST_FLOAT
from normexp.config.text import amount
from normexp.data.splits import Array, Data, Split
from normexp.errors import UserError, unknown

TASKS = ("classification", "regression", "language")
SPLITS = ("train", "validation", "test")
MOST_CHANNELS = 4  # of an image that is stored as pixels
LABELS = ("int64", "uint8")  # what torch's cross-entropy takes
TARGETS = ("float16", "float32", "float64")  # in this machine's order of bytes


def check_contract(name: str, data: Data) -> None:
    """Raise UserError for the first thing that cannot be trained on, or measured.

    Args:
        name: what returned it.
    """
    if data.task not in TASKS:
        raise UserError(f"{name}: {unknown('task', str(data.task), TASKS)}")
    if data.task != "regression":
        _check_classes(name, data)
    _check_facts(name, data)
    for which, split in zip(SPLITS, data.splits, strict=True):
        if problem := next(_problems(data, which, split), ""):
            raise UserError(f"{name}: the {which} split {problem}")


def _check_classes(name: str, data: Data) -> None:
    classes: object = data.classes
    if not isinstance(classes, (tuple, list)) or not classes:
        raise UserError(f"{name}: a {data.task} has classes, the names in the order of the labels")
    if len(classes) == 1:
        raise UserError(f"{name}: has one class, {classes[0]!r}: nothing to learn")


def _check_facts(name: str, data: Data) -> None:
    """Raise UserError for what is told beside the splits, and would be no fact of a record."""
    if not isinstance(note := data.note, str):
        raise UserError(f"{name}: note={note!r} is no text")
    for key in ("target_scale", "bytes_per_token"):
        value: object = getattr(data, key)
        if not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
            raise UserError(f"{name}: {key}={value!r}: must be a number above 0")


def _problems(data: Data, which: str, split: Split) -> Iterator[str]:
    if len(split.x) != len(split.y):
        yield f"has {amount(len(split.x), 'example')} in x and {len(split.y)} in y"
    if len(split) == 0:
        if which != "validation":
            yield "has no example"
        return
    yield from _of_inputs(split.x, data.train.x)
    yield from _of_targets(split.y, data)


def _of_inputs(x: Array, trained: Array) -> Iterator[str]:
    if x.ndim < 2 or x[:1].size == 0:
        yield f"has x of shape {x.shape}; rows of a table are (N, D), images (N, H, W, C)"
    if x.ndim == 4 and x.shape[1] in (1, 3) and x.shape[2] == x.shape[3] > MOST_CHANNELS:
        yield f"has x of shape {x.shape}, channels first; images are (N, H, W, C): x.transpose(0, 2, 3, 1)"
    if x.shape[1:] != trained.shape[1:]:
        yield f"has examples of shape {x.shape[1:]}, the train split of {trained.shape[1:]}"
    if x.dtype.kind not in "buif":
        yield f"has x of type {x.dtype}; images are uint8, tables float32"
    yield from _not_finite("x", x)
    yield from _too_large("x", x)


def _of_targets(y: Array, data: Data) -> Iterator[str]:
    trained = data.train.y
    yield from _of_numbers(y) if data.task == "regression" else _of_labels(y, data)
    if y.shape[1:] != trained.shape[1:]:  # one number a row would be compared with each of several
        yield f"has targets of shape {y.shape[1:]}, the train split of {trained.shape[1:]}"


def _of_numbers(y: Array) -> Iterator[str]:
    if y.ndim != 2 or y.dtype not in TARGETS or y.shape[1] == 0:
        yield f"has y of {y.dtype} {y.shape}; targets of a regression are float32 (N, T)"
    yield from _not_finite("y", y)
    yield from _too_large("y", y)


def _of_labels(y: Array, data: Data) -> Iterator[str]:
    if y.dtype not in LABELS or y.ndim != (1 if data.task == "classification" else 2):
        shape = "(N,)" if data.task == "classification" else "(N, T)"
        yield f"has y of {y.dtype} {y.shape}; labels of a {data.task} are int64 {shape}"
    if (wrong := y[(y < 0) | (y >= len(data.classes))]).size:
        yield f"has the label {wrong[0]}; those of its classes are 0 to {len(data.classes) - 1}"
    if y is data.train.y and (y == y.flat[0]).all():
        yield f"has the label {y.flat[0]} throughout: nothing to learn"


def _not_finite(name: str, values: Array) -> Iterator[str]:
    if values.dtype.kind == "f" and not (finite := np.isfinite(values)).all():
        first: Any = np.argwhere(~finite)[0]
        yield f"has {values[tuple(first)]} in {name}, in example {first[0]}"


def _too_large(name: str, values: Array) -> Iterator[str]:
    """Numbers of 64 bits that are infinite in 32."""
    if values.dtype.kind == "f" and values.itemsize > 4 and (large := np.abs(values) > LARGEST_FLOAT).any():
        first: Any = np.argwhere(large)[0]
        yield f"has {values[tuple(first)]} in {name}, in example {first[0]}, beyond float32"
