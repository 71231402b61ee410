"""Words that Markdown would read as markup, escaped."""

from __future__ import annotations

import re

from normexp.report.tables.table import one_line

_ANYWHERE = r"[\\*`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|\](?=[(\[])|&(?=#?\w+;)"  # the last: of a link, an entity
_MARKUP = re.compile(rf"([|<>]|{_ANYWHERE})")
_IN_PROSE = re.compile(rf"(<(?=[A-Za-z/!?])|{_ANYWHERE})")


def escaped(text: str) -> str:
    """Escape what Markdown would read as markup; an underscore inside a word is none, a line break is a space."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def prose(text: str) -> str:
    """Escape what would be more than words in a line that is no table, except for the commands in it: `code`."""
    return sentence(text, _IN_PROSE)


def sentence(text: str, markup: re.Pattern[str] = _MARKUP) -> str:
    """Escape a sentence, except for the commands in it: `code`."""
    return "".join(
        part if part.startswith("`") and part.endswith("`") and part[1:] else markup.sub(r"\\\1", part)
        for part in re.split(r"(`[^`]+`)", one_line(text))
    )
