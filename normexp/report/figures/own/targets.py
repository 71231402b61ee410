"""How many times fewer steps, over a range of targets: a panel per claim, with the interval at every target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from normexp.report.figures.chart import Chart, Panel, Reference
from normexp.report.figures.styles import COLOURS, LineStyle
from normexp.report.figures.words import in_words, of_arm
from normexp.report.metrics import factor, title

REACH = 3.0  # times as far as the ratios; intervals that go on are cut there
SENTENCE = (
    "Steps of the second arm over those of the first, to every target: above 1 the first is faster. Bands: 95 % "
    "intervals over the seeds and over the steps between two evaluations, of every target by itself; what reaches the "
    "panel's edge goes on beyond it. A line ends where the ratio is not known because runs never got there."
)


def over_targets(
    claims: Sequence[Mapping[str, Any]], heading: str, notes: Sequence[str], preview: bool = False
) -> Chart | None:
    """Return the chart of all claims about steps to a target; None where there are none.

    Args:
        claims: the entries of claims.json.
    """
    raced = [claim for claim in claims if claim.get("targets")]
    metrics = {claim["race"]["metric"] for claim in raced}
    rows = pd.DataFrame([_row(claim, at, len(metrics) > 1) for claim in raced for at in claim["targets"]])
    if rows.empty or rows["speed_up"].notna().sum() < 2:
        return None
    rows = rows.drop_duplicates(["race", "target"])  # claims about one race have one range of targets
    ends = rows["speed_up"].min() / REACH, rows["speed_up"].max() * REACH
    bounded = rows[(rows["low"] > 0) | (rows["high"] < np.inf)]  # of other targets nothing at all is known

    def bands(axes: Axes, panel: str) -> None:
        own = bounded[bounded["race"] == panel]
        low, high = own["low"].clip(*ends), own["high"].clip(*ends)
        axes.fill_between(own["target"], low, high, color=COLOURS[0], alpha=0.18, lw=0)

    return Chart(
        rows.dropna(subset=["speed_up"]),
        mark="line",
        x="target",
        y="speed_up",
        panel="race",
        log=frozenset("y"),
        title=heading,
        labels={"x": f"target: {title(metrics.pop())}" if len(metrics) == 1 else "target", "y": "speed-up"},
        styles={"": LineStyle(COLOURS[0], marker="o")},
        panels={name: Panel(name, y=ends) for name in rows["race"].unique()},
        references=(Reference(1.0, ""),),
        preview=preview,
        also=bands,
        also_reach={str(name): (own["target"].to_numpy(), np.array(ends)) for name, own in bounded.groupby("race")},
        sentences=(SENTENCE,),
        notes=tuple(notes),
    )


def _arm(place: str) -> str:
    """Return what a claim's arm is called, with its point of the grid."""
    return of_arm(in_words(place))


def _row(claim: Mapping[str, Any], at: Mapping[str, Any], named: bool) -> dict[str, Any]:
    """Return one point; `named`: the panel says which metric."""
    race, ratio = claim["race"], float(at["speed_up"])
    return {
        "race": f"{_arm(race['of'])} over {_arm(race['than'])}" + (f", {title(race['metric'])}" if named else ""),
        "target": factor(race["metric"]) * at["target"],
        "speed_up": ratio if 0 < ratio < np.inf else np.nan,
        "low": float(at["low"]),
        "high": float(at["high"]),
        "run": 0,
        "ended": False,
    }
