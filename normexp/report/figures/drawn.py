"""A chart as files with its caption: what every command writes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from normexp.report.drawing import Drawn
from normexp.report.figures.captions import caption
from normexp.report.figures.chart import Chart
from normexp.report.figures.formats import Theme, images
from normexp.report.figures.multiples import in_panels
from normexp.report.figures.picture import draw


def drawn(name: str, chart: Chart, theme: Theme, formats: Sequence[str]) -> Drawn:
    """Draw the chart into files called NAME. Equal charts give equal bytes."""
    chart = in_panels(chart)
    files = images(partial(draw, chart), theme, formats)
    named = {f"{name}{suffix}": content for suffix, content in files.items()}
    return Drawn(name, chart.title, caption(chart), named, chart.beside)
