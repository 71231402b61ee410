"""How good each value of a swept hyperparameter was: a panel per hyperparameter, a line per arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from normexp.evidence.metrics import better_direction, is_share
from normexp.report.figures.chart import Chart, Panel
from normexp.report.figures.scales import short
from normexp.report.figures.styles import of_arms
from normexp.report.figures.words import of_key
from normexp.report.metrics import bad_end, factor, possible, title

MOST_TICKS = 10
LOG_RATIO = 5.0  # of the largest value to the smallest, all above 0: from there on the axis is logarithmic


def choice(
    data: pd.DataFrame, over: Sequence[str], metric: str, schemes: Mapping[str, str], notes: Sequence[str]
) -> Chart:
    """Return the chart of a choice, best value seen where the lines have their summit (or their lowest point).

    Args:
        data: a row per run: columns line, run, key, place (the key's value), value, ended (whether it diverged).
        over: the hyperparameters, a panel each.
        metric: by which was chosen.
        schemes: line -> its scheme.
        notes: sentences at the end of the caption.
    """
    top = top_of(data["value"], metric)
    far = logarithmic(data["value"][data["value"] <= top], metric)
    panels = {
        key: Panel(
            of_key(key) if len(over) > 1 else "",
            "",
            possible(metric),
            bad_end(metric),
            log=far | _log(data, key),
            top=top,
        )
        for key in over
    }
    places = sorted(set(data["place"])) if len(over) == 1 else []
    several = ["At each value of one the best value of the others."] if len(over) > 1 else []
    return Chart(
        data.assign(value=factor(metric) * data["value"]), "interval", x="place", y="value", colour="line", panel="key",
        band="range", title=f"Choosing the {' and the '.join(map(of_key, over))}", panels=panels,
        styles=of_arms(schemes), share_y="none",
        labels={"x": of_key(over[0]) if len(over) == 1 else "", "y": title(metric)}, sentences=tuple(several),
        notes=tuple(notes),
        ticks={place: short(place) for place in places} if len(places) <= MOST_TICKS else {},
    )  # fmt: skip


def top_of(values: pd.Series[float], metric: str) -> float:
    """Return up to where losses are shown: above the median by three times what the best is below it, as ratios.

    Who chooses looks at the best values, and a single trial that runs away, to 10^10, would make one line of them.
    """
    found = values[np.isfinite(values)]
    if better_direction(metric) != "lower" or not len(found) or found.min() <= 0:
        return math.inf
    return float(found.median() * (found.median() / found.min()) ** 3)


def logarithmic(values: pd.Series[float], metric: str) -> frozenset[str]:
    """Return y where the values reach far, as losses do; nothing otherwise."""
    found = values[np.isfinite(values)]
    far = not is_share(metric) and len(found) and found.min() > 0 and found.max() >= LOG_RATIO * found.min()
    return frozenset("y" if far else "")


def _log(data: pd.DataFrame, key: str) -> frozenset[str]:
    places = data.loc[data["key"] == key, "place"]
    return frozenset({"x"} if places.min() > 0 and places.max() >= LOG_RATIO * places.min() else ())
