"""The races of `normexp bench steps` as one figure: how many times faster than each side, a dot per turn.

`python -m normexp.bench.picture results/bench` draws it again from the JSON files that are there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from normexp.bench.sides import ABOUT
from normexp.records import read_json, write_atomically
from normexp.report.figures.chart import Chart, Reference
from normexp.report.figures.drawn import drawn
from normexp.report.figures.formats import USUAL, theme
from normexp.report.figures.styles import distinct

NAME, RACES = "steps", "steps-*.json"
OURS = next(iter(ABOUT))


def write_picture(folder: Path) -> list[Path]:
    """Draw the races below a folder into steps.png and steps.svg there; return what was written, [] without a race."""
    chart = races(folder)
    files = drawn(NAME, chart, theme(), USUAL).files if chart else {}
    for name, content in files.items():
        write_atomically(folder / name, content)
    return [folder / name for name in files]


def races(folder: Path) -> Chart | None:
    """Return the chart of all races below a folder; None where there is none."""
    found = {path.stem.removeprefix("steps-"): read_json(path) for path in sorted(folder.glob(RACES))}
    rows = [row for work, race in found.items() for row in _turns(work, race["data"])]
    if not rows:
        return None
    environments = [race["environment"] for race in found.values()]
    machines = {f"{about['processor']}, {about['cores']} cores" for about in environments}
    return Chart(
        pd.DataFrame(rows), "point", x="ratio", y="side", colour="work", log=frozenset("x"),
        styles={work: replace(distinct(i), marker="o") for i, work in enumerate(found)},
        title="Steps per second of normexp, relative to other ways to train the same network",
        labels={"x": "times as many steps per second"}, references=(Reference(1.0, "equal", "x"),),
        sentences=("A run is a turn of normexp over the turn of the other side that came next to it.",),
        notes=(f"Measured on {'; '.join(sorted(machines))}.",),
    )  # fmt: skip


def _turns(work: str, sides: dict[str, Any]) -> Iterator[dict[str, object]]:
    """Yield the ratio of every turn of normexp to that of every other side."""
    ours = sides[OURS]["steps_per_second"]
    for side, theirs in sides.items():
        for turn, (fast, slow) in enumerate(zip(ours, theirs["steps_per_second"], strict=True)):
            if side != OURS:
                yield {"work": work, "side": ABOUT[side].partition(":")[0], "run": turn, "ratio": fast / slow}


if __name__ == "__main__":
    for path in write_picture(Path(sys.argv[1])):
        print(path)
