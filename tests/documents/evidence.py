"""What the committed results say, read anew: the numbers that documents quote are computed from here."""

import csv
import json
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

from normexp.records import RunDirectory, find_runs

TOP = Path(__file__).parents[2]
RESULTS = TOP / "results"


@cache
def table(place: str) -> dict[str, dict[str, str]]:
    """Return {arm, or `arm, at`: row} of a table.csv."""
    with (RESULTS / place / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {f"{row['arm']}, {row['at']}" if "at" in row else row["arm"]: row for row in rows}


def cell(place: str, arm: str, column: str) -> float:
    return float(table(place)[arm][column])


@cache
def claims(place: str) -> dict[str, dict[str, Any]]:
    entries = json.loads((RESULTS / place / "claims.json").read_text(encoding="utf-8"))["claims"]
    return {entry["text"]: entry for entry in entries}


def claim(place: str, beginning: str) -> dict[str, Any]:
    """Return the one claim whose text begins so."""
    (found,) = (entry for text, entry in claims(place).items() if text.startswith(beginning))
    return found


@cache
def runs(place: str) -> dict[tuple[str, str], RunDirectory]:
    """Return {(arm's folder, point): run}."""
    return {(run.path.parent.name, run.path.name): run for run in find_runs([RESULTS / place / "runs"])}


def curve(place: str, arm: str, metric: str) -> dict[int, float]:
    """Return step -> mean over the runs of an arm, from their records."""
    found: dict[int, list[float]] = {}
    for (folder, _), run in runs(place).items():
        if folder == arm:
            for row in run.rows("metrics.csv"):
                if row[metric]:
                    found.setdefault(int(row["step"]), []).append(float(row[metric]))
    return {step: mean(values) for step, values in found.items()}


def last(place: str, arm: str, metric: str, point: str = "") -> list[float]:
    """Return the last value of every run of an arm whose point begins so."""
    return [
        float(run.rows("metrics.csv")[-1][metric])
        for (folder, name), run in runs(place).items()
        if folder == arm and name.startswith(point)
    ]


def last_probed(place: str, arm: str, layer: str, statistic: str) -> list[float]:
    """Return what a probe measured last of a layer in every run that did not diverge."""
    found = []
    for (folder, _), run in runs(place).items():
        if folder == arm and run.status["status"] == "done":
            rows = [row for row in run.rows("probes.csv") if (row["layer"], row["statistic"]) == (layer, statistic)]
            found.append(float(rows[-1]["value"]))
    return found


@cache
def faster(suite: str) -> dict[str, float]:
    """Return {side: how many times faster normexp is}: the median over the turns of one race."""
    data = json.loads((RESULTS / "bench" / f"{suite}.json").read_text(encoding="utf-8"))["data"]
    ours = data["normexp"]["steps_per_second"]
    return {
        side: median(a / b for a, b in zip(ours, each["steps_per_second"], strict=True))
        for side, each in data.items()
        if side != "normexp"
    }
