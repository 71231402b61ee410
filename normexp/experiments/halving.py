"""Successive halving: all combinations train for few steps, those that do best for more, the last few for the most.

Every rung trains afresh, so that schedules that look at the length of a run fit it, with the same seeds for all:
what is compared starts from the same weights and sees the same batches. Which combinations survive a rung follows
from its records alone, so the same command goes on where it was stopped. Without `halving` there is one rung, the grid.
Source: Jamieson & Talwalkar 2016, arXiv:1502.07943, Figure 3. Differs: budgets and survivors are declared, and runs of
a rung do not continue those of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from normexp.experiments.experiment import Point
from normexp.experiments.grids import Selection
from normexp.experiments.sampling import drawn
from normexp.experiments.trials import STEPS, Choosing, Trial, Values, combinations, losses, points, ranked, trials


def rungs(select: Selection) -> int:
    """Return in how many stages it is chosen; each trial of a sampler is one."""
    if select.sampler:
        return select.sampler.trials
    return len(select.halving.steps) if select.halving else 1


def budget(select: Selection, rung: int) -> int | None:
    """Return the steps of a rung's runs; None where they have those of the experiment."""
    return select.halving.steps[rung] if select.halving else None


def survivors(choosing: Choosing, rung: int) -> list[Values]:
    """Return the combinations that a rung compares, the best of the one before, whose runs are needed."""
    select = choosing.select
    if select.sampler:
        return [drawn(choosing, rung)]
    if rung == 0:
        return combinations(select)
    assert select.halving is not None  # there are several rungs
    tried = trials_of(choosing, rung - 1)
    order = ranked(tried, losses(choosing, tried), select)
    return [trial["values"] for trial in order[: select.halving.keep[rung - 1]]]


def trials_of(choosing: Choosing, rung: int) -> list[Trial]:
    """Return what the runs of a rung scored."""
    return trials(choosing, survivors(choosing, rung), budget(choosing.select, rung))


def rung_points(choosing: Choosing, rung: int) -> Iterator[Point]:
    """Yield the points of a rung's runs."""
    for values in survivors(choosing, rung):
        yield from (choosing.at + point for point in points(choosing.select, values, budget(choosing.select, rung)))


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
