"""The options of a config group, each with its file and the docstring of what it makes: `.. options:: norm`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import isclass

from docstrings import escaped
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from normexp.config.options import config_dir, option, options

logger = logging.getLogger(__name__)
shown: set[str] = set()


def heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def entry(group: str, name: str) -> Iterator[str]:
    """Yield the section of one option, in reStructuredText."""
    about = option(group, name)
    yield from heading(f"{group}={name}", "~")
    source = f" [{about['_source_']}]" if about.get("_source_", "-") != "-" else ""
    yield from (escaped(f"{about['_about_']}.{source}"), "")
    yield from (f".. literalinclude:: /configs/{group}/{name}.yaml", "   :language: yaml", "")
    target = str(about.get("_target_", ""))
    if target.startswith("normexp."):  # torch's own are documented by torch
        module, _, called = target.rpartition(".")
        kind = "class" if isclass(getattr(import_module(module), called)) else "function"
        yield from (f".. auto{kind}:: {target}", "   :no-index:", "")


class Options(SphinxDirective):
    """All options of a group, `none` first."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        group = self.arguments[0]
        shown.add(group)
        lines = heading(group, "-") + [line for name in options(group) for line in entry(group, name)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of a group that no page shows, as far as pages were read."""
    groups = {path.name for path in config_dir().iterdir() if path.is_dir()} - {"experiment"}
    if shown and groups - shown:
        logger.warning(f"config groups that docs/reference leaves out: {', '.join(sorted(groups - shown))}")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("options", Options)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
