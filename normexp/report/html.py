"""Elements of HTML. Every text that comes from a record, a YAML or a path is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from normexp.report.tables.table import one_line


def text(value: object) -> str:
    """Return text for the inside of an element or a quoted attribute."""
    return escape(one_line(str(value)))


def element(tag: str, inside: str, **attributes: object) -> str:
    """Return an element; `class_` stands for class, other underscores for hyphens; None is left out; inside is HTML."""
    given = {key: value for key, value in attributes.items() if value is not None}
    words = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in given.items())
    return f"<{tag}{words}>{inside}</{tag}>"


def sentence(value: str) -> str:
    """Return a sentence in which `commands` are set as code."""
    parts = re.split(r"`([^`]+)`", one_line(value))
    return "".join(element("code", text(part)) if i % 2 else escape(part) for i, part in enumerate(parts))


def listing(sentences: Iterable[str]) -> str:
    return element("ul", "".join(element("li", sentence(each)) for each in sentences))


def folded(summary: str, inside: str) -> str:
    return element("details", element("summary", text(summary)) + inside)


def head(words: str, side: str | None) -> str:
    """Return the head of a column; the side, to which its cells are set, is a class of the style."""
    return element("th", text(words), scope="col", class_=side)


def row(cells: Sequence[str], sides: Sequence[str | None]) -> str:
    """Return a row, whose first cell is its head."""
    first = element("th", text(cells[0]), scope="row", class_="text")
    others = (element("td", text(cell), class_=side) for cell, side in zip(cells[1:], sides[1:], strict=True))
    return f"<tr>{first}{''.join(others)}</tr>"
