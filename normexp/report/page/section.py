"""One experiment on the page: claims, table, figures, curves, and where they are from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normexp.evidence.curves import Cell, Curves
from normexp.experiments.command import command
from normexp.experiments.experiment import Experiment
from normexp.report import html
from normexp.report.drawing import Drawn
from normexp.report.experiment.render import Rendered
from normexp.report.figures.styles import LineStyle
from normexp.report.ledger.judged import VERDICTS
from normexp.report.page import elements
from normexp.report.page.curves import as_script, viewer_data
from normexp.report.page.origin import origins
from normexp.report.page.svg import inline


@dataclass(frozen=True)
class Section:
    """HTML of one experiment at one scale.

    Args:
        name: unique on the page; links go there.
        counts: verdict -> number of claims.
    """

    name: str
    title: str
    content: str
    counts: Mapping[str, int]

    @property
    def scale(self) -> str:
        return self.name.rpartition("-")[2]


def section(rendered: Rendered, claims: Sequence[Mapping[str, Any]], numbers: Iterator[int]) -> Section:
    """Return an experiment's part of the page.

    Args:
        numbers: of the pictures on the page, from the next one on.
        claims: judged, with their false discovery rate over the ledger.
    """
    experiment = rendered.experiment
    name = f"{experiment.name}-{experiment.scale}"
    parts = [
        html.element("h2", html.text(experiment.title)),
        html.element("p", _about(experiment), class_="about"),
        elements.findings(rendered.table),
        _claims(claims),
        elements.table(rendered.table),
        *(figure(each, claims, numbers) for each in rendered.figures),
        viewer(rendered.measured.curves, rendered.measured.metrics, rendered.legend, name),
        elements.notes(rendered.table),
        html.folded("Where these numbers are from", origins(rendered.measured.records, f"Runs of {experiment.title}")),
    ]
    counts = {verdict: sum(claim["verdict"] == verdict for claim in claims) for verdict in VERDICTS}
    label = f"{experiment.title}, scale {experiment.scale}"  # two scales of an experiment have one title
    content = html.element("section", "".join(parts), id=name, aria_label=label)
    return Section(name, experiment.title, content, counts)


def _about(experiment: Experiment) -> str:
    made = html.element("code", html.text(command(experiment)))
    return f"{html.text(experiment.paper)}, {html.text(experiment.item)}. Scale: {html.text(experiment.scale)}. {made}"


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    return html.element("ul", "".join(map(elements.claim, claims)), class_="claims") if claims else ""


def figure(drawn: Drawn, claims: Sequence[Mapping[str, Any]], numbers: Iterator[int]) -> str:
    """Return a figure with its caption; who cannot see it hears the caption and what was judged."""
    svg = next(content for file, content in drawn.files.items() if file.endswith(".svg"))
    verdicts = " ".join(f"{claim['verdict']}: {claim['text']}." for claim in claims)
    picture = inline(svg, f"f{next(numbers)}", drawn.title or drawn.name, f"{drawn.caption} {verdicts}")
    caption = html.element("figcaption", html.sentence(drawn.caption))
    shown = html.element("div", picture, class_="picture", tabindex=0, role="group", aria_label=f"Figure: {drawn.name}")
    return html.element("figure", shown + caption)


def viewer(
    curves: Curves, metrics: Sequence[str], legend: Mapping[Cell, tuple[str, LineStyle]], name: str, first: str = "test"
) -> str:
    """Return the data of the curves and an empty place that the page's script fills; nothing without curves."""
    data = viewer_data(curves, metrics, legend, first)
    if data is None:
        return ""
    script = f'<script type="application/json">{as_script(data)}</script>'
    return html.element("div", script, class_="viewer", hidden="hidden", data_name=name)
