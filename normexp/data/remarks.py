"""What a table or a folder of the user's own is told about its splits, in the note of its data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from normexp.config.text import amount, shortened
from normexp.data.base import Data, Split

MOST_NAMED = 8  # classes or columns in one note, which tables and records repeat: records hold 10,000 characters of it


def alike(words: Iterable[str]) -> tuple[str, str] | None:
    """Return two words that differ in upper and lower case alone; None where none do."""
    seen: dict[str, str] = {}
    for word in sorted(set(words)):
        if (other := seen.setdefault(word.casefold(), word)) != word:
            return other, word
    return None


def say_alike(data: Data) -> Data:
    """Note two classes that differ in upper and lower case alone, and were likely meant as one."""
    pair = " and ".join(repr(shortened(name)) for name in alike(data.classes) or ())
    return data.noting(f"classes {pair} are taken as two" if pair else "")


def say_unseen(data: Data) -> Data:
    """Note the classes without a training example, as those of one example that went to another split."""
    unseen = np.setdiff1d(np.arange(len(data.classes)), data.train.y) if data.task == "classification" else ()
    if not len(unseen):
        return data
    named = ", ".join(repr(shortened(data.classes[label])) for label in unseen[:MOST_NAMED])
    more = f" and {len(unseen) - MOST_NAMED} more" if len(unseen) > MOST_NAMED else ""
    return data.noting(f"no training example of {'class' if len(unseen) == 1 else 'classes'} {named}{more}")


def say_repeated(data: Data) -> Data:
    """Note how many test examples, with their targets, stand in the training split, too: they test nothing."""
    known = set(_fingerprints(data.train))
    again = sum(fingerprint in known for fingerprint in _fingerprints(data.test))
    if not again:
        return data
    are = "is a training example" if again == 1 else "are training examples"
    return data.noting(f"{again} of {amount(len(data.test), 'test example')} {are}, too")


def _fingerprints(split: Split) -> Iterator[int]:
    return (hash((x.tobytes(), y.tobytes())) for x, y in zip(split.x, split.y, strict=True))
