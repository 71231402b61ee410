"""Successive halving: all combinations train for few steps, those that do best for more, the last few for the most.

Every rung trains afresh, so that schedules that look at the length of a run fit it, with the same seeds for all:
what is compared starts from the same weights and sees the same batches. Which combinations survive a rung follows
from its records alone, so the same command goes on where it was stopped. Without `halving` there is one rung, the grid.
Source: Jamieson & Talwalkar 2016, arXiv:1502.07943. Differs: budgets and survivors are declared, and runs of
a rung do not continue those of the one before.

`ties` is one rung more: where the best two of the last one lie within noise, these train with further seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from normexp.experiments.experiment import Point
from normexp.experiments.noise import within_noise
from normexp.experiments.sampling import drawn
from normexp.experiments.trials import STEPS, Choosing, Trial, Values, combinations, points, ranked, trials

if TYPE_CHECKING:
    from normexp.experiments.grids import Selection


def rungs(select: Selection) -> int:
    """Return in how many stages it is chosen; each trial of a sampler is one, and so are the further seeds of ties."""
    if select.sampler:
        return select.sampler.trials
    return (len(select.halving.steps) if select.halving else 1) + bool(select.ties)


def breaks_ties(select: Selection, rung: int) -> bool:
    """Tell whether a rung has the further seeds of ties."""
    return bool(select.ties) and rung == rungs(select) - 1


def budget(select: Selection, rung: int) -> int | None:
    """Return the steps of a rung's runs; None where they have those of the experiment."""
    if select.halving is None:
        return None
    return select.halving.steps[-1 if breaks_ties(select, rung) else rung]


def survivors(choosing: Choosing, rung: int) -> list[Values]:
    """Return the combinations that a rung compares, the best of the one before, whose runs are needed.

    None go on to the further seeds where the best two do not lie within noise.
    """
    select = choosing.select
    if select.sampler:
        return [drawn(choosing, rung)]
    if rung == 0:
        return combinations(select)
    order = ranked(choosing, trials_of(choosing, rung - 1))
    return [trial["values"] for trial in order[: _kept(choosing, rung, order)]]


def _kept(choosing: Choosing, rung: int, order: list[Trial]) -> int:
    """Return how many of the combinations of the rung before, the best first, go on."""
    select = choosing.select
    if breaks_ties(select, rung):
        return 2 if len(order) > 1 and within_noise(order[0], order[1], choosing.experiment, select) else 0
    assert select.halving is not None  # there are several rungs
    return select.halving.keep[rung - 1]


def trials_of(choosing: Choosing, rung: int) -> list[Trial]:
    """Return what the runs of a rung scored; with the further seeds of ties what those before them scored as well."""
    select = choosing.select
    seeds = [*select.seeds, *select.ties] if breaks_ties(select, rung) else None
    return trials(choosing, survivors(choosing, rung), budget(select, rung), seeds)


def rung_points(choosing: Choosing, rung: int) -> Iterator[Point]:
    """Yield the points of a rung's runs."""
    select = choosing.select
    seeds = select.ties if breaks_ties(select, rung) else select.seeds
    for values in survivors(choosing, rung):
        yield from (choosing.at + point for point in points(select, values, budget(select, rung), seeds))


def last_rung(tried: list[Trial]) -> list[Trial]:
    """Return the trials among which the choice is made: of the most steps, and of these those with the most seeds."""
    most = max(map(_length, tried), default=(0, 0))
    return [trial for trial in tried if _length(trial) == most]


def _length(trial: Trial) -> tuple[int, int]:
    return trial.get(STEPS, 0), len(trial["scores"])


def share_of_grid(select: Selection) -> float:
    """Return the steps that all rungs train, as a share of those of the full grid at the last rung's length.

    Further seeds count in neither: they would be those of the full grid as well.
    """
    if select.halving is None:
        return 1.0
    sizes = [len(combinations(select)), *select.halving.keep]
    trained = sum(size * steps for size, steps in zip(sizes, select.halving.steps, strict=True))
    return trained / (sizes[0] * select.halving.steps[-1])
