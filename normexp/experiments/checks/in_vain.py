"""What an experiment says in vain, since nothing shows it or something else replaces it: refused before it runs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from normexp.config.identity import REPLACED
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment
from normexp.experiments.figure_kinds import Against, are_numbers

if TYPE_CHECKING:
    from normexp.experiments.schema import AtScale, ExperimentFile

Place = tuple[str, ...]
LENGTHS = ("steps", "epochs")  # of a run; each rung of a halving has its own


def check_replaced(experiment: Experiment, document: Document) -> None:
    """Raise UserError for an override, or a choice, that an axis, what is chosen or a trial's point would replace."""
    refuse = partial(_refuse, document, experiment.scale)
    of_runs: list[tuple[Place, Iterable[str]]] = [(("common",), experiment.common)]
    of_runs += [(("arms", arm), own) for arm, own in experiment.arms.items()]
    refused = [(("refused", arm), own) for arm, own in experiment.refused.items()]
    select = experiment.select
    searched = [(("select", "search"), select.search)] if select else []
    refuse([*of_runs, *refused, *searched], experiment.grid, "is an axis of the grid, whose values would replace it")
    if select:
        of_trials = (("select", "common"), select.common)
        refuse([*of_runs, of_trials], select.search, "is searched, and what is chosen would replace it")
        refuse([of_trials], ("seed", *select.per), "varies between the trials, which would replace it")
        by_axis = (("select", "per"), select.per)
        if select.halving:
            refuse([*searched, of_trials, by_axis], LENGTHS, "is what halving sets, which would replace it")


def _refuse(
    document: Document, scale: str, sets: Iterable[tuple[Place, Iterable[str]]], replacing: Container[str], why: str
) -> None:
    for place, overrides in sets:
        if key := next((key for key in overrides if key in replacing), None):
            raise document.error(f"{key} {why}", *document.laid(scale, *place, key))


def check_lengths(document: Document, scale: str, file: ExperimentFile, own: AtScale) -> None:
    """Raise UserError where steps would replace the epochs that an arm, or what is searched, has at a scale."""
    for arm in file.arms:
        layers = [
            ((*top, *place), given)
            for top, part in (((), file), (("scales", scale), own))
            for place, given in (
                (("common",), part.common),
                (("arms", arm), part.arms.get(arm, {})),
                (("grid",), part.grid),
            )
        ]
        _check_length(document, [*layers, *_of_trials(scale, file, own)])


def _of_trials(scale: str, file: ExperimentFile, own: AtScale) -> Iterator[tuple[Place, Mapping[str, object]]]:
    """Yield what trials have over every arm at a scale, and what is searched, each with the place where it stands."""
    for part in ("common", "search"):
        if own.select and (given := getattr(own.select, part)):
            yield ("scales", scale, "select", part), given
        elif file.select:
            yield ("select", part), getattr(file.select, part)


def _check_length(document: Document, layers: Iterable[tuple[Place, Mapping[str, object]]]) -> None:
    """Raise UserError for epochs beside steps, or laid over them, and for evaluations that are said in two ways so.

    Args:
        layers: what is set for a run and where, each laid over those before it.
    """
    set_so_far: dict[str, object] = {}
    for place, given in layers:
        set_so_far |= given
        for key, other in REPLACED.items():
            if set_so_far.get(other) is not None and given.get(key) is not None:
                raise document.error(f"{other} is given, too, and would replace it; give one of the two", *place, key)


def check_unread(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a printed number that no column of the table is about."""
    table = experiment.table
    columns = [look.key for look in table.looks]
    for i, entry in enumerate(experiment.published):
        if table.metric and entry.metric != table.metric:
            raise document.error(f"metric={entry.metric} is not that of the table, {table.metric}", "published", i)
        if not table.metric and entry.key not in columns:
            raise document.error("no column of the table is read off there, so nothing shows it", "published", i)


def check_axes_of_names(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a figure with a logarithm, a window or a line along an axis of the grid that has names."""
    for i, figure in enumerate(experiment.figures):
        if not isinstance(figure, Against) or are_numbers(experiment.axes[figure.axis]):
            continue
        given: dict[str, Sequence[str]] = {"log": figure.log, **figure.along()}
        for key, axes in given.items():
            if "x" in axes:
                raise document.error(f"x: axis {figure.axis} has values that are no numbers", "figures", i, key)


def check_seeds_of_figures(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a figure of a seed that no run has."""
    seeds = experiment.grid["seed"]
    for i, figure in enumerate(experiment.figures):
        if (seed := getattr(figure, "seed", None)) is not None and seed not in seeds:
            there = ", ".join(map(str, seeds))
            raise document.error(f"{seed} is no seed of the grid; allowed: {there}", "figures", i, "seed")
