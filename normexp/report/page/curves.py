"""The curves of an experiment for the viewer of the page: few points, few digits, in an order that never changes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from normexp.evidence.curves import Cell, Curve, Curves, better_direction
from normexp.report.figures.styles import Style

MOST_METRICS = 4
MOST_POINTS = 40  # evaluations of a run that are kept, the last among them
MOST_SERIES = 240  # runs of an experiment that are shown; of more, the first seeds


def viewer_data(curves: Curves, metrics: Sequence[str], styles: Mapping[Cell, Style]) -> dict[str, Any] | None:
    """Return what the viewer draws; None where no run has a curve.

    Shapes: styles are [colour, dashes in line widths] of each arm; series are [arm, seed, steps, diverged, [values of
    each metric]] with `arm` and `steps` as places in the lists of these names; a value that is not finite is null.
    """
    chosen = shown_metrics(curves, metrics)
    if not chosen:
        return None
    steps: dict[tuple[int, ...], int] = {}
    arms = [str(cell) for cell in curves]
    series: list[list[Any]] = []
    for seed in sorted({seed for seeds in curves.values() for seed in seeds}):
        for arm, seeds in enumerate(curves.values()):
            if seed in seeds and len(series) < MOST_SERIES:
                series.append(_series(arm, seed, seeds[seed], chosen, steps))
    looks = [[styles[cell].color, list(styles[cell].dashes)] for cell in curves]
    return {"metrics": chosen, "arms": arms, "styles": looks, "steps": [list(each) for each in steps], "series": series}


def shown_metrics(curves: Curves, metrics: Sequence[str]) -> list[str]:
    """Return the metrics of which some run has more than one value, those that have a better direction first."""
    runs = [run for seeds in curves.values() for run in seeds.values()]
    several = [name for name in metrics if name != "lr" and any(_count(run, name) > 1 for run in runs)]
    return sorted(several, key=lambda name: (better_direction(name) is None, not name.startswith("test/")))[
        :MOST_METRICS
    ]


def as_script(data: Mapping[str, Any]) -> str:
    """Return the data as JSON that may stand inside a page: no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _count(run: Curve, name: str) -> int:
    return int(np.isfinite(run.columns[name]).sum()) if name in run.columns else 0


def _series(arm: int, seed: int, run: Curve, metrics: Sequence[str], steps: dict[tuple[int, ...], int]) -> list[Any]:
    kept = _kept(len(run.step))
    place = steps.setdefault(tuple(int(run.step[i]) for i in kept), len(steps))
    values = [[_short(run.columns[name][i]) for i in kept] if name in run.columns else [] for name in metrics]
    return [arm, seed, place, int(run.diverged), values]


def _kept(count: int) -> list[int]:
    """Return the places of at most MOST_POINTS evaluations, evenly spaced, the first and the last among them."""
    if count <= MOST_POINTS:
        return list(range(count))
    return sorted({round(i * (count - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)})


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
