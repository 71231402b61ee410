"""Experiments made up for figures: arms, a grid, and runs whose curves, probes and tables are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from fabricated import Fabric
from matplotlib.figure import Figure

from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.load import parse
from normexp.records import PROBES, RunDirectory
from normexp.report.experiment.drawings import KINDS, draw
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.experiment.measured import measured
from normexp.report.figures import _paper_style

BASE: dict[str, Any] = {
    "paper": "A paper",
    "item": "Figure 1",
    "title": "A title",
    "about": "A set-up.",
    "common": {"dataset": "digits", "model": "mlp", "steps": 5},
    "arms": {"Plain": {"norm": "none"}, "With BN": {"norm": "batch"}},
    "grid": {"seed": [0, 1, 2]},
    "scales": {"smoke": None, "cpu": None, "paper": None},
    "table": {"metric": "test/accuracy"},
    "deviations": ["It is made up"],
}
TWELVE = {
    name: {"norm": name.partition(" ")[0]}
    for name in (
        "none", "batch", "layer", "instance", "group", "weight", "mean_only", "weight_mean_only", "rms", "spectral",
        "batch at rate 0.3", "batch at rate 1.0",
    )
}  # fmt: skip
Rows = Sequence[Mapping[str, object]]


@dataclass
class Made:
    """One made-up experiment.

    Args:
        table: (arm, point of the grid with the seed, generator) -> rows of metrics.csv.
    """

    fabric: Fabric
    experiment: Experiment
    statuses: dict[tuple[str, int], str] = field(default_factory=dict)

    def run(self, table: Callable[[str, dict[str, Any], np.random.Generator], list[dict[str, object]]]) -> None:
        """Write every run, with `statuses` where they are not done."""
        for i, arm in enumerate(self.experiment.arms):
            for j, point in enumerate(self.experiment.points()):
                content = table(arm, dict(point), np.random.default_rng([i, j]))
                place = run_place(self.fabric.root, self.experiment, arm, point)
                self.fabric(
                    name=str(place.relative_to(self.fabric.root)),
                    table=content,
                    columns=list(dict.fromkeys(key for row in content for key in row)),
                    status=self.statuses.get((arm, dict(point)["seed"]), "done"),
                )

    def places(self) -> list[tuple[str, dict[str, Any], RunDirectory]]:
        return [
            (arm, dict(point), RunDirectory(run_place(self.fabric.root, self.experiment, arm, point)))
            for arm in self.experiment.arms
            for point in self.experiment.points()
        ]

    def tables(self, name: str, make: Callable[[str], Rows]) -> None:
        """Write NAME.csv beside every run."""
        for arm, _, run in self.places():
            write_csv(run, f"{name}.csv", make(arm))

    def probes(self, make: Callable[[str, int], Rows]) -> None:
        for arm, point, run in self.places():
            write_csv(run, PROBES, make(arm, point["seed"]))

    def subject(self, **spec: Any) -> Subject:
        found = measured(self.experiment, self.fabric.root)
        return Subject(self.experiment, found, self.fabric.root, {"name": "x", **spec}, ("Scale: cpu.",))

    def figure(self, **spec: Any) -> Figure:
        with _paper_style():
            return KINDS[spec["kind"]](self.subject(**spec))

    def draw(self, **spec: Any) -> dict[str, bytes]:
        figures = replace(self.experiment, figures=[{"name": "x", **spec}])
        return draw(figures, measured(self.experiment, self.fabric.root), self.fabric.root, ("Scale: cpu.",))


def made(fabric: Fabric, scale: str = "cpu", **changes: Any) -> Made:
    """Return an experiment with other arms or another grid."""
    return Made(fabric, replace(parse("x", scale, BASE), **changes))


def write_csv(run: RunDirectory, name: str, rows: Rows) -> None:
    lines = [",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in rows)]
    (run.path / name).write_text("\n".join(lines) + "\n")


def learning(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
    """Return a run that learns, at its own speed and to its own end."""
    speed, end = random.uniform(0.02, 0.1), random.uniform(0.85, 0.99)
    made = []
    for step in range(0, 101, 10):
        done = 1 - np.exp(-speed * step)
        loss = 2.3 * np.exp(-speed * step) * random.uniform(0.5, 1.5) + 1e-4
        accuracy = 0.1 + (end - 0.1) * done
        made.append({"step": step, "epoch": step / 20, "test/loss": float(loss), "test/accuracy": float(accuracy)})
    return made
