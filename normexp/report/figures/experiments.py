"""The figures of an experiment: every entry of `figures` in its YAML, drawn from the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from normexp.evidence.curves import Cell
from normexp.experiments.checks.names import check_named
from normexp.experiments.experiment import Experiment
from normexp.experiments.figure import Figure
from normexp.report.drawing import Drawn
from normexp.report.figures.chart import Chart
from normexp.report.figures.context import FigureContext
from normexp.report.figures.kinds import KINDS
from normexp.report.figures.styles import DASHES, LineStyle
from normexp.report.frames.measured import Measured
from normexp.report.markdown import escaped

PAGE = "figures.md"


def charts(experiment: Experiment, measured: Measured, notes: Sequence[str]) -> dict[str, Chart]:
    """Return {name: chart} of every figure. Raises UserError for one that names what the records do not have."""
    made = {}
    notes = [note for note in notes if note not in {f"Data: {data}." for data in measured.notes}]
    for spec in experiment.figures:
        context = FigureContext(experiment, measured, spec, notes)
        known = [*measured.metrics, *measured.probe_metrics]
        check_named(context.where, spec, experiment.arms, experiment.axes, known)
        made[spec.name] = KINDS[spec.kind](context)
    return made


def legend(experiment: Experiment, measured: Measured) -> dict[Cell, tuple[str, LineStyle]]:
    """Return name and style of every cell: the style of the first figure with its curve, else as if one showed all."""
    drawn: list[Figure] = [spec for spec in experiment.figures if spec.kind == "curves"]
    styles: dict[Cell, LineStyle] = {}
    labels = {key: word for spec in experiment.figures for key, word in spec.labels.items()}
    for spec in [*drawn, Figure(name="all", labels=labels)]:
        context: FigureContext[Figure] = FigureContext(experiment, measured, spec)
        named = context.styles(list(context.runs))
        styles = {cell: named[context.name(cell)] for cell in context.runs} | styles
    return {cell: (context.name(cell), style) for cell, style in told_apart(styles).items()}


def told_apart(styles: Mapping[Cell, LineStyle]) -> dict[Cell, LineStyle]:
    """Give other dashes to a cell that looks like an earlier one: two figures may have one style for two cells."""
    seen: dict[tuple[str, tuple[float, ...]], Cell] = {}
    for cell, style in styles.items():
        looks = [(style.color, dashes) for dashes in (style.dashes, *DASHES)]
        seen.setdefault(next((look for look in looks if look not in seen), looks[0]), cell)
    dashes = {cell: look[1] for look, cell in seen.items()}
    return {cell: replace(style, dashes=dashes.get(cell, style.dashes)) for cell, style in styles.items()}


def page(experiment: Experiment, drawn: Sequence[Drawn]) -> dict[str, str]:
    """Return {figures.md: pictures with their captions}; nothing where there are no figures."""
    if not drawn:
        return {}
    parts = [f"# {escaped(experiment.title)}: figures\n", *(each.markdown() for each in drawn)]
    return {PAGE: "\n".join(parts)}
