"""The curves of an experiment for the viewer of the page: few points, few digits, in an order that never changes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from normexp.evidence.curves import Cell, Column, Curve, Curves, better_direction
from normexp.report.figures.styles import LineStyle
from normexp.report.measurements import factor, is_share, title

MOST_METRICS = 4
MOST_POINTS = 40  # evaluations of a run that are kept, the last among them
MOST_SERIES = 240  # runs of an experiment that are shown; of more, the first seeds


def viewer_data(
    curves: Curves, metrics: Sequence[str], legend: Mapping[Cell, tuple[str, LineStyle]], first: str = "test"
) -> dict[str, Any] | None:
    """Return what the viewer draws; None where no run has a curve.

    Args:
        first: the split to begin with.

    Shapes: shares are in percent; styles are [colour, dashes in line widths] of each arm; series are [arm, seed,
    steps, diverged, [values of each metric]] with `arm` and `steps` as places in the lists of these names; a value
    that is not finite is null.
    """
    chosen = shown_metrics(curves, metrics, first)
    if not chosen:
        return None
    steps: dict[tuple[int, ...], int] = {}
    series: list[list[Any]] = []
    for seed in sorted({seed for seeds in curves.values() for seed in seeds}):
        for arm, seeds in enumerate(curves.values()):
            if seed in seeds and len(series) < MOST_SERIES:
                series.append(_series(arm, seed, seeds[seed], chosen, steps))
    arms, styles = zip(*(legend[cell] for cell in curves), strict=True)
    return {
        "metrics": [title(name) for name in chosen],
        "arms": list(arms),
        "styles": [[style.color, list(style.dashes)] for style in styles],
        "steps": [list(each) for each in steps],
        "series": series,
    }


def shown_metrics(curves: Curves, metrics: Sequence[str], first: str) -> list[str]:
    """Return the metrics of which some run has more than one value, first of all this split's accuracy or loss."""
    runs = [run for seeds in curves.values() for run in seeds.values()]
    several = [name for name in metrics if name != "lr" and any(_count(run, name) > 1 for run in runs)]
    several.sort(key=lambda name: (better_direction(name) is None, not name.startswith(first), not is_share(name)))
    return several[:MOST_METRICS]


def as_script(data: Mapping[str, Any]) -> str:
    """Return the data as JSON that may stand inside a page: no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _count(run: Curve, name: str) -> int:
    return int(np.isfinite(run.columns[name]).sum()) if name in run.columns else 0


def _series(arm: int, seed: int, run: Curve, metrics: Sequence[str], steps: dict[tuple[int, ...], int]) -> list[Any]:
    kept = _kept(len(run.step))
    steps_number = steps.setdefault(tuple(int(run.step[i]) for i in kept), len(steps))
    values = [_values(run.columns[name][kept], name) if name in run.columns else [] for name in metrics]
    return [arm, seed, steps_number, int(run.diverged), values]


def _values(column: Column, metric: str) -> list[float | None]:
    return [_short(value) for value in factor(metric) * column]


def _kept(count: int) -> list[int]:
    """Return the places of at most MOST_POINTS evaluations, evenly spaced, the first and the last among them."""
    if count <= MOST_POINTS:
        return list(range(count))
    return sorted({round(i * (count - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)})


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
