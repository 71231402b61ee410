"""The curves of an experiment for the viewer of the page: few points, few digits, in an order that never changes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from normexp.evidence.curves import Cell, Column, Curve, Curves
from normexp.evidence.metrics import better_direction, is_share
from normexp.report.figures.styles import LineStyle
from normexp.report.frames.measured import runs_of
from normexp.report.metrics import factor, title

MOST_METRICS = 4
MOST_POINTS = 40  # evaluations of a run that are kept, the last among them
MOST_SERIES = 240  # runs of an experiment that are shown; of more, the first seeds
Steps = npt.NDArray[np.int64]


def viewer_data(
    curves: Curves, metrics: Sequence[str], legend: Mapping[Cell, tuple[str, LineStyle]], first: str = "test"
) -> dict[str, Any] | None:
    """Return what the viewer draws; None where no run has a curve.

    Args:
        first: the split to begin with.

    Shapes: shares are in percent; styles are [colour, dashes in line widths] of each arm; series are [arm, seed,
    steps, diverged, [values of each metric]] with `arm` and `steps` as places in the lists of these names; a value
    that is not finite is null; `left_out` are the runs beyond MOST_SERIES.
    """
    chosen = shown_metrics(curves, metrics, first)
    if not chosen:
        return None
    steps: dict[tuple[int, ...], int] = {}
    series: list[list[Any]] = []
    kept = [_kept(seeds.values()) for seeds in curves.values()]
    for seed in sorted({seed for seeds in curves.values() for seed in seeds}):
        for arm, seeds in enumerate(curves.values()):
            if seed in seeds and len(series) < MOST_SERIES:
                series.append(_series(arm, seed, seeds[seed], chosen, kept[arm], steps))
    arms, styles = zip(*(legend[cell] for cell in curves), strict=True)
    return {
        "metrics": [title(name) for name in chosen],
        "arms": list(arms),
        "styles": [[style.color, list(style.dashes)] for style in styles],
        "steps": [list(each) for each in steps],
        "series": series,
        "left_out": sum(map(len, curves.values())) - len(series),
    }


def shown_metrics(curves: Curves, metrics: Sequence[str], first: str) -> list[str]:
    """Return the metrics of which some run has more than one value, first of all this split's accuracy or loss."""
    runs = runs_of(curves)
    several = [name for name in metrics if name != "lr" and any(_count(run, name) > 1 for run in runs)]
    several.sort(key=lambda name: (better_direction(name) is None, not name.startswith(first), not is_share(name)))
    return several[:MOST_METRICS]


def as_script(data: Mapping[str, Any]) -> str:
    """Return the data as JSON that may stand inside a page: no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _count(run: Curve, name: str) -> int:
    return int(np.isfinite(run.columns[name]).sum()) if name in run.columns else 0


def _series(
    arm: int, seed: int, run: Curve, metrics: Sequence[str], shown: Steps, steps: dict[tuple[int, ...], int]
) -> list[Any]:
    kept = np.flatnonzero(np.isin(run.step, shown) | (run.step == run.step[-1:]))
    steps_number = steps.setdefault(tuple(int(run.step[i]) for i in kept), len(steps))
    values = [_values(run.columns[name][kept], name) if name in run.columns else [] for name in metrics]
    return [arm, seed, steps_number, int(run.diverged), values]


def _values(column: Column, metric: str) -> list[float | None]:
    return [_short(value) for value in factor(metric) * column]


def _kept(runs: Iterable[Curve]) -> Steps:
    """Return the steps of at most MOST_POINTS evaluations of the longest run, the first and the last among them.

    One choice for all runs of an arm: means are over runs at the same step, and a run that diverged has fewer.
    """
    steps = max((run.step for run in runs), key=len, default=np.zeros(0, dtype=np.int64))
    places = np.linspace(0, len(steps) - 1, min(len(steps), MOST_POINTS)).round()
    return steps[places.astype(int)]


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
