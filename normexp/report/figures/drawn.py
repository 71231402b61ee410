"""A chart as files with its caption: what every command writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from normexp.report.figures.captions import caption
from normexp.report.figures.chart import Chart
from normexp.report.figures.formats import Theme, images
from normexp.report.figures.multiples import in_panels
from normexp.report.figures.picture import draw
from normexp.report.tables.formats import escaped


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


def drawn(name: str, chart: Chart, theme: Theme, formats: Sequence[str]) -> Drawn:
    """Draw the chart into files called NAME. Equal charts give equal bytes."""
    chart = in_panels(chart)
    files = images(partial(draw, chart), theme, formats)
    named = {f"{name}{suffix}": content for suffix, content in files.items()}
    return Drawn(name, chart.title, caption(chart), named, chart.beside)


def _bracket_escaped(found: re.Match[str]) -> str:
    """Return what is escaped already, or a bracket with a backslash."""
    return found[1] or f"\\{found[2]}"
