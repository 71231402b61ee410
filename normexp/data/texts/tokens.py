"""Questions about documents as arrays of word numbers: what every data set of texts returns.

An example is one row of steps: the document's words, right after them the question's words, then padding. Every
step has three features, so x is (N, T, 3):

    0  the word's number, as float32 (exact up to 2^24), because batches are float32 throughout
    1  the part: 0 in the document, 1 in the question
    2  the mask: 1 inside, 0 in the padding; last, as in every data set of sequences

Padding is 0 in all three. So document = mask * (1 - part) and question = mask * part; nothing separates them but
the part. A network that embeds the words and ignores the part can read the row as one sequence. Networks are tried
on zeros before training, which here is an example of padding only: that must give finite numbers.

A class is a word: y is the number of the answer, and `Data.classes` is the vocabulary in the order of its numbers,
first PADDING and UNKNOWN. A network therefore learns the size of its embedding from the number of its outputs.
Source: Hermann et al. 2015, arXiv:1506.03340, section 3.2, where the answer is a word of the vocabulary, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from normexp.data.base import Split

PADDING, UNKNOWN = "<padding>", "<unknown>"


class Question(NamedTuple):
    """A document, a question about it, and the answer, which is one word."""

    document: Sequence[str]
    question: Sequence[str]
    answer: str


def vocabulary(questions: Sequence[Question], size: int | None = None) -> tuple[str, ...]:
    """Return PADDING, UNKNOWN and the words of `questions`, the frequent ones first, equally frequent ones by name.

    Args:
        size: keep so many words beside the answers; None keeps all. Answers are always kept.
    """
    counts: Counter[str] = Counter()
    for document, question, answer in questions:
        counts.update((*document, *question, answer))
    answers = {question.answer for question in questions}
    words = sorted(counts, key=lambda word: (-counts[word], word))
    rest = [word for word in words if word not in answers][:size]
    kept = answers.union(rest)
    return PADDING, UNKNOWN, *(word for word in words if word in kept)


def encode(questions: Sequence[Question], words: Sequence[str]) -> Split:
    """Return x float32 (N, T, 3) and y int64 (N,), T being the longest of these questions with its document.

    A word that is none of `words`, an answer too, becomes UNKNOWN.
    """
    numbers = {word: number for number, word in enumerate(words)}
    unknown = numbers[UNKNOWN]
    longest = max((len(document) + len(question) for document, question, _ in questions), default=0)
    x = np.zeros((len(questions), longest, 3), dtype=np.float32)
    for row, (document, question, _) in zip(x, questions, strict=True):
        end = len(document) + len(question)
        row[:end, 0] = [numbers.get(word, unknown) for word in (*document, *question)]
        row[len(document) : end, 1] = 1
        row[:end, 2] = 1
    answers = [numbers.get(question.answer, unknown) for question in questions]
    return Split(x, np.array(answers, dtype=np.int64))


def unseen_answers(splits: Sequence[Split]) -> str:
    """Return a note on how many answers are not in the vocabulary, which nobody can get right; or nothing."""
    count = sum(int((split.y == 1).sum()) for split in splits)
    return f"{count} answers never seen in training" if count else ""
