"""One experiment at one scale: arms, grid, choices, and the configuration and the place of every run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.config import Config, compose
from normexp.config.text import override_text
from normexp.errors import Impossible, UserError
from normexp.evidence.curves import Cell, axis_value, named_point
from normexp.evidence.stats import Design

if TYPE_CHECKING:  # the schema takes long to import, and names are wanted without it
    from normexp.experiments.figure_kinds import FigureSpec
    from normexp.experiments.grids import Selection
    from normexp.experiments.tables import Published, PublishedOnly, Table

Point = tuple[tuple[str, Any], ...]  # values of the grid, seed included


@dataclass(frozen=True)
class Experiment:
    """One experiment at one scale."""

    name: str
    scale: str
    paper: str
    item: str
    title: str
    about: str
    arms: dict[str, dict[str, Any]]
    refused: dict[str, dict[str, Any]]
    grid: dict[str, list[Any]]
    common: dict[str, Any]
    select: Selection | None
    table: Table
    published: list[Published]
    published_only: list[PublishedOnly]
    figures: list[FigureSpec]
    claims: list[Any]  # of normexp.evidence.claims.Claim
    deviations: list[str]
    findings: list[str] = field(default_factory=list)
    summary: str = ""
    underpowered: str = ""
    law: Any = None  # a normexp.experiments.schema.Law, of an experiment that tests a formula
    file: str = ""  # of one that is not among ours
    design: Design | None = None  # of seeds that are added in batches
    typed: dict[str, Any] = field(default_factory=dict)  # overrides of every run that its command gives

    def points(self) -> list[Point]:
        """Return the grid's points, the first key varying slowest."""
        return product(self.grid)

    def folder(self, results: Path) -> Path:
        """Return where everything about it lies at its scale: results/NAME/SCALE."""
        return results / self.name / self.scale

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The grid without the seeds, and what its values are called."""
        return {key: [*map(axis_value, values)] for key, values in self.grid.items() if key != "seed"}

    def stages(self) -> list[Experiment]:
        """Return the experiment with the seeds that each of its looks adds; itself where it has none."""
        if self.design is None:
            return [self]
        seeds, ends = list(self.design.seeds), self.design.looks
        batches = [seeds[low:high] for low, high in itertools.pairwise((0, *ends))]
        return [replace(self, grid={**self.grid, "seed": batch}) for batch in batches]

    def overrides(self, arm: str, point: Point, chosen: Mapping[str, Any] | None = None) -> list[str]:
        """Return the overrides of one run, as they are typed."""
        return [f"{key}={override_text(value)}" for key, value in self.settings(arm, point, chosen).items()]

    def settings(self, arm: str, point: Point, chosen: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what is set for one run: what is common, the arm's own, what was chosen, the point."""
        own = {**self.refused, **self.arms}[arm]
        merged = {**self.common, **self.typed, **own, **(chosen or {}), **dict(point)}
        if "steps" in merged:
            merged.pop("epochs", None)
        return merged

    def with_extra(self, overrides: Mapping[str, Any]) -> Experiment:
        """Return the experiment with overrides for every run: where the data lie, what to compute on."""
        return replace(self, typed={**self.typed, **overrides})

    def config(self, arm: str, point: Point, chosen: Mapping[str, Any] | None = None) -> Config:
        try:
            return compose(self.overrides(arm, point, chosen))
        except UserError as error:
            raise UserError(f"experiment {self.name}, arm {arm!r}: {error}") from None

    def refusals(self) -> dict[str, str]:
        """Return {refused arm: the program's words}."""
        return {arm: self.refusal(arm) for arm in self.refused}

    def refusal(self, arm: str) -> str:
        """Return the program's words for a refused arm. Raises UserError for one that it would run."""
        try:
            compose(self.overrides(arm, self.points()[0]))
        except Impossible as refusal:
            return str(refusal)
        except UserError as error:
            raise UserError(f"refused: {arm!r}: {error}") from None
        raise UserError(f"refused: {arm!r} would be run; make it one of the arms")

    def selection_arms(self, arms: Sequence[str]) -> list[str]:
        """Return the arms for which hyperparameters are chosen when these are to run."""
        return [self.select.arm] if self.select and self.select.arm else list(arms)

    def choices(self, arms: Sequence[str]) -> dict[str, tuple[str, Point]]:
        """Return {name: (arm, point of the axes of select.per)} for all that is chosen by itself for these arms."""
        if self.select is None:
            return {}
        points = product({axis: self.grid[axis] for axis in self.select.per})
        return {_choice(arm, point): (arm, point) for arm in self.selection_arms(arms) for point in points}

    def choice_of(self, arm: str, point: Point) -> str:
        """Return the name of the choice that a run uses."""
        per = self.select.per if self.select else []
        return _choice(arm, [(axis, dict(point)[axis]) for axis in per])


def _choice(arm: str, point: Sequence[tuple[str, Any]]) -> str:
    return str(Cell(arm, named_point(point)))


def product(grid: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return the Cartesian product of a grid as ((key, value), ...)."""
    keys = list(grid)
    return [tuple(zip(keys, values, strict=True)) for values in itertools.product(*grid.values())]


def folder_name(text: str) -> str:
    """Return a name or a printed point as a folder's name."""
    return re.sub(r"[^\w.=,+-]+", "-", text).strip("-")


def point_name(point: Point) -> str:
    """Return `optim.lr=0.1,seed=0` for a point."""
    return folder_name(",".join(f"{key}={override_text(value)}" for key, value in point))


def run_place(results: Path, experiment: Experiment, arm: str, point: Point, kind: str = "runs") -> Path:
    """Return the run directory of a cell: results/NAME/SCALE/runs/ARM/POINT."""
    return experiment.folder(results) / kind / folder_name(arm) / point_name(point)
