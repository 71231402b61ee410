"""What an experiment names, checked before anything runs: arms, axes, metrics, figures, claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from normexp.config import Config
from normexp.config.intervals import read_interval, whole_meant
from normexp.config.options import option
from normexp.config.text import amount
from normexp.errors import UserError, did_you_mean, unknown
from normexp.evidence.claims.check import check_names
from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import Follows, is_tested
from normexp.evidence.claims.power import least_p, smallest_adjusted_p
from normexp.evidence.curves import PROBE, SECONDS_PER_STEP, with_errors
from normexp.evidence.scales import SMOKE
from normexp.evidence.stats import LEVEL
from normexp.experiments.checks.clashes import check_arm_folders, check_columns, check_figure_names, check_run_folders
from normexp.experiments.checks.composed import check_refused, composed
from normexp.experiments.checks.in_vain import check_replaced, check_seeds_of_figures, check_unread
from normexp.experiments.checks.look_alikes import check_looks
from normexp.experiments.checks.reach import check_reach
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment
from normexp.experiments.grids import Selection
from normexp.experiments.names import HELD_OUT, check_arms, check_named, unknown_metric
from normexp.experiments.noise import images_of
from normexp.experiments.trials import combinations, points


def check(experiment: Experiment, document: Document) -> Experiment:
    """Compose every run; return the experiment with the arms of `the others` named in its claims.

    Raises: UserError, one line with the place in the file, unless arms, metrics and claims name what there is.
    """
    arms = list(experiment.arms)
    if "seed" not in experiment.grid:
        raise document.error("has no seed", "grid")
    for arm in experiment.refused:
        check_refused(experiment, document, arm)
    check_arm_folders(experiment, document)
    check_looks(experiment, document)
    check_replaced(experiment, document)
    _check_texts(experiment, document)
    configs = [composed(experiment, document, arm, point) for arm in arms for point in experiment.points()]
    known, axes = _metrics(configs), experiment.axes
    _check_select(experiment, document)
    check_run_folders(experiment, document)
    _check_table(experiment, document, axes, known)
    _check_design(experiment, document)
    known = [*known, *_probed(experiment, configs)]
    _check_figures(experiment, document, axes, known)
    claims = [_named(claim, document.at("claims", i), arms, known, axes) for i, claim in enumerate(experiment.claims)]
    check_reach(experiment, configs, document)
    checked = replace(experiment, claims=claims)
    _check_power(checked, document)
    return checked


def _named(claim: Claim, where: str, arms: Sequence[str], known: Sequence[str], axes: Mapping[str, Any]) -> Claim:
    try:
        return check_names(claim, arms, known, axes)
    except UserError as error:
        raise UserError(f"{where} {claim.text!r}: {error}") from None


def _check_power(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a family of claims that so few seeds cannot decide, unless the YAML acknowledges it."""
    if experiment.scale == SMOKE or experiment.underpowered:
        return
    seeds = len(experiment.grid["seed"])
    family = tested(experiment)
    least = least_p(partial(smallest_adjusted_p, family), experiment.design, seeds)
    if family and least > LEVEL:
        raise document.error(
            f"{amount(seeds, 'seed')} cannot decide {len(family)} claims: the least adjusted p that one "
            f"by ranks can have is {least:.2g}, above {LEVEL:g}; add seeds, drop claims, or say `underpowered: reason`",
            "claims",
        )


def tested(experiment: Experiment) -> list[Claim]:
    """Return the claims that take part in the correction over all of them."""
    return [claim for claim in experiment.claims if is_tested(claim, experiment.scale)]


def _check_design(experiment: Experiment, document: Document) -> None:
    """Raise UserError for looks that are not those of the seeds, or at what is judged once, by a rule of its own."""
    if (design := experiment.design) is None:
        return
    at = ("scales", experiment.scale, "sequential")
    if design.looks[-1] != len(set(design.seeds)):
        there = len(set(design.seeds))
        raise document.error(f"the last look has {design.looks[-1]} seeds, the grid has {there}", *at, "looks")
    if not tested(experiment):
        raise document.error("there is no claim that seeds could decide", *at)
    if any(isinstance(claim, Follows) for claim in experiment.claims):
        raise document.error("a law is tested once, at its own level; claims follows and leaves take no looks", *at)
    if experiment.table.margin is not None:
        raise document.error("published numbers are judged once; a margin takes no looks", *at)


def _check_texts(experiment: Experiment, document: Document) -> None:
    """Raise UserError for two claims in the same words: what is frozen is found again by them."""
    texts = [claim.text for claim in experiment.claims]
    if twice := next((i for i, text in enumerate(texts) if text in texts[:i]), None):
        raise document.error(f"claims[{texts.index(texts[twice])}] has the same text", "claims", twice, "text")


def _check_select(experiment: Experiment, document: Document) -> None:
    """Raise UserError unless the selection names an arm, axes and a metric of its own runs."""
    if (select := experiment.select) is None:
        return
    check_arms(document.at("select", "arm"), [select.arm] if select.arm else [], experiment.arms)
    for axis in select.per:
        if axis == "seed" or axis not in experiment.grid:
            raise unknown(f"{document.at('select', 'per')}: axis", axis, experiment.axes)
    if select.arm and select.per:
        raise document.error("give either arm or per", "select")
    choosing = experiment.selection_arms(list(experiment.arms))
    lengths = select.halving.steps if select.halving else [None]
    seeds = [*select.seeds, *select.ties]
    trials = [point for n in lengths for values in combinations(select) for point in points(select, values, n, seeds)]
    if select.halving and len(combinations(select)) <= select.halving.keep[0]:
        there = len(combinations(select))
        raise document.error(f"keeps {select.halving.keep[0]} of {there} combinations", "select", "halving", "keep")
    if select.sampler:
        _check_whole(experiment, select, document, choosing)
    known = _recorded(
        [composed(experiment, document, arm, point, select.common) for arm in choosing for point in trials]
    )
    if select.metric not in known:
        raise unknown_metric(document.at("select", "metric"), select.metric, known)
    _check_held_out(experiment, select, document)


def _check_whole(experiment: Experiment, select: Selection, document: Document, arms: Sequence[str]) -> None:
    """Raise UserError for an interval of all numbers where an arm takes whole ones alone."""

    def takes(arm: str, key: str, value: float) -> bool:
        try:
            experiment.config(arm, ((key, value), ("seed", select.seeds[0])), select.common)
        except UserError:
            return False
        return True

    for key, text in select.search.items():
        for arm in arms:
            if whole := whole_meant(read_interval(key, text), partial(takes, arm, key)):
                meant = did_you_mean(str(whole))
                raise document.error(f"{text}: must be whole numbers{meant}", "select", "search", key)


def _check_held_out(experiment: Experiment, select: Selection, document: Document) -> None:
    """Raise UserError for a choice by what is judged afterwards: the test split, or the runs of the grid themselves."""
    if not select.metric.startswith(HELD_OUT):
        raise document.error(
            f"{select.metric} is not of the validation split, which alone may choose; allowed: {HELD_OUT}...",
            "select",
            "metric",
        )
    for key in ("seeds", "ties"):
        if both := [seed for seed in getattr(select, key) if seed in experiment.grid["seed"]]:
            raise document.error(f"{both[0]} is a seed of the grid, too; choose with others", "select", key)
    if select.ties and len(select.seeds) == 1 and images_of(experiment, select) is None:
        raise document.error(
            f"one seed does not say what is noise in {select.metric}; give two in select.seeds, or choose by an "
            "accuracy with a number of images as dataset.validation",
            "select",
            "ties",
        )


def _check_table(
    experiment: Experiment, document: Document, axes: Mapping[str, Sequence[Any]], known: Sequence[str]
) -> None:
    """Raise UserError for an arm or a metric of the table, its columns or the published numbers that is not there."""
    table, arms = experiment.table, experiment.arms
    check_arms(document.at("table", "baseline"), [table.baseline] if table.baseline else [], arms)
    check_named(document.at("table"), table, arms, axes, known)
    for i, look in enumerate(table.looks):
        check_named(document.at("table", "columns", i), look, arms, axes, known)
    for i, entry in enumerate(experiment.published):
        check_named(document.at("published", i), entry, arms, axes, known)
    check_columns(experiment, document)
    check_unread(experiment, document)
    for i, other in enumerate(experiment.published_only):
        if other.arm in arms:
            raise document.error(
                f"arm {other.arm!r} is run here; its number belongs under published", "published_only", i
            )
        if other.metric != table.metric:
            raise document.error(f"metric={other.metric} is not that of the table, {table.metric}", "published_only", i)


def _check_figures(
    experiment: Experiment, document: Document, axes: Mapping[str, Sequence[Any]], known: Sequence[str]
) -> None:
    """Raise UserError for a figure of what is not there, or in the place of another picture."""
    check_figure_names(experiment, document)
    check_seeds_of_figures(experiment, document)
    for i, figure in enumerate(experiment.figures):
        check_named(f"{document.at('figures', i)} {figure.name!r}", figure, experiment.arms, axes, known)


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
    named = [str(getattr(claim, "metric", "")) for claim in experiment.claims]
    named += [str(getattr(figure, "metric", "")) for figure in experiment.figures]
    return [metric for metric in named if metric.startswith(PROBE)]


def _columns(config: Config) -> Iterator[str]:
    if config.choices["study"] != "none":
        yield from option("study", config.choices["study"])["_metrics_"]
        return
    task = config["dataset"].get("task", option("dataset", config.choices["dataset"])["_task_"])
    score = {"regression": "rmse", "language": "bits_per_byte"}.get(task, "accuracy")
    for split in ("train", "validation", "test"):
        if split != "validation" or config["dataset"].get("validation", 1):
            yield from (f"{split}/loss", f"{split}/{score}")
