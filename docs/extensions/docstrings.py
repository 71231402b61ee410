"""The package's docstrings, plain sentences with indented formulas, as reStructuredText."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

MARKUP = re.compile(r"([*|_])")
CODE = re.compile(r"(`[^`]*`)")
SECTION = re.compile(r"^(Args|Raises|Returns|Yields|Attributes):$")
FIELD = re.compile(r"^(Shape|Raises|Source|Differs|Returns|Note|See): ?(.+)")


def escaped(line: str) -> str:
    """Return the line with `code` in two backquotes, and outside of it escaped what would be taken for markup."""
    return "".join(f"`{part}`" if part.startswith("`") else MARKUP.sub(r"\\\1", part) for part in CODE.split(line))


def as_rst(lines: list[str]) -> list[str]:
    """Return a docstring's lines with formulas, which stand indented behind an empty line, as literal blocks."""
    found: list[str] = []
    section = formula = False
    for line in lines:
        indented = line.startswith(" ")
        section = bool(SECTION.match(line)) or (section and (indented or not line))
        if indented and not section and not formula and found and not found[-1]:
            found += ["::", ""]
            formula = True
        formula = formula and (indented or not line)
        found.append(line if formula else FIELD.sub(r"**\1.** \2", escaped(line)))
    return found


def convert(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", convert, priority=100)  # before napoleon reads Args and Raises
    return {"parallel_read_safe": True, "parallel_write_safe": True}
