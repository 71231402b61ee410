"""Links to the papers that a report names by their number: arXiv:1502.03167."""

from __future__ import annotations

import re

_PAPER = re.compile(r"(?<!\[)arXiv:(\d{4}\.\d{4,5})")


def markdown_links(text: str) -> str:
    """Return Markdown in which every paper is a link to its page."""
    return _PAPER.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def html_links(text: str) -> str:
    """Return HTML in which every paper is a link to its page."""
    return _PAPER.sub(r'<a href="https://arxiv.org/abs/\1">arXiv:\1</a>', text)
