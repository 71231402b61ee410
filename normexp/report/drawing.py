"""A figure as files with its caption, whoever drew it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from normexp.report.markdown import escaped


@dataclass(frozen=True)
class Drawn:
    """One figure: its files by name, and what stands beside it.

    Args:
        beside: a file in the folder of the figure, and what it does, as a chart has them.
    """

    name: str
    title: str
    caption: str
    files: Mapping[str, bytes]
    beside: tuple[str, str] | None = None

    def markdown(self) -> str:
        """Return the picture with its caption, for a page in the folder of the files."""
        picture = next(iter(self.files))
        title = re.sub(r"(\\.)|([][])", _bracket_escaped, escaped(self.title or self.name))
        further = " [{0}]({0}) {1}.".format(*self.beside) if self.beside else ""
        return f"![{title}]({quote(picture, errors='surrogateescape')})\n\n{escaped(self.caption)}{further}\n"


def _bracket_escaped(found: re.Match[str]) -> str:
    """Return what is escaped already, or a bracket with a backslash."""
    return found[1] or f"\\{found[2]}"
