"""bAbI: twenty tasks of questions about short stories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from normexp.config.identity import PUBLISHED
from normexp.data.base import Array, Data, Dataset, empty_like
from normexp.data.files import cache
from normexp.data.files.cache import Content
from normexp.data.files.content import content_of
from normexp.data.files.download import Remote, fetch
from normexp.data.files.members import check_complete, existing_path, members
from normexp.data.texts.stories import read_stories
from normexp.data.texts.tokens import Question, encode, unseen_answers, vocabulary
from normexp.errors import UserError, unknown

COLLECTIONS = {"en": 1000, "en-10k": 10_000}  # and how many training questions each has
ARCHIVE = Remote(
    "tasks_1-20_v1-2.tar.gz",
    ("http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz",),
    sha256="0364ebde659f14d11bc21744516c5ec49d3d06cb692733f66680771244998898",
)


@dataclass(frozen=True, kw_only=True)
class Babi(Dataset):
    """The bAbI question answering tasks, version 1.2, of which those with answers of one word.

    Shapes: see `tokens`. The vocabulary is that of the training file. Task 8 loses its answers of several words
    (its note says how many), task 19 has no other.

    Args:
        task: 1 to 20.
        collection: `en`, with 1,000 questions for training, or `en-10k`, with 10,000.
        archive: a local tasks_1-20_v1-2.tar.gz, or the folder that it unpacks to, instead of a download.
        validation: hold out whole stories, so many that they have at least this number of questions: the
            questions of one story share its sentences.

    Source: Weston et al. 2015, arXiv:1502.05698. Licence: CC BY 3.0.
    """

    task: int = 1
    collection: str = "en"
    archive: str | None = None
    validation: int = 100

    def read(self, seed: int) -> Data:
        if self.collection not in COLLECTIONS:
            raise unknown("dataset.collection", self.collection, COLLECTIONS)
        content = self._content()
        train, test = content.split("train"), content.split("test")
        data = Data(train, empty_like(train), test, "classification", content.classes, content.note)
        if self.validation == 0:
            return data
        return hold_out_stories(data, content.arrays["train_story"], self.validation, self.split_seed)

    def content(self) -> str:
        if self.archive is None:
            return PUBLISHED
        content = content_of(existing_path("dataset.archive", self.archive))
        return PUBLISHED if content == ARCHIVE.sha256 else content

    def find(self) -> bool:
        if self.archive is None:
            return cache.holds("babi", self._key)
        existing_path("dataset.archive", self.archive)
        return True

    def fetch(self) -> None:
        self._content()

    @property
    def _key(self) -> str:
        content = self.content()
        return f"{'download' if content == PUBLISHED else content} {self.collection} {self.task}"

    def _content(self) -> Content:
        def build() -> Content:
            if self.archive is not None:
                return self._build(existing_path("dataset.archive", self.archive))
            return self._build(fetch(ARCHIVE, cache.downloads("babi")))

        return cache.cached("babi", self._key, build)

    def _build(self, path: Path) -> Content:
        train, test = (one_word(stories) for stories in find_stories(path, self.collection, self.task))
        asked = [list(chain(*stories)) for stories in (train, test)]
        if not all(asked):
            raise UserError(f"dataset.task={self.task}: no answer of a single word in {path}; choose another task")
        words = vocabulary(asked[0])
        splits = [encode(questions, words) for questions in asked]
        arrays = {"train_x": splits[0].x, "train_y": splits[0].y, "test_x": splits[1].x, "test_y": splits[1].y}
        story = np.repeat(np.arange(len(train)), [len(questions) for questions in train])
        notes = (self._left_out(asked[0]), unseen_answers(splits))
        return Content({**arrays, "train_story": story}, words, "; ".join(filter(None, notes)), str(path))

    def _left_out(self, asked: Sequence[Question]) -> str:
        of = COLLECTIONS[self.collection]
        return f"{len(asked):,} of {of:,} training questions: answers of one word" if len(asked) < of else ""


def find_stories(path: Path, collection: str, task: int) -> list[list[list[Question]]]:
    """Return the stories for training and those for testing. Raises UserError where a file is missing or damaged."""
    pattern = re.compile(rf"qa{task}_.*_(train|test)\.txt")
    found = {}
    check_complete(path)
    for member in members(path):
        match = pattern.fullmatch(member.name.name)
        if match and member.name.parent.name in (collection, ""):
            found[match[1]] = read_stories(member.read(), f"{path}: {member.name}")
    for split in ("train", "test"):
        if split not in found:
            raise UserError(f"{path}: {collection}/qa{task}_*_{split}.txt is missing; get a complete copy")
    return [found["train"], found["test"]]


def one_word(stories: Sequence[Sequence[Question]]) -> list[list[Question]]:
    """Return the stories with those of their questions that are answered by one word."""
    return [[question for question in story if "," not in question.answer] for story in stories]


def hold_out_stories(data: Data, story: Array, count: int, seed: int) -> Data:
    """Move whole stories, chosen by `seed`, with at least `count` questions to the validation split.

    Args:
        story: the number of each training example's story, (N,).

    Raises: UserError where that would take all of them.
    """
    numbers, sizes = np.unique(story, return_counts=True)
    order = np.random.default_rng([seed, len(story)]).permutation(len(numbers))
    needed = int(np.searchsorted(sizes[order].cumsum(), count)) + 1
    if needed >= len(numbers):
        raise UserError(f"dataset.validation={count}: the training split has only {len(story)} examples")
    chosen = np.isin(story, numbers[order[:needed]])
    train = data.train
    return replace(data, train=train.take(np.flatnonzero(~chosen)), validation=train.take(np.flatnonzero(chosen)))
