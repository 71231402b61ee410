"""Links to what is no page: of a folder to the page that shows what is in it, of an example to the page of its run."""

from __future__ import annotations

import posixpath
import re

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

FOLDERS = {"configs/experiment": "docs/all_experiments", "results/bench": "docs/measurements"}
EXAMPLE = re.compile(r"docs/examples/(\w+)\.py")


def page(place: str) -> str | None:
    """Return the page that stands for a path of the repository, None for all that Sphinx knows by itself."""
    example = EXAMPLE.fullmatch(place)
    return f"docs/gallery/{example[1]}" if example else FOLDERS.get(place)


def lead(app: Sphinx, document: nodes.document) -> None:
    """Let such links lead to pages; of others that lead nowhere Sphinx warns."""
    for link in [*document.findall(pending_xref), *document.findall(download_reference)]:
        if link["reftype"] != "myst" or link["refdomain"] is not None:
            continue
        place = posixpath.normpath(posixpath.join(posixpath.dirname(link["refdoc"]), link["reftarget"]))
        if target := page(place):
            found = link.attributes | {"refdomain": "doc", "reftarget": target, "reftargetid": None}
            link.replace_self(pending_xref("", *link.children, **found))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", lead)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
