"""What an experiment names, checked before anything runs: arms, axes, metrics, figures, claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from normexp.config import Config
from normexp.config.text import amount
from normexp.errors import UserError
from normexp.evidence.claims.check import check_names
from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import Follows, is_tested
from normexp.evidence.claims.power import least_p, smallest_adjusted_p
from normexp.evidence.curves import PROBE
from normexp.evidence.scales import SMOKE
from normexp.evidence.stats import LEVEL
from normexp.experiments.checks.choice import check_choice
from normexp.experiments.checks.clashes import (
    check_arm_folders,
    check_columns,
    check_figure_names,
    check_run_folders,
    check_texts,
)
from normexp.experiments.checks.composed import check_refused, composed
from normexp.experiments.checks.in_vain import (
    check_axes_of_names,
    check_replaced,
    check_seeds_of_figures,
    check_unread,
)
from normexp.experiments.checks.look_alikes import check_looks
from normexp.experiments.checks.measured import check_measured
from normexp.experiments.checks.names import check_arms, check_named
from normexp.experiments.checks.reach import check_reach
from normexp.experiments.checks.recorded import metrics
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment


def check(experiment: Experiment, document: Document) -> Experiment:
    """Compose every run; return the experiment with the arms of `the others` named in its claims.

    Raises: UserError, one line with the place in the file, unless arms, metrics and claims name what there is.
    """
    arms = list(experiment.arms)
    if "seed" not in experiment.grid:
        raise document.error("has no seed", "grid")
    check_arm_folders(experiment, document)
    check_looks(experiment, document)
    check_replaced(experiment, document)
    for arm in experiment.refused:
        check_refused(experiment, document, arm)
    check_texts(experiment, document)
    by_arm = {arm: [composed(experiment, document, arm, point) for point in experiment.points()] for arm in arms}
    configs = [config for own in by_arm.values() for config in own]
    known, axes = metrics(configs), experiment.axes
    check_choice(experiment, configs, document)
    check_run_folders(experiment, document)
    _check_table(experiment, document, axes, known)
    _check_design(experiment, document)
    known = [*known, *_probed(experiment, configs)]
    _check_figures(experiment, document, axes, known)
    check_measured(experiment, by_arm, document)
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
    check_axes_of_names(experiment, document)


def _probed(experiment: Experiment, configs: Sequence[Config]) -> list[str]:
    """Return the `probe/LAYER/STATISTIC` that claims and figures name; a network is built only when it trains."""
    if all(config.choices["probe"] == "none" for config in configs):
        return []
    named = [str(getattr(claim, "metric", "")) for claim in experiment.claims]
    named += [str(getattr(figure, "metric", "")) for figure in experiment.figures]
    return [metric for metric in named if metric.startswith(PROBE)]
