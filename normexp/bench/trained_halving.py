"""A halving as it was trained, beside two full grids of its arms: one of its last rung's length, one of whole runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normexp.errors import UserError
from normexp.evidence.rounding import with_interval
from normexp.evidence.stats import TTest
from normexp.experiments.experiment import Experiment, Point, run_place
from normexp.experiments.grids import Selection
from normexp.experiments.load import load
from normexp.experiments.noise import within_noise
from normexp.experiments.selection import read_selection
from normexp.experiments.trials import Trial, combinations, goodness
from normexp.records import METRICS, RunDirectory, final_score, mean_score

HALVED, SHORT, THIRD, WHOLE = "which_norm", "which_norm_rates", "which_norm_third_rates", "which_norm_whole_rates"
WARM = "which_norm_third_warmup"  # for a third of the steps, warmed up for as many as whole runs
FURTHER = "which_norm_one_rate"  # whole runs with seeds that chose nothing, of some schemes at two rates
RATE = "optim.lr"
SCALE = "desk"
KEPT: tuple[int, ...] = (1, 2, 3)  # of the trials of the first rung

Grid = Mapping[str, Sequence[Trial]]  # arm -> a trial of every combination


@dataclass(frozen=True)
class Rungs:
    """Two rungs as they were trained.

    Args:
        steps: of the first and the last.
        first: a trial of every combination, for the steps of the first.
        last: likewise for those of the last; of every combination that may come so far.
        kept: how many trials go on, in a row each.
    """

    steps: tuple[int, int]
    first: Grid
    last: Grid
    kept: Sequence[int]


def rows(results: Path, known: Grid) -> Iterator[list[str]]:
    """Yield what two rungs choose, beside the full grids; a row per number of trials that go on from the first.

    Args:
        known: whole runs with further seeds, which tell what noise is beside a grid of whole runs.
    """
    halved, whole = load(HALVED, SCALE), load(WHOLE, SCALE)
    select = halved.select
    assert select is not None
    every = len(combinations(select))
    for name, rungs, grid, length in _beside(halved, whole, select, results):
        for keep in rungs.kept:
            chosen = {arm: _chosen(rungs, arm, keep, select) for arm in halved.arms}
            budgets, going = _design(rungs.steps, keep, every)
            spent = sum(trials * budget for trials, budget in zip([every, *going], budgets, strict=True))
            share = f"{spent / (every * length):.2f}"
            beside = {} if name == HALVED else known
            yield [name, design_in_words(budgets, going), share, *_counts(chosen, grid, beside, whole, select)]


def _beside(
    halved: Experiment, whole: Experiment, select: Selection, results: Path
) -> Iterator[tuple[str, Rungs, Grid, int]]:
    """Yield a name, the rungs, the grid they are set beside, and the steps of its runs.

    Beside whole runs every trial of the second rung may have gone on, and it may itself be the first rung: of a third
    of a whole run, for some or all, or of whole ones. Those of a third were trained twice, with two lengths of warm-up.
    """
    assert select.halving is not None
    start, end = select.halving.steps
    tried = read_selection(halved, results)["tried"]
    first = {arm: [trial for trial in tried[arm] if trial["steps"] == start] for arm in halved.arms}
    (short, _), (third, third_steps), (warm, _), (ends, length) = (
        _grid_and_steps(grid, results, select.metric)
        for grid in (*(load(each, SCALE) for each in (SHORT, THIRD, WARM)), whole)
    )
    name, every = f"{HALVED}, whole runs", len(combinations(select))
    yield HALVED, Rungs((start, end), first, short, KEPT), short, end
    yield name, Rungs((start, end), first, short, (*KEPT, every)), ends, length
    yield name, Rungs((start, third_steps), first, third, (every - 1,)), ends, length
    yield name, Rungs((end, third_steps), short, third, (2, every)), ends, length
    yield f"{name}, their warm-up", Rungs((end, third_steps), short, warm, (every,)), ends, length
    yield name, Rungs((end, length), short, ends, KEPT[1:]), ends, length


def design_in_words(steps: Sequence[int], keep: Sequence[int], in_thirds: bool = False) -> str:
    """Return which trials are trained for how many steps, or thirds of a run: all for the first, some for more."""
    first, *budgets = (f"{step}/3" if in_thirds else str(step) for step in steps)
    later = (f", {count} for {budget}" for count, budget in zip(keep, budgets, strict=True))
    return f"all for {first} {'of a run' if in_thirds else 'steps'}{''.join(later)}"


def recorded(path: Path) -> RunDirectory:
    """Return a committed run. Raises: UserError where it is not there."""
    run = RunDirectory(path)
    if not run.rows(METRICS):
        raise UserError(f"bench halving: {path} is not there; it reads a checkout's own records")
    return run


def _grid_and_steps(grid: Experiment, results: Path, metric: str) -> tuple[Grid, int]:
    """Return the trials of a full grid, and the steps of one, which are those of all."""
    arms, points = list(grid.arms), grid.points()
    steps = recorded(run_place(results, grid, arms[0], points[0])).status["steps"]
    return {arm: [_trial(grid, arm, point, results, metric) for point in points] for arm in arms}, int(steps)


def _trial(grid: Experiment, arm: str, point: Point, results: Path, metric: str) -> Trial:
    """Return a run as a trial of one score; its values are all of its point but the seed."""
    score = final_score(recorded(run_place(results, grid, arm, point)), metric)
    return {"values": {key: value for key, value in point if key != "seed"}, "scores": [score], "mean": score}


def _design(steps: Sequence[int], keep: int, every: int) -> tuple[list[int], list[int]]:
    """Return the steps of the rungs, and how many go on; where all would, none are trained for fewer steps."""
    if keep == every:
        return [steps[1]], []
    return ([*steps], [keep]) if keep > 1 else ([steps[0]], [])


def _chosen(rungs: Rungs, arm: str, keep: int, select: Selection) -> dict[str, Any]:
    """Return the values that are best after the last rung among those that are best after the first."""
    going = [trial["values"] for trial in sorted(rungs.first[arm], key=lambda trial: -goodness(trial, select))[:keep]]
    return _best((trial for trial in rungs.last[arm] if trial["values"] in going), select)["values"]


def _best(trials: Iterable[Trial], select: Selection) -> Trial:
    return max(trials, key=lambda trial: goodness(trial, select))


def further(results: Path) -> Grid:
    """Return whole runs with further seeds, of every arm at the rates that have some."""
    experiment, halved = load(FURTHER, SCALE), load(HALVED, SCALE)
    assert halved.select is not None
    found = {arm: list[Trial]() for arm in halved.arms}
    for name, own in experiment.arms.items():
        places = (run_place(results, experiment, name, point) for point in experiment.points())
        scores = [final_score(recorded(place), halved.select.metric) for place in places]
        values = {RATE: {**experiment.common, **own}[RATE]}
        found[name.split(" at ")[0]].append({"values": values, "scores": scores, "mean": mean_score(scores)})
    return found


def differences(known: Grid) -> str:
    """Return by how many points held-out accuracy of whole runs is apart at two rates: `layer 3.3 [-0.2, 6.7], ...`.

    With 95 % intervals over the further seeds, of every arm that has them; at the higher rate minus at the lower.
    """
    by_rate = {arm: sorted(trials, key=lambda trial: trial["values"][RATE]) for arm, trials in known.items()}
    apart = []
    for arm, (low, high) in ((arm, trials) for arm, trials in by_rate.items() if len(trials) == 2):
        scores = zip(low["scores"], high["scores"], strict=True)
        test = TTest(tuple(100 * (at_high - at_low) for at_low, at_high in scores))
        interval = test.confidence_interval()
        apart.append(f"{arm} {with_interval(test.value, interval.low, interval.high, sign=False)}")
    return ", ".join(apart)


def _counts(
    chosen: Mapping[str, dict[str, Any]], grid: Grid, known: Grid, experiment: Experiment, select: Selection
) -> list[str]:
    """Return of how many choices how many are the grid's, and how many of the others are within noise of them.

    What noise is further seeds tell, where both have some: the seed that chose is not asked whether it was right.
    """
    best = {arm: _best(grid[arm], select)["values"] for arm in chosen}
    others = [arm for arm in chosen if chosen[arm] != best[arm]]
    near = 0
    for arm in others:
        two = (best[arm], chosen[arm])
        first, second = _of(known.get(arm, ()), two) or _of(grid[arm], two)
        near += within_noise(first, second, experiment, select)
    return [str(len(chosen)), str(len(chosen) - len(others)), f"{near} of {len(others)}"]


def _of(trials: Sequence[Trial], values: Sequence[Mapping[str, Any]]) -> list[Trial]:
    """Return the trials that have these values, in their order; none where one is missing."""
    found = [trial for each in values for trial in trials if trial["values"] == each]
    return found if len(found) == len(values) else []
