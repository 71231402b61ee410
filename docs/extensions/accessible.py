"""What keyboards and screen readers miss in the theme's pages: what scrolls can be reached, all parts have a name."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

REPLACED = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer"': '<aside aria-label="Site" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    r'(?<!</h1>)<div id="search-results">': '<h1>Search</h1><div id="search-results">',
    r'<th class="head[^"]*"><p></p></th>': "<td></td>",
}


def mend(app: Sphinx, failed: Exception | None) -> None:
    """Replace in every page that was written; a second time changes nothing."""
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for old, new in REPLACED.items():
            text = re.sub(old, new, text)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
