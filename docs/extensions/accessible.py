"""What keyboards and screen readers miss in the theme's pages: what scrolls can be reached, headings have a level."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

REPLACED = {
    "<pre>": '<pre tabindex="0">',
    'class="table-wrapper': 'tabindex="0" class="table-wrapper',
    'role="heading">': 'role="heading" aria-level="2">',
}


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    for part in ("body", "furo_navigation_tree"):
        for old, new in REPLACED.items():
            context[part] = (context.get(part) or "").replace(old, new)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend, priority=900)  # behind the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
