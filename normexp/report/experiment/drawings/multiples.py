"""Small multiples of what a probe measured: a panel per layer and a line per arm, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure

from normexp.errors import unknown
from normexp.evidence.curves import Cell
from normexp.experiments.check import PROBE
from normexp.report.colors import Look
from normexp.report.experiment.drawings.bands import CROSSES, meaning
from normexp.report.experiment.drawings.curves import metric_line
from normexp.report.experiment.drawings.frame import Room
from normexp.report.experiment.drawings.ordered import sequence
from normexp.report.experiment.drawings.panels import Line, Panel, Scales, line_figure
from normexp.report.experiment.drawings.subject import Subject, converged

ALL = "all"
WIDTH, HEIGHT = 1.75, 1.35  # inches of one panel


def multiples(subject: Subject) -> Figure:
    statistics, layers = subject.named("statistic"), _layers(subject)
    _check_statistics(subject, statistics)
    by_arm = subject.spec.get("panels") == "arm"
    made = [panel for each in statistics for panel in (_arms if by_arm else _of_layers)(subject, each, layers)]
    across = len(made) // len(statistics)
    seeds = max(len(runs) for runs in subject.runs.values())
    columns = across if len(statistics) > 1 else 0
    scales = Scales(subject.label("x", "step"), "", rows_share=across)
    crosses = CROSSES if any(line.crosses for panel in made for line in panel.lines) else ""
    captions = subject.captions(meaning(seeds, subject.log("y")), crosses)
    room = Room(WIDTH, HEIGHT, 0.62, 0.12, 0.25, 0.42)
    return line_figure(subject, made, scales, captions, room, columns)


def _measured(subject: Subject) -> dict[tuple[str, str], None]:
    """Return (layer, statistic) of everything that a probe measured in these runs."""
    names = (name for runs in subject.runs.values() for run in runs.values() for name in run.columns)
    found = (name.removeprefix(PROBE).rpartition("/") for name in names if name.startswith(PROBE))
    return {(layer, statistic): None for layer, _, statistic in found}


def _layers(subject: Subject) -> list[str]:
    """Return the layers of `layers`, by default all. Raises UserError for one that no probe measured."""
    known = list(dict.fromkeys(layer for layer, _ in _measured(subject)))
    if not known:
        raise subject.error("no probe measured anything in its runs; run them with a probe")
    named = subject.named("layers") or [ALL]
    for layer in named:
        if layer != ALL and layer not in known:
            raise unknown(f"{subject.where}: layer", layer, [ALL, *known])
    return known if ALL in named else named


def _check_statistics(subject: Subject, statistics: Sequence[str]) -> None:
    known = list(dict.fromkeys(statistic for _, statistic in _measured(subject)))
    for statistic in statistics:
        if statistic not in known:
            raise unknown(f"{subject.where}: statistic", statistic, known)


def _of_layers(subject: Subject, statistic: str, layers: Sequence[str]) -> Iterator[Panel]:
    looks = subject.looks_of(list(subject.runs))
    for layer in layers:
        lines = [_line(subject, cell, layer, statistic, looks[cell], _name(subject, cell)) for cell in subject.runs]
        yield Panel(lines, layer, y_label=subject.label(statistic))


def _arms(subject: Subject, statistic: str, layers: Sequence[str]) -> Iterator[Panel]:
    looks = dict(zip(layers, sequence(len(layers)), strict=True))
    for cell in subject.runs:
        lines = [_line(subject, cell, layer, statistic, looks[layer], layer) for layer in layers]
        yield Panel(lines, _name(subject, cell), subject.color(cell), subject.label(statistic))


def _line(subject: Subject, cell: Cell, layer: str, statistic: str, look: Look, text: str) -> Line:
    return metric_line(subject, cell, f"{PROBE}{layer}/{statistic}", look, text)


def _name(subject: Subject, cell: Cell) -> str:
    runs = subject.runs[cell]
    return f"{subject.name(cell)}{converged(runs, sum(not run.diverged for run in runs.values()))}"
