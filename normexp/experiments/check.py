"""What an experiment names, checked before anything runs: arms, axes, metrics, figures, claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from normexp.config import Config
from normexp.config.options import option
from normexp.errors import UserError, unknown
from normexp.evidence.claims import check_claim
from normexp.evidence.curves import SECONDS_PER_STEP, better_direction, with_errors
from normexp.experiments.experiment import Experiment, folder_name
from normexp.experiments.shape import check_arms, check_figure_names, columns_of

PROBE = "probe/"  # begins the name of a metric that a probe measured: probe/LAYER/STATISTIC


def check(experiment: Experiment) -> None:
    """Compose every run; raise UserError unless arms, metrics and claims name what there is."""
    where, arms = f"experiment {experiment.name}", experiment.arms
    if "seed" not in experiment.grid:
        raise UserError(f"{where}: grid has no seed")
    experiment.refusals()
    _check_folders(where, arms)
    configs = [experiment.config(arm, point) for arm in arms for point in experiment.points()]
    known = _metrics(configs)
    _check_select(f"{where}: select", experiment)
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


def _check_folders(where: str, arms: Mapping[str, Any]) -> None:
    """Raise UserError if two arms would write into the same folder."""
    folders = {folder_name(arm): arm for arm in arms}
    if other := next((arm for arm in arms if folders[folder_name(arm)] != arm), None):
        raise UserError(f"{where}: arms {other!r} and {folders[folder_name(other)]!r} would share a folder")


def _check_select(where: str, experiment: Experiment) -> None:
    """Raise UserError unless the selection names an arm, axes and a metric of its own runs."""
    if (select := experiment.select) is None:
        return
    check_arms(f"{where}: arm", [select.arm] if select.arm else [], experiment.arms)
    for axis in select.per:
        if axis == "seed" or axis not in experiment.grid:
            raise unknown(f"{where}: per", axis, [key for key in experiment.grid if key != "seed"])
    if select.arm and select.per:
        raise UserError(f"{where}: give either arm or per")
    choosing = experiment.selection_arms(list(experiment.arms))
    known = _recorded(
        [experiment.config(arm, point, select.common) for arm in choosing for point in experiment.selection_points]
    )
    if select.metric not in known:
        raise unknown(f"{where}: metric", select.metric, known)


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
    if "target" in entry and better_direction(entry["metric"]) is None:
        raise UserError(f"{where}: the name of metric {entry['metric']!r} does not tell what is better")
