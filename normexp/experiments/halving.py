"""Successive halving: all combinations train for few steps, those that do best for more, the last few for the most.

Every rung trains afresh, so that schedules that look at the length of a run fit it, with the same seeds for all:
what is compared starts from the same weights and sees the same batches. Which combinations survive a rung follows
from its records alone, so the same command goes on where it was stopped. Without `halving` there is one rung, the grid.
Source: Jamieson & Talwalkar 2016, arXiv:1502.07943, Figure 3. Differs: budgets and survivors are declared, and runs of
a rung do not continue those of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from normexp.experiments.experiment import Experiment, Point
from normexp.experiments.grids import Selection
from normexp.experiments.sampling import drawn
from normexp.experiments.trials import STEPS, Trial, Values, combinations, losses, points, ranked, trials


def rungs(select: Selection) -> int:
    """Return in how many stages it is chosen; each trial of a sampler is one."""
    if select.sampler:
        return select.sampler.trials
    return len(select.halving.steps) if select.halving else 1


def budget(select: Selection, rung: int) -> int | None:
    """Return the steps of a rung's runs; None where they have those of the experiment."""
    return select.halving.steps[rung] if select.halving else None


def survivors(experiment: Experiment, results: Path, arm: str, at: Point, rung: int) -> list[Values]:
    """Return the combinations that a rung compares, the best of the one before, whose runs are needed.

    Args:
        at: the point of the axes of select.per.
    """
    select = experiment.select
    assert select is not None
    if select.sampler:
        return [drawn(experiment, results, arm, at, rung)]
    if rung == 0:
        return combinations(select)
    assert select.halving is not None  # there are several rungs
    tried = trials_of(experiment, results, arm, at, rung - 1)
    order = ranked(tried, losses(experiment, results, arm, at, tried), select)
    return [trial["values"] for trial in order[: select.halving.keep[rung - 1]]]


def trials_of(experiment: Experiment, results: Path, arm: str, at: Point, rung: int) -> list[Trial]:
    """Return what the runs of a rung scored."""
    assert experiment.select is not None
    compared = survivors(experiment, results, arm, at, rung)
    return trials(experiment, results, arm, at, compared, budget(experiment.select, rung))


def rung_points(experiment: Experiment, results: Path, arm: str, at: Point, rung: int) -> Iterator[Point]:
    """Yield the points of a rung's runs."""
    select = experiment.select
    assert select is not None
    for values in survivors(experiment, results, arm, at, rung):
        yield from points(select, values, budget(select, rung))


def compared(select: Selection, by_rung: Sequence[list[Trial]]) -> list[Trial]:
    """Return the trials among which the choice is made: of a sampler all, else the last rung's."""
    return [trial for tried in by_rung for trial in tried] if select.sampler else by_rung[-1]


def last_rung(tried: list[Trial]) -> list[Trial]:
    """Return the trials that trained for the most steps, among which the choice is made."""
    most = max((trial.get(STEPS, 0) for trial in tried), default=0)
    return [trial for trial in tried if trial.get(STEPS, 0) == most]


def share_of_grid(select: Selection) -> float:
    """Return the steps that all rungs train, as a share of those of the full grid at the last rung's length."""
    if select.halving is None:
        return 1.0
    sizes = [len(combinations(select)), *select.halving.keep]
    trained = sum(size * steps for size, steps in zip(sizes, select.halving.steps, strict=True))
    return trained / (sizes[0] * select.halving.steps[-1])
