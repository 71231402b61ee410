"""The `.question` files of the CNN and Daily Mail question answering corpus.

Five blocks with blank lines between them: an address, the passage, the question, the answer, and lines that tell
which name an entity marker stands for (`@entity3:Name`). In the question @placeholder stands for the answer.

Source: Hermann et al. 2015, arXiv:1506.03340; the files that their script makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from normexp.data.files.members import check_complete, members, text_of
from normexp.data.texts.tokens import Question
from normexp.errors import UserError

PLACEHOLDER, ENTITY = "@placeholder", "@entity"
SPLITS = ("training", "validation", "test")


@dataclass(frozen=True)
class Record:
    """One file.

    Args:
        passage, question: words, as the file separates them by spaces.
        entities: marker -> name.
    """

    passage: Sequence[str]
    question: Sequence[str]
    answer: str
    entities: Mapping[str, str]

    def to_question(self) -> Question:
        return Question(self.passage, self.question, self.answer)

    def renamed(self, markers: Mapping[str, str]) -> Record:
        """Return the record with other entity markers; words that are no key stay."""
        passage, question = ([markers.get(word, word) for word in words] for words in (self.passage, self.question))
        entities = {markers.get(marker, marker): name for marker, name in self.entities.items()}
        answer = markers.get(self.answer, self.answer)
        return replace(self, passage=passage, question=question, answer=answer, entities=entities)


def parse(data: bytes, name: str) -> Record:
    """Read one file. Raises UserError, with `name`, for one that is truncated or has another format."""
    blocks = text_of(data, name).replace("\r\n", "\n").strip().split("\n\n")
    if len(blocks) != 5:
        raise UserError(f"{name}: {len(blocks)} blocks, expected 5 (address, passage, question, answer, entities)")
    _, passage, question, answer, names = blocks
    pairs = [line.partition(":") for line in names.splitlines()]
    if PLACEHOLDER not in question.split() or len(answer.split()) != 1:
        raise UserError(f"{name}: no {PLACEHOLDER} in the question, or an answer that is not one word: {answer[:40]!r}")
    if not all(marker.startswith(ENTITY) and colon for marker, colon, _ in pairs):
        raise UserError(f"{name}: damaged list of entities, expected lines {ENTITY}0:NAME")
    return Record(passage.split(), question.split(), answer.strip(), {marker: who for marker, _, who in pairs})


def read_records(path: Path) -> dict[str, list[Record]]:
    """Return the records below the folders training, validation and test of a folder or archive, by file name.

    Raises UserError where training or test is missing, or a file is damaged.
    """
    found: dict[str, dict[str, Record]] = {split: {} for split in SPLITS}
    check_complete(path)
    for member in members(path):
        split = next((part for part in member.name.parts if part in SPLITS), None)
        if split and member.name.suffix == ".question":
            found[split][str(member.name)] = parse(member.read(), f"{path}: {member.name}")
    for split in ("training", "test"):
        if not found[split]:
            raise UserError(f"dataset.path={path}: no {split}/*.question in it (nor in folders below)")
    return {split: [records[name] for name in sorted(records)] for split, records in found.items()}


def with_shuffled_entities(records: Sequence[Record], pool: int, rng: np.random.Generator) -> list[Record]:
    """Give every record's entities new markers, drawn without replacement from @entity0 to @entity(pool - 1).

    So a marker tells nothing beyond its story. Differs from Hermann et al. 2015: they draw anew
    whenever an example is loaded, here it is done once.
    """
    shuffled = []
    for record in records:
        drawn = rng.permutation(pool)[: len(record.entities)]
        new = (f"{ENTITY}{number}" for number in drawn)
        shuffled.append(record.renamed(dict(zip(record.entities, new, strict=True))))
    return shuffled


def matching_sentences(document: Sequence[str], question: Sequence[str], count: int) -> list[str]:
    """Return the words of the `count` sentences with most different words of `question`, in the document's order.

    A sentence ends with a full stop that is a word of its own. Among equals the earlier ones are kept.
    """
    sentences = split_sentences(document)
    asked = set(question) - {"."}
    order = sorted(range(len(sentences)), key=lambda index: -len(asked.intersection(sentences[index])))
    return [word for index in sorted(order[:count]) for word in sentences[index]]


def split_sentences(words: Sequence[str]) -> list[list[str]]:
    """Return the sentences, each with its full stop."""
    sentences: list[list[str]] = [[]]
    for word in words:
        sentences[-1].append(word)
        if word == ".":
            sentences.append([])
    return [sentence for sentence in sentences if sentence]
