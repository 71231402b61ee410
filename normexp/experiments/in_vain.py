"""What an experiment says in vain, since nothing shows it or something else replaces it: refused before it runs."""

from __future__ import annotations

from normexp.experiments.clashes import read_off
from normexp.experiments.document import Document
from normexp.experiments.experiment import Experiment


def check_replaced(experiment: Experiment, document: Document) -> None:
    """Raise UserError for an override that what is chosen, or the points of the trials, would replace."""
    if (select := experiment.select) is None:
        return
    sets = [(experiment.common, ("common",)), *((own, ("arms", arm)) for arm, own in experiment.arms.items())]
    for overrides, place in [*sets, (select.common, ("select", "common"))]:
        if key := next((key for key in overrides if key in select.search), None):
            raise document.error(f"{key} is searched, and what is chosen would replace it", *place, key)
    of_trials = ("seed", *select.per)
    if key := next((key for key in select.common if key in of_trials), None):
        raise document.error(f"{key} varies between the trials, which would replace it", "select", "common", key)


def check_unread(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a printed number that no column of the table is about."""
    table = experiment.table
    columns = [read_off(look) for look in table.looks]
    for i, entry in enumerate(experiment.published):
        if table.metric and entry.metric != table.metric:
            raise document.error(f"metric={entry.metric} is not that of the table, {table.metric}", "published", i)
        if not table.metric and read_off(entry) not in columns:
            raise document.error("no column of the table is read off there, so nothing shows it", "published", i)


def check_seeds_of_figures(experiment: Experiment, document: Document) -> None:
    """Raise UserError for a figure of a seed that no run has."""
    seeds = experiment.grid["seed"]
    for i, figure in enumerate(experiment.figures):
        if (seed := getattr(figure, "seed", None)) is not None and seed not in seeds:
            there = ", ".join(map(str, seeds))
            raise document.error(f"{seed} is no seed of the grid; allowed: {there}", "figures", i, "seed")
