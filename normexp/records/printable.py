"""Text that was read back, shown to a person: control characters are made visible."""

from __future__ import annotations

import unicodedata

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats (text direction), surrogates, line and paragraph breaks


def printable(text: object, most: int = 2000) -> str:
    """Return text on one line in which nothing moves the cursor, turns the text round or ends the line.

    Args:
        most: characters; of a longer text the beginning is shown, with an ellipsis.
    """
    plain = str(text)
    if len(plain) > most:
        plain = f"{plain[: most - 1]}…"
    if plain.isprintable():
        return plain
    return "".join(_visible(character) for character in plain)


def printable_lines(text: str) -> str:
    """Return text of several lines, with tabs, in which nothing else moves the cursor or turns the text round."""
    return "".join(each if each in "\n\t" else _visible(each) for each in text)


def is_hidden(character: str) -> bool:
    """Tell whether a character is none that is seen in its place, but moves others, or is no text at all."""
    return unicodedata.category(character) in _HIDDEN


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode() if is_hidden(character) else character
