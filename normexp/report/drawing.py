"""A figure as files with its caption, whoever drew it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from normexp.report.markdown import escaped


@dataclass(frozen=True)
class Drawn:
    """One figure: its files by name, and what stands beside it."""

    name: str
    title: str
    caption: str
    files: Mapping[str, bytes]

    def markdown(self) -> str:
        """Return the picture with its caption, for a page in the folder of the files."""
        picture = next(iter(self.files))
        title = re.sub(r"(\\.)|([][])", _bracket_escaped, escaped(self.title or self.name))
        return f"![{title}]({quote(picture, errors='surrogateescape')})\n\n{escaped(self.caption)}\n"


def _bracket_escaped(found: re.Match[str]) -> str:
    """Return what is escaped already, or a bracket with a backslash."""
    return found[1] or f"\\{found[2]}"
