"""Arms whose names look the same and are not: a letter of another alphabet, a character that nobody sees."""

from __future__ import annotations

import unicodedata

from normexp.config.text import composed
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment

# Cyrillic and Greek letters that are drawn as Latin ones: a slip of the keyboard's layout, or copied from elsewhere.
LATIN = str.maketrans(
    "асеорхуіјѕԁһАВСЕНІЈКМОРЅТХУ" + "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",  # noqa: RUF001
    "aceopxyijsdhABCEHIJKMOPSTXY" + "oABEZHIKMNOPTYX",
)


def check_looks(experiment: Experiment, document: Document) -> None:
    """Raise UserError for two arms that a reader of the table could not tell apart."""
    seen: dict[str, str] = {}
    for arm in experiment.arms:
        if (other := seen.setdefault(_look(arm), arm)) != arm:
            raise document.error(f"{other!r} and {arm!r} look alike{_but(other, arm)}; give another name", "arms", arm)


def _but(first: str, second: str) -> str:
    """Say which letter one name alone has; nothing where they have the same ones, in other places."""
    odd = next((letter for letter in second + first if letter not in first or letter not in second), "")
    return f", but for {unicodedata.name(odd, f'U+{ord(odd):04X}')}" if odd else ""


def _look(name: str) -> str:
    seen = (letter for letter in composed(name) if unicodedata.category(letter) != "Cf")
    return "".join(seen).translate(LATIN)
