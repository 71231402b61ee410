"""How hyperparameters are chosen, checked: of which arms, along which axes, by which metric, with which seeds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from normexp.config import Config
from normexp.config.intervals import read_interval, whole_meant
from normexp.errors import UserError, did_you_mean, unknown
from normexp.experiments.checks.composed import composed
from normexp.experiments.checks.names import HELD_OUT, check_arms, unknown_metric
from normexp.experiments.checks.reach import longest
from normexp.experiments.checks.recorded import recorded
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment
from normexp.experiments.grids import Halving, Selection
from normexp.experiments.noise import images_of
from normexp.experiments.trials import combinations, points


def check_choice(experiment: Experiment, configs: Sequence[Config], document: Document) -> None:
    """Raise UserError unless the selection names an arm, axes and a metric of its own runs.

    Args:
        configs: of the runs for which it chooses.
    """
    if (select := experiment.select) is None:
        return
    at = partial(document.laid, experiment.scale, "select")
    check_arms(document.at(*at("arm")), [select.arm] if select.arm else [], experiment.arms)
    for axis in select.per:
        if axis == "seed" or axis not in experiment.grid:
            raise unknown(f"{document.at(*at('per'))}: axis", axis, experiment.axes)
    if select.arm and select.per:
        raise document.error("give either arm or per", *at())
    choosing = experiment.selection_arms(list(experiment.arms))
    lengths = select.halving.steps if select.halving else [None]
    seeds = [*select.seeds, *select.ties]
    trials = [point for n in lengths for values in combinations(select) for point in points(select, values, n, seeds)]
    if select.halving:
        _check_halving(select, select.halving, longest(configs), document, at("halving"))
    if select.sampler:
        _check_whole(experiment, select, document, choosing)
    known = recorded(
        [composed(experiment, document, arm, point, select.common) for arm in choosing for point in trials]
    )
    if select.metric not in known:
        raise unknown_metric(document.at(*at("metric")), select.metric, known)
    _check_held_out(experiment, select, document)


def _check_halving(
    select: Selection, halving: Halving, last: int | None, document: Document, place: tuple[str | int, ...]
) -> None:
    """Raise UserError where the first rung drops nothing, or the last one trains longer than what is chosen for."""
    if (there := len(combinations(select))) <= halving.keep[0]:
        raise document.error(f"keeps {halving.keep[0]} of {there} combinations", *place, "keep")
    if last is not None and halving.steps[-1] > last:
        raise document.error(f"{halving.steps[-1]} steps are more than those of every run, {last}", *place, "steps")


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
                place = document.laid(experiment.scale, "select", "search", key)
                raise document.error(f"{text}: must be whole numbers{meant}", *place)


def _check_held_out(experiment: Experiment, select: Selection, document: Document) -> None:
    """Raise UserError for a choice by what is judged afterwards: the test split, or the runs of the grid themselves."""
    at = partial(document.laid, experiment.scale, "select")
    if not select.metric.startswith(HELD_OUT):
        raise document.error(
            f"{select.metric} is not of the validation split, which alone may choose; allowed: {HELD_OUT}...",
            *at("metric"),
        )
    for key in ("seeds", "ties"):
        if both := [seed for seed in getattr(select, key) if seed in experiment.grid["seed"]]:
            raise document.error(f"{both[0]} is a seed of the grid, too; choose with others", *at(key))
    if select.ties and len(select.seeds) == 1 and images_of(experiment, select) is None:
        raise document.error(
            f"one seed does not say what is noise in {select.metric}; give two in select.seeds, or choose by an "
            "accuracy with a number of images as dataset.validation",
            *at("ties"),
        )
