"""An experiment is one YAML, plain data: a paper's table or figure as arms, a grid, claims and published numbers.

paper, item, title     where it is printed, and what it is called
about                  the set-up in a paragraph
common                 overrides of every run
arms                   name as printed -> overrides; rows of the table, curves of the figure
grid                   key -> values; the Cartesian product is run for every arm. `seed` must be there
select                 how a hyperparameter is chosen per arm: {over: grid, seed: [...], metric, common}
scales                 smoke | cpu | paper -> {about, common, grid, select}, laid over the above
table                  {metric, at, baseline, digits}
published              list of {arm, metric, at, value, place}; values as printed strings
figures                list of {name, kind, ...}, see normexp.report.experiment
claims                 list of predicates, see normexp.claims
deviations             what differs from the paper, printed under the table
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from normexp.config import Config, compose, config_dir
from normexp.config.compose import override_text
from normexp.config.options import load_yaml
from normexp.errors import UserError, unknown

SCALES = ("smoke", "cpu", "paper")
Point = tuple[tuple[str, Any], ...]  # values of the grid, seed included


@dataclass(frozen=True)
class Select:
    """How one hyperparameter combination is chosen per arm, on the validation split, with seeds of its own."""

    over: dict[str, list[Any]]
    seed: list[int]
    metric: str
    common: dict[str, Any] = field(default_factory=dict)

    @property
    def highest(self) -> bool:
        return self.metric.endswith("accuracy")


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
    grid: dict[str, list[Any]]
    common: dict[str, Any]
    select: Select | None
    table: dict[str, Any]
    published: list[dict[str, Any]]
    figures: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    deviations: list[str]

    def points(self) -> list[Point]:
        """Return the grid's points, the first key varying slowest."""
        return product(self.grid)

    def overrides(self, arm: str, point: Point, chosen: Mapping[str, Any] | None = None) -> list[str]:
        """Return the overrides of one run: what is common, the arm's own, what was chosen, the point."""
        merged = {**self.common, **self.arms[arm], **(chosen or {}), **dict(point)}
        if "steps" in merged:
            merged.pop("epochs", None)
        return [f"{key}={override_text(value)}" for key, value in merged.items()]

    def with_extra(self, overrides: Mapping[str, Any]) -> Experiment:
        """Return the experiment with overrides for every run: where the data lie, what to compute on."""
        return replace(self, common={**self.common, **overrides})

    def config(self, arm: str, point: Point, chosen: Mapping[str, Any] | None = None) -> Config:
        try:
            return compose(self.overrides(arm, point, chosen))
        except UserError as error:
            raise UserError(f"experiment {self.name}, arm {arm!r}: {error}") from None

    @cached_property
    def selection_points(self) -> list[Point]:
        """Return the points of the selection: every combination of hyperparameters with every selection seed."""
        return product({**self.select.over, "seed": self.select.seed}) if self.select else []


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


def names() -> list[str]:
    """Return the experiments there are."""
    return sorted(path.stem for path in (config_dir() / "experiment").glob("*.yaml"))


def load(name: str, scale: str = "cpu") -> Experiment:
    """Read an experiment at a scale. Raises UserError for an unknown name or scale, or a YAML that is not sound."""
    if name not in names():
        raise unknown("experiment", name, names())
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    return parse(name, scale, load_yaml(config_dir() / "experiment" / f"{name}.yaml"))


def parse(name: str, scale: str, data: Mapping[str, Any]) -> Experiment:
    """Build an experiment from its YAML's content and check it without running anything."""
    known = {"paper", "item", "title", "about", "common", "arms", "grid", "select", "scales", "table"}
    known |= {"published", "figures", "claims", "deviations"}
    for key in data:
        if key not in known:
            raise unknown(f"experiment {name}: key", key, sorted(known))
    for key in ("paper", "item", "title", "about", "arms", "grid", "scales", "table"):
        if not data.get(key):
            raise UserError(f"experiment {name}: {key} is missing")
    if scale not in data["scales"]:
        raise UserError(f"experiment {name} has no scale {scale}; it has {', '.join(data['scales'])}")
    experiment = _at_scale(name, scale, data, data["scales"][scale] or {})
    _check(experiment)
    return experiment


def _at_scale(name: str, scale: str, data: Mapping[str, Any], own: Mapping[str, Any]) -> Experiment:
    select = {**data["select"], **own.get("select", {})} if data.get("select") else None
    return Experiment(
        name=name,
        scale=scale,
        paper=data["paper"],
        item=data["item"],
        title=data["title"],
        about=own.get("about", data["about"]),
        arms=data["arms"],
        grid={**data["grid"], **own.get("grid", {})},
        common={**data.get("common", {}), **own.get("common", {})},
        select=Select(**select) if select else None,
        table=data["table"],
        published=data.get("published", []),
        figures=data.get("figures", []),
        claims=data.get("claims", []),
        deviations=[*data.get("deviations", []), *own.get("deviations", [])],
    )


def _check(experiment: Experiment) -> None:
    """Compose every run, and check that what names an arm names one. Claims are checked where they are judged."""
    where = f"experiment {experiment.name}"
    if "seed" not in experiment.grid:
        raise UserError(f"{where}: grid has no seed")
    for arm in experiment.arms:
        for point in experiment.points():
            experiment.config(arm, point)
        for point in experiment.selection_points:
            assert experiment.select is not None
            experiment.config(arm, point, experiment.select.common)
    baseline = experiment.table.get("baseline")
    for arm in [*(entry["arm"] for entry in experiment.published), *([baseline] if baseline else [])]:
        if arm not in experiment.arms:
            raise unknown(f"{where}: arm", str(arm), experiment.arms)
    for entry in experiment.published:
        if not isinstance(entry.get("value"), str) or not entry.get("place"):
            raise UserError(f"{where}: a published value is a string as printed, with its place: {entry}")
    for claim in experiment.claims:
        if not claim.get("source"):
            raise UserError(f"{where}: claim {claim.get('text')!r} has no source")


def run_place(results: Path, experiment: Experiment, arm: str, point: Point, kind: str = "runs") -> Path:
    """Return the run directory of a cell: results/NAME/SCALE/runs/ARM/POINT."""
    folder = results / experiment.name / experiment.scale / kind
    return folder / folder_name(arm) / point_name(point)
