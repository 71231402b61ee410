"""Trials of a selection: what its runs scored, combination by combination, and which is best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.config.intervals import read_interval
from normexp.config.text import is_number
from normexp.evidence.metrics import cost_sign
from normexp.evidence.ranking import Rank, loss_beside, rank_of
from normexp.evidence.stats import without_last_bits
from normexp.experiments.experiment import Experiment, Point, product, run_place
from normexp.records import METRICS, RunDirectory, final_score, mean_score

if TYPE_CHECKING:
    from normexp.experiments.grids import Selection

STEPS = "steps"
SEEDS = "seeds"
# values, scores (one per seed, None: diverged or not finite), mean; steps, where they vary; seeds, where there are more
Trial = dict[str, Any]
Values = dict[str, Any]  # of one combination


def combinations(select: Selection) -> list[Values]:
    """Return every combination of the values searched, the first key varying slowest; of intervals, their ends."""
    if select.sampler is None:
        return [dict(point) for point in product(select.search)]
    ends = {key: read_interval(key, text) for key, text in select.search.items()}
    return [{key: each.low for key, each in ends.items()}, {key: each.high for key, each in ends.items()}]


def points(
    select: Selection, values: Mapping[str, Any], steps: int | None = None, seeds: Sequence[int] | None = None
) -> list[Point]:
    """Return the points of a combination's runs, one per seed, those of the selection where no others are given."""
    budget = () if steps is None else ((STEPS, steps),)
    return [(*values.items(), ("seed", seed), *budget) for seed in seeds or select.seeds]


@dataclass(frozen=True)
class Choosing:
    """One choice of hyperparameters, of an experiment that makes some.

    Args:
        at: the point of the axes of select.per.
    """

    experiment: Experiment
    results: Path
    arm: str
    at: Point = ()

    @property
    def select(self) -> Selection:
        assert self.experiment.select is not None
        return self.experiment.select

    def runs(
        self, values: Mapping[str, Any], steps: int | None = None, seeds: Sequence[int] | None = None
    ) -> list[Path]:
        """Return the run directories of a combination, one per seed."""
        found = (self.at + point for point in points(self.select, values, steps, seeds))
        return list(map(self.place, found))

    def place(self, point: Point) -> Path:
        """Return the run directory of a trial; of select.per its point has the axes, too."""
        return run_place(self.results, self.experiment, self.arm, point, "select")


def choosings(experiment: Experiment, results: Path, arms: Sequence[str]) -> dict[str, Choosing]:
    """Return {name: choice} for all that is chosen by itself for these arms."""
    return {name: Choosing(experiment, results, arm, at) for name, (arm, at) in experiment.choices(arms).items()}


def trials(
    choosing: Choosing, compared: Sequence[Values], steps: int | None = None, seeds: Sequence[int] | None = None
) -> list[Trial]:
    """Return combinations with their scores per seed and their mean: None where one has no finite score.

    Args:
        steps, seeds: of the runs, where they are not those of all.
    """
    own = {key: given for key, given in ((STEPS, steps), (SEEDS, seeds)) if given is not None}
    found = []
    for values in compared:
        runs = map(RunDirectory, choosing.runs(values, steps, seeds))
        scores = [final_score(run, choosing.select.metric) for run in runs]
        found.append({"values": values, **own, "scores": scores, "mean": mean_score(scores)})
    return found


def ranked(choosing: Choosing, tried: Sequence[Trial]) -> list[Trial]:
    """Return the trials, the best first, as `rank_of` orders them."""
    select = choosing.select

    def rank_key(trial: Trial) -> Rank:
        values = [_order(value, select.search[key]) for key, value in trial["values"].items()]
        return rank_of(-goodness(trial, select), _loss(choosing, trial), values)

    return sorted(tried, key=rank_key)


def _loss(choosing: Choosing, trial: Trial) -> float:
    """Return a trial's mean loss on the split of the selection's metric; inf where it is not recorded."""
    metric = loss_beside(choosing.select.metric)
    runs = map(RunDirectory, choosing.runs(trial["values"], trial.get(STEPS), trial.get(SEEDS)))
    mean = mean_score([final_score(run, metric) if _has(run, metric) else None for run in runs])
    return math.inf if mean is None else mean


def _has(run: RunDirectory, metric: str) -> bool:
    rows = run.rows(METRICS)
    return bool(rows) and metric in rows[0]


def best(tried: Sequence[Trial], select: Selection) -> list[Trial]:
    """Return the trials with the best mean; none where none has a score."""
    most = max(goodness(trial, select) for trial in tried)
    return [trial for trial in tried if goodness(trial, select) == most] if most > -math.inf else []


def goodness(trial: Trial, select: Selection) -> float:
    """Return the mean score without its last bits, larger for the better; -inf where there is none."""
    if trial["mean"] is None:
        return -math.inf
    return -cost_sign(select.metric) * without_last_bits(trial["mean"])


def _order(value: Any, searched: Sequence[Any]) -> float:
    """Return a number by its size, anything else by its position in the grid."""
    return float(value) if is_number(value) else float(searched.index(value))
