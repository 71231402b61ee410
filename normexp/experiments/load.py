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
scales                 smoke | cpu | paper -> {about, common, grid, select, deviations, findings}, laid over the above
table                  {metric, at, baseline, margin}: one metric against the published numbers;
                       or {columns, at}: several columns side by side, each a metric or {metric, at}, {metric, target}
                       (steps to a number or to `best of ARM`) or {metric, target, than: ARM} (the speed-up over it)
                       or {metric, at, over: ARM} (the ratio to it). Beside the columns of metrics.csv there are
                       metrics: SPLIT/error, 1 - SPLIT/accuracy, and seconds_per_step of training
published              list of {arm, metric, at | target | target and than, value, place}; values as printed strings
published_only         list of {arm, metric, value, place}: rows of the printed table that are not run here
figures                list of {name, kind, ...}, see normexp.report.experiment
claims                 list of predicates, see normexp.evidence.claims
summary                a question that the claims answer: writes summary.md, one page
deviations             what differs from the paper, printed under the table
findings               of a scale: what was found out about its results (why a claim fails), printed there too
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from normexp.config import config_dir
from normexp.config.options import load_yaml
from normexp.errors import UserError, unknown
from normexp.experiments.check import check
from normexp.experiments.experiment import Experiment, Select
from normexp.experiments.shape import SCALES, check_shape


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


def read(name: str, scale: str) -> Experiment:
    """Read an experiment at a scale without composing its runs' configurations: enough to find their records."""
    data = _read(name)
    check_shape(f"experiment {name}", data)
    return _at_scale(name, scale, data, data["scales"][scale] or {})


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
    check(experiment)
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
        findings=own.get("findings", []),
        summary=data.get("summary", ""),
    )
