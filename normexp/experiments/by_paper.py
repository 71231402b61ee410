"""Experiments by what somebody types of their paper: title, authors, an arXiv number, words of what it is about."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache

from normexp.config import config_dir
from normexp.config.options import load_yaml
from normexp.errors import alternatives

FEW = 4  # experiments that an error proposes
HEAD = re.compile(r"^(?:paper|item|title): (.*)$", re.MULTILINE)
NUMBER = re.compile(r"\d{4}\.\d{4,5}")  # of arXiv, alone, with its version or in an address
MARKS = ".,:;!?\"'"
BETWEEN_AUTHORS = ("&", "and", "et", "al")


def looked_for(words: str) -> list[str]:
    """Return words in small letters, without marks at their ends, `and` or `et al.`; of an arXiv address its number."""
    numbers = ((NUMBER.search(word), word.strip(MARKS)) for word in words.casefold().split())
    found = [number[0] if number else word for number, word in numbers if number or word]
    return [word for word in found if word not in BETWEEN_AUTHORS] or found


@cache
def _numbers() -> dict[tuple[str, ...], str]:
    """Return {words of a paper's title: its arXiv number}."""
    return {tuple(looked_for(title)): number for number, title in load_yaml(config_dir() / "papers.yaml").items()}


def number_of(title: str) -> str | None:
    """Return the arXiv number of a paper by its whole title; None where no paper of our experiments has that."""
    return _numbers().get(tuple(looked_for(title)))


def says(text: str, words: str) -> bool:
    """Tell whether all words stand in a text, whatever their case, or the number of the paper whose title they are."""
    number = number_of(words)
    return all(word in text.casefold() for word in looked_for(words)) or (number is not None and number in text)


def by_paper(words: str, among: Iterable[str]) -> list[str]:
    """Return the experiments of ours, out of some, whose paper, item or title has all of these words.

    In place of the whole title of a paper its number alone counts, which stands there: "Layer Normalization" is that
    paper, and not all that is about layer normalization.
    """
    number = number_of(words)
    folder, wanted = config_dir() / "experiment", set(looked_for(number or words))
    heads = {name: HEAD.findall((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in among}
    return [name for name, head in heads.items() if wanted and wanted <= set(looked_for(" ".join(head)))]


def proposed(words: str, among: Iterable[str]) -> str | None:
    """Return what an error proposes for such words, `A, B or C`, those first whose names are most like them."""
    found = by_paper(words, among)
    few = difflib.get_close_matches(words.casefold(), found, n=FEW, cutoff=0.0)
    return alternatives(few) if few else None
