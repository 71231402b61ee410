"""The figures of an experiment: curves beside the published ones, and percentiles of a probe over training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from normexp.curves import Cell, Curve
from normexp.errors import UserError, unknown
from normexp.experiments import Experiment, run_place
from normexp.records import FINISHED, PROBES, RunDirectory, read_rows
from normexp.report.colors import color
from normexp.report.experiment.measured import Measured
from normexp.report.figures import canvas, images
from normexp.report.layout import BOTTOM, CAPTION_LINE, LEFT, MARGIN, SMALL, TOP, broken
from normexp.report.measurements import is_share, title
from normexp.report.spread import spread

Levels = dict[str, tuple[list[int], list[float]]]  # statistic -> (steps, values)

WIDTH, HEIGHT = 3.2, 2.3  # inches of one panel


def draw(experiment: Experiment, found: Measured, results: Path, notes: Sequence[str]) -> dict[str, bytes]:
    """Return {file name: content} of every figure, PNG and SVG."""
    drawn: dict[str, bytes] = {}
    for spec in experiment.figures:
        if spec["kind"] not in KINDS:
            raise unknown(f"experiment {experiment.name}: figure kind", spec["kind"], KINDS)
        make = partial(KINDS[spec["kind"]], experiment, found, results, spec, notes)
        drawn |= {f"{spec['name']}{suffix}": content for suffix, content in images(make).items()}
    return drawn


def curves(
    experiment: Experiment, found: Measured, results: Path, spec: dict[str, Any], notes: Sequence[str]
) -> Figure:
    """One panel: mean and band over seeds of every arm; the published curve dashed, a cross where a run diverged."""
    printed = spec.get("published", {}) if experiment.scale == "paper" else {}
    lines = [
        spec.get("caption", "") if printed else "",
        "Solid: mean over seeds; band: ± 1 standard deviation.",
        *notes,
    ]
    figure, (axes,) = _panels(1, lines)
    factor = 100 if is_share(spec["metric"]) else 1
    for cell, runs in found.curves.items():
        shade = arm_color(experiment, cell)
        _mean_and_band(axes, list(runs.values()), spec["metric"], factor, shade, str(cell))
        if cell.arm in printed:
            steps, values = printed[cell.arm]["step"], [factor * value for value in printed[cell.arm]["value"]]
            axes.plot(steps, values, color=shade, dashes=(4, 2), linewidth=1, label=f"{cell.arm}, published")
    _finish(axes, "step", title(spec["metric"]), [factor * v for v in spec.get("limits", [])], experiment)
    return figure


def percentiles(
    experiment: Experiment, found: Measured, results: Path, spec: dict[str, Any], notes: Sequence[str]
) -> Figure:
    """One panel per arm: the percentiles that `probe=percentiles` recorded for one layer, first seed of the grid."""
    places = {arm: run_place(results, experiment, arm, experiment.points()[0]) for arm in experiment.arms}
    recorded = {arm: place for arm, place in places.items() if RunDirectory(place).status["status"] in FINISHED}
    if not recorded:
        raise UserError(f"figure {spec['name']}: no run with the first seed is finished")
    figure, panels = _panels(len(recorded), [spec.get("caption", ""), *notes])
    for axes, (arm, place) in zip(panels, recorded.items(), strict=True):
        levels = _levels(place, spec["layer"])
        shade = arm_color(experiment, Cell(arm))
        for statistic, (steps, values) in levels.items():
            axes.plot(steps, values, color=shade, linewidth=1.4 if statistic == "p50" else 0.9)
        axes.set_title(arm, fontsize=8, loc="left", color=shade)
        _finish(axes, "step", f"input to {spec['layer']}", spec.get("limits", []), experiment, legend=False)
    low, high = min(axes.get_ylim()[0] for axes in panels), max(axes.get_ylim()[1] for axes in panels)
    for axes, (arm, place) in zip(panels, recorded.items(), strict=True):
        axes.set_ylim(low, high)
        _label_levels(axes, _levels(place, spec["layer"]), arm_color(experiment, Cell(arm)))
    return figure


def _label_levels(axes: Axes, levels: Levels, shade: str) -> None:
    """Write `15 %` and so on right of the lines' ends, apart from each other."""
    low, high = axes.get_ylim()
    ends = [(values[-1] - low) / (high - low) for _, values in levels.values()]
    style: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "size": SMALL, "color": shade}
    for statistic, height in zip(levels, spread(ends, 0.06, 0.0, 1.0), strict=True):
        axes.text(1.01, height, f"{statistic.removeprefix('p')} %", **style)


KINDS = {"curves": curves, "percentiles": percentiles}


def arm_color(experiment: Experiment, cell: Cell) -> str:
    """Return the colour of the arm's scheme, the same in every figure."""
    norm = experiment.arms[cell.arm].get("norm", experiment.common.get("norm", "none"))
    return color(str(norm))


def _mean_and_band(axes: Axes, runs: list[Curve], metric: str, factor: float, shade: str, name: str) -> None:
    alive = [run for run in runs if not run.diverged]
    label = name if len(alive) == len(runs) else f"{name} ({len(alive)}/{len(runs)} converged)"
    for run in runs:
        if run.diverged:
            axes.plot(run.step[-1:], factor * run.columns[metric][-1:], "x", color=shade, clip_on=False)
    if not alive:
        return
    step = alive[0].step
    values = factor * np.array([run.columns[metric] for run in alive if len(run.step) == len(step)])
    axes.plot(step, values.mean(0), color=shade, label=label)
    if len(values) > 1:
        spread = values.std(0, ddof=1)
        axes.fill_between(step, values.mean(0) - spread, values.mean(0) + spread, color=shade, alpha=0.15, linewidth=0)


def _levels(place: Path, layer: str) -> Levels:
    """Return {statistic: (steps, values)} of one layer. Raises UserError where the run recorded none."""
    levels: Levels = {}
    for row in read_rows(place / PROBES):
        if row["layer"] == layer:
            steps, values = levels.setdefault(row["statistic"], ([], []))
            steps.append(int(row["step"]))
            values.append(float(row["value"]))
    if not levels:
        raise UserError(f"{place / PROBES}: has nothing on {layer!r}; was it run with probe=percentiles?")
    return levels


def _panels(count: int, captions: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row of equal panels and the captions below."""
    width = count * (LEFT + WIDTH + 0.35)
    lines = [line for text in captions if text for line in broken(text, width - 2 * MARGIN)]
    below = BOTTOM + CAPTION_LINE * len(lines) + MARGIN
    height = TOP + HEIGHT + below
    figure = canvas(width, height)
    axes = [
        figure.add_axes(((i * (LEFT + WIDTH + 0.35) + LEFT) / width, below / height, WIDTH / width, HEIGHT / height))
        for i in range(count)
    ]
    corner = (MARGIN / width, (below - BOTTOM) / height)
    figure.text(*corner, "\n".join(lines), size=SMALL, color="#444444", va="top", linespacing=1.3, parse_math=False)
    return figure, axes


def _finish(axes: Axes, x: str, y: str, limits: Sequence[float], experiment: Experiment, legend: bool = True) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_xlim(0, max(float(np.max(line.get_xdata())) for line in axes.lines))
    if limits and experiment.scale == "paper":
        axes.set_ylim(*limits)
    if legend:
        axes.legend(frameon=False, fontsize=SMALL, loc="best")
    if experiment.scale == "smoke":
        axes.text(
            0.5, 0.5, "preview", transform=axes.transAxes, fontsize=28, color="#bbbbbb", alpha=0.5,
            ha="center", va="center", rotation=20, zorder=0,
        )  # fmt: skip
