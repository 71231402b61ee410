"""The text format of the bAbI tasks.

A line is a number and a sentence, or a number, a question, a tab, the answer, a tab and the numbers of the lines
that support it. The number 1 begins a new story.

Source: Weston et al. 2015, arXiv:1502.05698; the README of the archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from normexp.data.files.members import text_of
from normexp.data.texts.tokens import Question
from normexp.errors import UserError

_LINE = re.compile(r"(\d+) (.*)")
_WORD = re.compile(r"[\w']+|[.?]")


def read_stories(data: bytes, name: str) -> list[list[Question]]:
    """Return the questions of every story, each with all sentences before it, in lower case.

    An answer of several words keeps its commas. Raises UserError, with `name` and the line, for another format.
    """
    stories: list[list[Question]] = []
    said: list[str] = []
    for number, text in _numbered(data, name):
        if number == 1:
            stories.append([])
            said = []
        sentence, *rest = text.split("\t")
        if rest:
            stories[-1].append(Question(tuple(said), words_of(sentence), rest[0].lower()))
        else:
            said += words_of(sentence)
    return stories


def words_of(text: str) -> list[str]:
    """Return words in lower case, full stops and question marks."""
    return _WORD.findall(text.lower())


def _numbered(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Yield the lines' numbers and texts, which are one sentence or have three parts."""
    before = 0
    for place, line in enumerate(text_of(data, name).splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None or int(match[1]) not in (1, before + 1) or match[2].count("\t") not in (0, 2):
            raise UserError(f"{name}, line {place}: {line[:40]!r} is no line of a bAbI story; get a fresh copy")
        before = int(match[1])
        yield before, match[2]
