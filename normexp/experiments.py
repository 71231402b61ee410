"""An experiment is one YAML, plain data: a paper's table or figure as arms, a grid, claims and published numbers.

paper, item, title     where it is printed, and what it is called
about                  the set-up in a paragraph
common                 overrides of every run
arms                   name as printed -> overrides; rows of the table, curves of the figure
refused                the same for arms that the program must refuse; the table says so, in the program's words
grid                   key -> values; the Cartesian product is run for every arm. `seed` must be there
select                 how a hyperparameter is chosen per arm: {over: grid, seed: [...], metric, common, arm,
                       per}; with `arm` it is chosen for that arm alone, and all take what is best there; with `per`,
                       axes of the grid, anew at each of their values
scales                 smoke | cpu | paper -> {about, common, grid, select}, laid over the above
table                  {metric, at, baseline, margin}: one metric against the published numbers;
                       or {columns, at}: several columns side by side, each a metric or {metric, at}, {metric, target}
                       (steps to a number or to `best of ARM`) or {metric, target, than: ARM} (the speed-up over it)
                       or {metric, at, over: ARM} (the ratio to it). Beside the columns of metrics.csv there are
                       metrics: SPLIT/error, 1 - SPLIT/accuracy, and seconds_per_step of training
published              list of {arm, metric, at | target | target and than, value, place}; values as printed strings
published_only         list of {arm, metric, value, place}: rows of the printed table that are not run here
figures                list of {name, kind, ...}, see normexp.report.experiment
claims                 list of predicates, see normexp.claims
summary                a question that the claims answer: writes summary.md, one page
deviations             what differs from the paper, printed under the table
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from normexp.claims import check_claim
from normexp.config import Config, compose, config_dir
from normexp.config.compose import override_text
from normexp.config.options import load_yaml, option
from normexp.curves import SECONDS_PER_STEP, Cell, better_direction, with_errors
from normexp.errors import Impossible, UserError, unknown
from normexp.experiment_shape import SCALES, check_arms, check_figure_names, check_shape, columns_of

PROBE = "probe/"  # begins the name of a metric that a probe measured: probe/LAYER/STATISTIC
Point = tuple[tuple[str, Any], ...]  # values of the grid, seed included


@dataclass(frozen=True)
class Select:
    """How one hyperparameter combination is chosen per arm, on the validation split, with seeds of its own.

    Args:
        arm: choose for this arm alone; all others take what is best there.
        per: axes of the grid at each of whose values it is chosen anew.
    """

    over: dict[str, list[Any]]
    seed: list[int]
    metric: str
    common: dict[str, Any] = field(default_factory=dict)
    arm: str | None = None
    per: list[str] = field(default_factory=list)

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
    refused: dict[str, dict[str, Any]]
    grid: dict[str, list[Any]]
    common: dict[str, Any]
    select: Select | None
    table: dict[str, Any]
    published: list[dict[str, Any]]
    published_only: list[dict[str, Any]]
    figures: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    deviations: list[str]
    summary: str = ""

    def points(self) -> list[Point]:
        """Return the grid's points, the first key varying slowest."""
        return product(self.grid)

    def overrides(self, arm: str, point: Point, chosen: Mapping[str, Any] | None = None) -> list[str]:
        """Return the overrides of one run: what is common, the arm's own, what was chosen, the point."""
        own = {**self.refused, **self.arms}[arm]
        merged = {**self.common, **own, **(chosen or {}), **dict(point)}
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

    def refusals(self) -> dict[str, str]:
        """Return {refused arm: the program's words}. Raises UserError for one that it would run."""
        return {arm: self._refusal(arm) for arm in self.refused}

    def _refusal(self, arm: str) -> str:
        try:
            compose(self.overrides(arm, self.points()[0]))
        except Impossible as refusal:
            return str(refusal)
        except UserError as error:
            raise UserError(f"experiment {self.name}: refused: {arm!r}: {error}") from None
        raise UserError(f"experiment {self.name}: refused: {arm!r} would be run; make it one of the arms")

    def selection_arms(self, arms: Sequence[str]) -> list[str]:
        """Return the arms for which hyperparameters are chosen when these are to run."""
        return [self.select.arm] if self.select and self.select.arm else list(arms)

    def choices(self, arms: Sequence[str]) -> dict[str, tuple[str, Point]]:
        """Return {name: (arm, point of the axes of select.per)} for all that is chosen by itself for these arms."""
        if self.select is None:
            return {}
        places = product({axis: self.grid[axis] for axis in self.select.per})
        return {str(Cell(arm, place)): (arm, place) for arm in self.selection_arms(arms) for place in places}

    def choice_of(self, arm: str, point: Point) -> str:
        """Return the name of the choice that a run uses."""
        per = self.select.per if self.select else []
        return str(Cell(arm, tuple((axis, dict(point)[axis]) for axis in per)))

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


def scales(name: str) -> list[str]:
    """Return the scales that an experiment has, the smallest first."""
    return [scale for scale in SCALES if scale in _read(name)["scales"]]


def load(name: str, scale: str | None = None) -> Experiment:
    """Read an experiment at a scale, by default cpu or the only one it has.

    Raises: UserError for an unknown name or scale, or a YAML that is not sound.
    """
    data = _read(name)
    if scale is None:
        scale = "cpu" if "cpu" in data["scales"] else scales(name)[-1]
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    return parse(name, scale, data)


def _read(name: str) -> dict[str, Any]:
    if name not in names():
        raise unknown("experiment", name, names())
    try:
        data = load_yaml(config_dir() / "experiment" / f"{name}.yaml")
    except yaml.YAMLError as error:
        raise UserError(f"experiment {name}: is not YAML ({' '.join(str(error).split())})") from None
    if not isinstance(data, dict) or not isinstance(data.get("scales"), dict):
        check_shape(f"experiment {name}", data)
    return data


def parse(name: str, scale: str, data: Mapping[str, Any]) -> Experiment:
    """Build an experiment from its YAML's content and check it without running anything."""
    check_shape(f"experiment {name}", data)
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
        refused=data.get("refused", {}),
        grid={**data["grid"], **own.get("grid", {})},
        common={**data.get("common", {}), **own.get("common", {})},
        select=Select(**select) if select else None,
        table=data["table"],
        published=data.get("published", []),
        published_only=data.get("published_only", []),
        figures=data.get("figures", []),
        claims=data.get("claims", []),
        deviations=[*data.get("deviations", []), *own.get("deviations", [])],
        summary=data.get("summary", ""),
    )


def _check(experiment: Experiment) -> None:
    """Compose every run; check that arms, metrics and claims name what there is."""
    where, arms = f"experiment {experiment.name}", experiment.arms
    if "seed" not in experiment.grid:
        raise UserError(f"{where}: grid has no seed")
    experiment.refusals()
    folders = {folder_name(arm): arm for arm in arms}
    if other := next((arm for arm in arms if folders[folder_name(arm)] != arm), None):
        raise UserError(f"{where}: arms {other!r} and {folders[folder_name(other)]!r} would share a folder")
    configs = [experiment.config(arm, point) for arm in arms for point in experiment.points()]
    known = _metrics(configs)
    if (select := experiment.select) is not None:
        check_arms(f"{where}: select: arm", [select.arm] if select.arm else [], arms)
        for axis in select.per:
            if axis == "seed" or axis not in experiment.grid:
                raise unknown(f"{where}: select: per", axis, [key for key in experiment.grid if key != "seed"])
        if select.arm and select.per:
            raise UserError(f"{where}: select: give either arm or per")
        choosing = experiment.selection_arms(list(arms))
        tried = [
            experiment.config(arm, point, select.common) for arm in choosing for point in experiment.selection_points
        ]
        _check_metric(f"{where}: select: metric", select.metric, _recorded(tried))
    check_arms(f"{where}: table: baseline", [experiment.table.get("baseline", next(iter(arms)))], arms)
    check_arms(f"{where}: published", [entry["arm"] for entry in experiment.published], arms)
    _check_published_only(experiment, f"{where}: published_only")
    axes = {key: values for key, values in experiment.grid.items() if key != "seed"}
    for entry in (experiment.table, *columns_of(experiment.table), *experiment.published):
        _check_look(where, entry, arms, axes, known)
    known = [*known, *_probed(experiment, configs)]
    for figure in experiment.figures:
        check_figure_names(f"{where}: figure {figure['name']}", figure, list(arms), axes, known)
    for claim in experiment.claims:
        try:
            check_claim(claim, list(arms), known, axes)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None


def _check_published_only(experiment: Experiment, where: str) -> None:
    """Raise UserError for a row that is run after all, or one that the table would not show."""
    metric = experiment.table.get("metric")
    for entry in experiment.published_only:
        if entry["arm"] in experiment.arms:
            raise UserError(f"{where}: arm {entry['arm']!r} is run here; its number belongs under published")
        if entry["metric"] != metric:
            raise UserError(f"{where}: metric={entry['metric']} is not that of the table, {metric}")


def _recorded(configs: Sequence[Config]) -> list[str]:
    """Return the columns that metrics.csv will have in every one of these runs."""
    known = [list(_columns(config)) for config in configs]
    return [name for name in known[0] if all(name in names for names in known)]


def _metrics(configs: Sequence[Config]) -> list[str]:
    """Return these, and what follows from the records besides."""
    timed = all(config.choices["study"] == "none" for config in configs)
    return [*with_errors(_recorded(configs)), *([SECONDS_PER_STEP] if timed else [])]


def _probed(experiment: Experiment, configs: Sequence[Config]) -> list[str]:
    """Return the `probe/LAYER/STATISTIC` that claims and figures name; a network is built only when it trains."""
    if all(config.choices["probe"] == "none" for config in configs):
        return []
    named = (str(entry.get("metric")) for entry in (*experiment.claims, *experiment.figures))
    return [metric for metric in named if metric.startswith(PROBE)]


def _columns(config: Config) -> Iterator[str]:
    if config.choices["study"] != "none":
        yield from option("study", config.choices["study"])["_metrics_"]
        return
    task = config["dataset"].get("task", option("dataset", config.choices["dataset"])["_task_"])
    score = "rmse" if task == "regression" else "accuracy"
    for split in ("train", "validation", "test"):
        if split != "validation" or config["dataset"].get("validation", 1):
            yield from (f"{split}/loss", f"{split}/{score}")


def _check_look(
    where: str,
    entry: Mapping[str, Any],
    arms: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]],
    known: Sequence[str],
) -> None:
    """Check what the table, one of its columns or a published number looks at."""
    check_figure_names(where, entry, list(arms), axes, known)
    check_arms(f"{where}: than", [entry["than"]] if "than" in entry else [], arms)
    check_arms(f"{where}: over", [entry["over"]] if "over" in entry else [], arms)
    if "target" in entry and better_direction(entry["metric"]) is None:
        raise UserError(f"{where}: the name of metric {entry['metric']!r} does not tell what is better")


def _check_metric(where: str, metric: str, known: Sequence[str]) -> None:
    if metric not in known:
        raise unknown(where, metric, known)


def run_place(results: Path, experiment: Experiment, arm: str, point: Point, kind: str = "runs") -> Path:
    """Return the run directory of a cell: results/NAME/SCALE/runs/ARM/POINT."""
    folder = results / experiment.name / experiment.scale / kind
    return folder / folder_name(arm) / point_name(point)
