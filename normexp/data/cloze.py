"""Cloze questions about stories of nameless entities: generated, or read from the CNN corpus's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from normexp.data.base import Data, Dataset, check_fits
from normexp.data.files import cache
from normexp.data.files.cache import Content
from normexp.data.files.content import content_of
from normexp.data.files.members import existing_path
from normexp.data.files.progress import announce
from normexp.data.streams import numpy_generator
from normexp.data.texts.entity_stories import NAMES, RELATIONS, generate
from normexp.data.texts.questions import Record, matching_sentences, read_records, with_shuffled_entities
from normexp.data.texts.tokens import Question, encode, unseen_answers, vocabulary
from normexp.errors import UserError

PARTS = {"training": "train", "validation": "validation", "test": "test"}  # the corpus's words for our splits
OFFERED_AT = "https://cs.nyu.edu/~kcho/DMQA/"


@dataclass(frozen=True, kw_only=True)
class Cloze(Dataset):
    """Which entity was it? Stories in which entities are markers that mean nothing beyond the story.

    Shapes: see `tokens`. The vocabulary is that of the training stories.

    Args:
        path: read the `.question` files below training, validation and test of this folder or archive (the CNN
            or Daily Mail corpus); None generates stories, and only then the next five matter.
        entities: number of entities in a generated story.
        facts: number of relations between two of them; one is asked for, the others distract.
        fillers: number of sentences about an entity that state no relation.
        examples: number of stories for training, before `validation` are held out.
        test: number of test stories.
        shuffle_entities: draw every story's markers at random, with the run's seed for generated stories and with
            `split_seed` for files.
        markers: number of markers to draw from; None takes as many as the largest story has entities.
        sentences: keep the sentences that share most words with the question, so many; None keeps all.
        document_length: keep so many words of a story at most; None keeps all.
        vocabulary: keep so many words beside the answers, the most frequent; None keeps all.

    Source: Hermann et al. 2015, arXiv:1506.03340; four sentences: Cooijmans et al. 2017, arXiv:1603.09025,
    section 5.4. Differs: how they match sentences is not stated, so that rule is ours, as are the generated stories.
    """

    path: str | None = None
    entities: int = 6
    facts: int = 8
    fillers: int = 2
    examples: int = 10_000
    test: int = 1000
    shuffle_entities: bool = True
    markers: int | None = None
    sentences: int | None = None
    document_length: int | None = None
    vocabulary: int | None = None
    validation: int = 1000

    def read(self, seed: int) -> Data:
        content = self._encoded(self._generated(seed), seed) if self.path is None else self._corpus(self.path)
        train, validation, test = (content.split(name) for name in PARTS.values())
        return Data(train, validation, test, "classification", content.classes, content.note)

    def _generated(self, seed: int) -> dict[str, list[Record]]:
        if self.facts > self.entities * len(RELATIONS):
            most = self.entities * len(RELATIONS)
            raise UserError(f"dataset.facts={self.facts}: {self.entities} entities have at most {most} relations")
        if self.entities > len(NAMES):
            raise UserError(f"dataset.entities={self.entities}: there are names for at most {len(NAMES)}")
        words = 20 * (self.facts + self.fillers)  # at most, with the markers and the question
        check_fits(3 * words * (self.examples + self.test), f"dataset=cloze with {self.examples:,} stories")
        sizes = {"training": self.examples, "test": self.test}
        return {
            part: generate(numpy_generator(seed, f"cloze {part}"), size, self.entities, self.facts, self.fillers)
            for part, size in sizes.items()
        }

    def content(self) -> str:
        if self.path is None:
            return ""
        return content_of(corpus_path(self.path))

    def find(self) -> bool:
        if self.path is not None:
            corpus_path(self.path)
        return True

    def fetch(self) -> None:
        if self.path is not None:
            self._corpus(self.path)

    def _corpus(self, given: str) -> Content:
        path = corpus_path(given)
        how = (self.shuffle_entities, self.markers, self.sentences, self.document_length, self.vocabulary)
        key = self.content()

        def build() -> Content:
            announce(f"reading {path}, once")
            return self._encoded(read_records(path), self.split_seed)

        return cache.cached("cloze", f"{key} {how} {self.split_seed}", build)

    def _encoded(self, records: Mapping[str, Sequence[Record]], seed: int) -> Content:
        pool = self._pool(records)
        asked = {PARTS[part]: self._questions(part, some, pool, seed) for part, some in records.items() if some}
        words = vocabulary(asked["train"], self.vocabulary)
        splits = {name: encode(questions, words) for name, questions in asked.items()}
        arrays = {f"{name}_{axis}": getattr(split, axis) for name, split in splits.items() for axis in "xy"}
        return Content(arrays, words, unseen_answers(list(splits.values())), self.path or "generated")

    def _pool(self, records: Mapping[str, Sequence[Record]]) -> int:
        """Return from how many markers to draw. Raises UserError where a story has more entities."""
        largest = max(len(record.entities) for some in records.values() for record in some)
        if self.markers is not None and self.markers < largest:
            raise UserError(f"dataset.markers={self.markers}: a story has {largest} entities, so at least {largest}")
        return largest if self.markers is None else self.markers

    def _questions(self, part: str, records: Sequence[Record], pool: int, seed: int) -> list[Question]:
        if self.shuffle_entities:
            records = with_shuffled_entities(records, pool, numpy_generator(seed, f"cloze markers {part}"))
        return [self._shortened(record.to_question()) for record in records]

    def _shortened(self, asked: Question) -> Question:
        document = asked.document
        if self.sentences is not None:
            document = matching_sentences(document, asked.question, self.sentences)
        return asked._replace(document=document[: self.document_length])


def corpus_path(corpus: str) -> Path:
    """Return the path of `dataset.path`. Raises UserError where there is nothing."""
    otherwise = f"; the CNN questions are at {OFFERED_AT}, and without dataset.path stories are generated"
    return existing_path("dataset.path", corpus, otherwise)
