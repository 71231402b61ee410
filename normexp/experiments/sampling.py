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
from normexp.experiments.experiment import Experiment
from normexp.experiments.trials import Choosing, Values, choosings, trials
from normexp.sweeps.history import History, Search


def drawn(choosing: Choosing, number: int) -> Values:
    """Return the combination of a trial; those before it have been scored. Raises UserError without Optuna."""
    return history(choosing).draw(number)


def score(experiment: Experiment, results: Path, arms: Sequence[str], number: int) -> None:
    """Record what the runs of a trial scored, once."""
    for choosing in choosings(experiment, results, arms).values():
        values = drawn(choosing, number)
        (trial,) = trials(choosing, [values])
        runs = [run.relative_to(results) for run in choosing.runs(values)]
        history(choosing).tell(number, values, choosing.select.metric, trial["mean"], runs)


def is_scored(experiment: Experiment, results: Path, arms: Sequence[str], number: int) -> bool:
    """Tell whether a trial of every choice has been scored, so that the next one can be drawn."""
    return all(number in history(each).scored() for each in choosings(experiment, results, arms).values())


def history(choosing: Choosing) -> History:
    """Return the trials of one choice."""
    select, sampler = choosing.select, choosing.select.sampler
    assert sampler is not None
    need_extra("sampler", sampler.name, "optuna")
    space = {key: read_interval(key, str(text)) for key, text in select.search.items()}
    about = f"{Cell(choosing.arm, choosing.at)}, seeds {select.seeds}, {select.metric}"
    folder = choosing.experiment.folder(choosing.results)
    return History(Search(sampler.name, sampler.trials, sampler.seed), space, folder, about)
