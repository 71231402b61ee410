"""What a figure is made from: its entry in the experiment's YAML, and everything that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from normexp.errors import UserError
from normexp.evidence.claims.reading import NothingToJudge, value_at
from normexp.evidence.curves import Cell, Curve, better_direction
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.shape import limits_by_scale
from normexp.records import FINISHED, RunDirectory
from normexp.report.colors import BY_NORM, OTHERS, Look, color, distinct
from normexp.report.experiment.drawings.ordered import sequence
from normexp.report.experiment.measured import Measured, split_point
from normexp.report.measurements import is_share

PALETTE = (*list(BY_NORM.values())[1:], *OTHERS)  # of arms that name no scheme


@dataclass(frozen=True)
class Subject:
    """One figure's subject.

    Args:
        spec: the entry of `figures`; its keys are checked by normexp.experiments.shape.
        notes: sentences that stand under every figure of the experiment.
    """

    experiment: Experiment
    found: Measured
    results: Path
    spec: Mapping[str, Any]
    notes: Sequence[str]

    def error(self, text: str) -> UserError:
        return UserError(f"{self.where}: {text}")

    @property
    def where(self) -> str:
        return f"experiment {self.experiment.name}: figure {self.spec['name']}"

    @property
    def scale(self) -> str:
        return self.experiment.scale

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that the figure is about, finished or not, in the order of the arms."""
        arms = self.spec.get("arms", list(self.experiment.arms))
        cells = dict.fromkeys(split_point(arm, point)[0] for arm in arms for point in self.experiment.points())
        fixed = self.spec.get("where", {}).items()
        return [cell for cell in cells if all(dict(cell.point)[axis] == value for axis, value in fixed)]

    def name(self, cell: Cell, without: str | None = None) -> str:
        """Return what tells a cell apart in this figure: its arm, and the axes that `where` leaves open.

        Args:
            without: an axis that the figure shows otherwise.
        """
        told = {*self.spec.get("where", {}), without}
        return str(Cell(cell.arm, tuple((axis, value) for axis, value in cell.point if axis not in told)))

    @cached_property
    def runs(self) -> dict[Cell, Mapping[int, Curve]]:
        """The finished runs. Raises UserError where there are none."""
        runs = {cell: self.found.curves[cell] for cell in self.cells if cell in self.found.curves}
        if not runs:
            raise self.error("no run of its arms is finished")
        return runs

    def place(self, cell: Cell, seed: int) -> RunDirectory:
        point = next(p for p in self.experiment.points() if split_point(cell.arm, p) == (cell, seed))
        return RunDirectory(run_place(self.results, self.experiment, cell.arm, point))

    @cached_property
    def first_seed(self) -> dict[Cell, RunDirectory]:
        """The run of `seed`, or of the grid's first one, for every cell where it is finished.

        Raises: UserError where it is not finished in any cell.
        """
        seed = self.spec.get("seed", self.experiment.grid["seed"][0])
        if seed not in self.experiment.grid["seed"]:
            raise self.error(f"seed={seed} is not in the grid: {', '.join(map(str, self.experiment.grid['seed']))}")
        places = {cell: self.place(cell, seed) for cell in self.cells}
        finished = {cell: run for cell, run in places.items() if run.status["status"] in FINISHED}
        if not finished:
            raise self.error(f"no run with seed {seed} is finished")
        return finished

    def values(self, cell: Cell, metric: str) -> dict[int, float]:
        """Return seed -> value in the unit of the axis, not finite for a diverged run; {} where the runs end before.

        Raises: UserError where the finished runs have no such metric.
        """
        at, better = self.spec.get("at", "last"), better_direction(metric)
        try:
            return {
                seed: factor(metric) * value_at(run, metric, at, better)
                for seed, run in self.found.curves.get(cell, {}).items()
            }
        except NothingToJudge:
            return {}

    @cached_property
    def looks(self) -> dict[str, Look]:
        """The look of every arm of the experiment, the same in all its figures."""
        return distinct({arm: self.color(Cell(arm)) for arm in self.experiment.arms})

    def looks_of(self, cells: Sequence[Cell]) -> dict[Cell, Look]:
        """Return the looks of lines: that of the arm, where an arm has one line; of one arm's lines, dark to light.

        Where several arms have several lines each, these differ in their dashes.
        """
        arms = {cell.arm for cell in cells}
        if len(arms) == len(cells):
            return {cell: self.looks[cell.arm] for cell in cells}
        if len(arms) == 1:
            return dict(zip(cells, sequence(len(cells)), strict=True))
        chosen = distinct({str(cell): self.color(cell) for cell in cells})
        return {cell: chosen[str(cell)] for cell in cells}

    def color(self, cell: Cell) -> str:
        """Return the colour of the arm's scheme; where no arm names a scheme, one of the arm's own."""
        arms = self.experiment.arms
        if "norm" in self.experiment.common or any("norm" in arm for arm in arms.values()):
            return color(self._norm(cell.arm))
        return PALETTE[list(arms).index(cell.arm) % len(PALETTE)]

    def _norm(self, arm: str) -> str:
        return str(self.experiment.arms[arm].get("norm", self.experiment.common.get("norm", "none")))

    @cached_property
    def _shared(self) -> bool:
        """Whether two schemes of the experiment have one colour: there are more schemes than colours."""
        norms = {self._norm(arm) for arm in self.experiment.arms}
        return len({color(norm) for norm in norms}) < len(norms)

    def row_color(self, cell: Cell) -> str:
        """Return the colour of a row that its name tells apart: none that would seem to mean a kinship."""
        return "black" if self._shared else self.color(cell)

    def label(self, name: str, usual: str = "") -> str:
        """Return what `labels` calls an axis or a column; otherwise its own name."""
        return str(self.spec.get("labels", {}).get(name, usual or name))

    def log(self, axis: str) -> bool:
        return axis in self.spec.get("log", [])

    def limits(self, axis: str, metric: str = "") -> list[float]:
        """Return the axis' limits at this scale; [] where there are none."""
        limits = limits_by_scale(self.spec.get("limits")).get(self.scale, {})
        return [factor(metric) * value for value in limits.get(axis, [])]

    def captions(self, *meaning: str) -> list[str]:
        """Return the sentences below: the YAML's own, what line and mark mean, then the notes."""
        return [text for text in (self.spec.get("caption", ""), " ".join(filter(None, meaning)), *self.notes) if text]

    def named(self, key: str) -> list[str]:
        """Return a key's names, whether one or a list was given; [] without the key."""
        value = self.spec.get(key, [])
        return list(map(str, value)) if isinstance(value, list) else [str(value)]


def factor(metric: str) -> float:
    """Return by what a metric is multiplied to be shown: shares are in percent."""
    return 100.0 if is_share(metric) else 1.0


def along(cell: Cell, axis: str) -> Cell:
    """Return the cell without one axis of its point."""
    return Cell(cell.arm, tuple((key, value) for key, value in cell.point if key != axis))


def converged(runs: Mapping[int, Any], count: int) -> str:
    """Return ` (2/3 converged)`, or nothing where all did."""
    return "" if count == len(runs) else f" ({count}/{len(runs)} converged)"
