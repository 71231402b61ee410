"""The help of every command, as the program prints it: `.. commands::`."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from normexp.cli.command_line import parsers


class Commands(SphinxDirective):
    """A section with its help for each command."""

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for name, parser in parsers()[1].items():
            section = nodes.section(ids=[f"normexp-{name}"], names=[f"normexp {name}"])
            section += nodes.title(text=f"normexp {name}")
            section += nodes.literal_block(text=parser.format_help(), language="none")
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
