"""`select.sampler`: one of Optuna's samplers draws combinations from intervals, each in view of the scores before it.

Every trial is a rung of its own, of one combination, and its runs are those of any selection. What was drawn and scored
stands in results/NAME/SCALE/optuna.journal, a study for each choice, so that the same command goes on with the same
trials wherever it was stopped; all are recorded in chosen.json as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from normexp.config.extras import need_extra
from normexp.config.intervals import read_interval
from normexp.evidence.curves import Cell
from normexp.experiments.experiment import Experiment, Point, run_place
from normexp.experiments.trials import Values, points, trials
from normexp.sweeps.history import History, Search


def drawn(experiment: Experiment, results: Path, arm: str, at: Point, number: int) -> Values:
    """Return the combination of a trial; those before it have been scored. Raises UserError without Optuna."""
    return history(experiment, results, arm, at).draw(number)


def score(experiment: Experiment, results: Path, arms: Sequence[str], number: int) -> None:
    """Record what the runs of a trial scored, once."""
    select = experiment.select
    assert select is not None
    for arm, at in experiment.choices(arms).values():
        values = drawn(experiment, results, arm, at, number)
        (trial,) = trials(experiment, results, arm, at, [values])
        places = [run_place(results, experiment, arm, at + point, "select") for point in points(select, values)]
        runs = [place.relative_to(results) for place in places]
        history(experiment, results, arm, at).tell(number, values, select.metric, trial["mean"], runs)


def is_scored(experiment: Experiment, results: Path, arms: Sequence[str], number: int) -> bool:
    """Tell whether a trial of every choice has been scored, so that the next one can be drawn."""
    return all(
        len(history(experiment, results, arm, at).told()) > number for arm, at in experiment.choices(arms).values()
    )


def history(experiment: Experiment, results: Path, arm: str, at: Point) -> History:
    """Return the trials of one choice."""
    select = experiment.select
    assert select is not None
    assert select.sampler is not None
    sampler = select.sampler
    need_extra("sampler", sampler.name, "optuna")
    space = {key: read_interval(key, str(text)) for key, text in select.search.items()}
    about = f"{Cell(arm, at)}, seeds {select.seeds}, {select.metric}"
    folder = results / experiment.name / experiment.scale
    return History(Search(sampler.name, sampler.trials, sampler.seed), space, folder, about)
