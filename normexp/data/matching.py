"""Which sentences of a document have to do with a question: those that share words with it."""

from __future__ import annotations

from collections.abc import Sequence


def matching_sentences(document: Sequence[str], question: Sequence[str], count: int) -> list[str]:
    """Return the words of the `count` sentences with most different words of `question`, in the document's order.

    A sentence ends with a full stop that is a word of its own. Among equals the earlier ones are kept.
    """
    sentences = split_sentences(document)
    asked = set(question) - {"."}
    order = sorted(range(len(sentences)), key=lambda place: -len(asked.intersection(sentences[place])))
    return [word for place in sorted(order[:count]) for word in sentences[place]]


def split_sentences(words: Sequence[str]) -> list[list[str]]:
    """Return the sentences, each with its full stop."""
    sentences: list[list[str]] = [[]]
    for word in words:
        sentences[-1].append(word)
        if word == ".":
            sentences.append([])
    return [sentence for sentence in sentences if sentence]
