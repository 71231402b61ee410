"""`sampler=tpe trials=20`: values of a sweep's intervals by one of Optuna's samplers, trial by trial.

Keys with `interval(LOW,HIGH)`, `int(interval(LOW,HIGH))` or `tag(log,interval(LOW,HIGH))` are the space; a trial's
score is the mean over the seeds; every combination of the other values is an arm with a study of its own. A trial's
runs are ordinary runs; what was scored stands in RESULTS/optuna.journal (`normexp/sweeps/history.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from normexp.config import Config, compose
from normexp.config.extras import need_extra
from normexp.config.grid import expand
from normexp.config.intervals import EXAMPLE, Interval, interval, is_interval, whole_meant
from normexp.config.of_grids import SAMPLERS
from normexp.config.overrides import parse_overrides, take_out, whole_number
from normexp.config.recipe import with_recipe
from normexp.config.text import amount
from normexp.errors import UserError, alternatives, did_you_mean, unknown
from normexp.evidence.metrics import MEASURES
from normexp.records import FINISHED, METRICS, RunDirectory, final_score, mean_score
from normexp.sweeps.history import History, Search
from normexp.sweeps.plan import Plan, Trial, check_varied, make_plan

FAILED = "failed"  # of a run
MOST_FAILURES = 10  # trials that are named one by one
WORDS = {"trials": (20, 1), "sampler_seed": (0, 0)}  # the usual number, and the least
logger = logging.getLogger("normexp")


def take_search(words: Sequence[str]) -> tuple[Search | None, list[str]]:
    """Take `sampler=`, `trials=` and `sampler_seed=` out of the overrides. Raises UserError for what they cannot be."""
    samplers, rest = take_out(words, "sampler")
    numbers = {}
    for key, (usual, least) in WORDS.items():
        given, rest = take_out(rest, key)
        if given and not samplers:
            raise UserError(f"{key}={given[-1]}: is of a search; give sampler={' or sampler='.join(SAMPLERS)} with it")
        numbers[key] = whole_number(key, given[-1], least) if given else usual
    if not samplers:
        return None, rest
    if samplers[-1] not in SAMPLERS:
        raise unknown("sampler", samplers[-1], SAMPLERS)
    need_extra("sampler", samplers[-1], "optuna")
    return Search(samplers[-1], **numbers), rest


def search_through(
    search: Search,
    overrides: Sequence[str],
    check: Callable[[Plan], None],
    train: Callable[[Plan, Plan], int],
    dry_run: bool,
) -> tuple[int, Plan]:
    """Train trial after trial, of all arms side by side; return the exit status and the plan of all runs.

    A trial of which a run failed has no score; its arm goes on without it, and the others do not notice. Where a run
    has not even left a record of its failure (on a full disk, say) the search ends: it would not get any further.

    Args:
        check: is given, before the first trial that is to be trained, the runs at both ends of the space.
        train: trains a plan and returns its exit status; is given the plan of a trial, and that of all runs so far.
        dry_run: the first trial alone is shown to `train`.

    Raises: UserError for a space that there is not, for values that are not allowed, and without a validation split.
    """
    studies, plans, counted, failed = _studies(search, overrides), list[Plan](), False, list[str]()
    for number in range(1 if dry_run else search.trials):
        drawn = [study.draw(number) for study in studies]
        made = [study.plan(words) for study, words in zip(studies, drawn, strict=True)]
        plans += made
        trial = _joined(made)
        if trial.open and not counted:
            check(_joined([study.plan(end) for study in studies for end in study.ends()]))
        for note in trial.recipes if number == 0 else ():
            logger.info(note)
        logger.info(f"trial {number + 1} of {search.trials}, sampler={search.sampler}")
        trials = 0 if counted else search.trials - number
        counted = counted or bool(trial.open)
        at = Trial(number + 1, search.trials, (search.trials - number - 1) * len(trial.cells))
        status = train(replace(trial, recipes=(), trials=trials), replace(_joined(plans), trial=at))
        if dry_run or (status and not all(_states(plan) <= {*FINISHED, FAILED} for plan in made)):
            return status, _joined(plans)
        for study, words, plan in zip(studies, drawn, made, strict=True):
            if not study.tell(number, words, plan):
                failed.append(f"trial {number + 1}, {' '.join([*study.apart, *words])}")
    return _say_failed(failed, search.trials * len(studies)), _joined(plans)


def _say_failed(failed: Sequence[str], trials: int) -> int:
    """Name the trials that failed, of so many; return the exit status."""
    if failed:
        logger.info(f"{len(failed)} of {amount(trials, 'trial')} failed; the same command tries them again:")
    for name in failed[:MOST_FAILURES]:
        logger.info(f"failed: {name}")
    if (more := len(failed) - MOST_FAILURES) > 0:
        logger.info(f"failed: {more} more")
    return 1 if failed else 0


def _states(plan: Plan) -> set[str]:
    """Return how the runs of a trial stand now."""
    return {str(cell.directory.status["status"]) for cell in plan.cells}


def _joined(plans: Sequence[Plan]) -> Plan:
    cells = {cell.path: cell for plan in plans for cell in plan.cells}
    names = {path: name for plan in plans for path, name in plan.names.items()}
    recipes = dict.fromkeys(note for plan in plans for note in plan.recipes)
    return Plan(list(cells.values()), [], plans[0].results, names, tuple(recipes))


def _studies(search: Search, overrides: Sequence[str]) -> list[Study]:
    intervals = [each for each in parse_overrides(overrides) if is_interval(each)]
    space = {str(override.key_or_group): interval(override) for override in intervals}
    if not space:
        raise UserError(f"sampler={search.sampler}: no key has an interval; for example 'optim.lr={EXAMPLE}'")
    typed = {override.input_line for override in intervals}
    rest = [word for word in overrides if word not in typed]
    seeds = [word for word in rest if word.startswith("seed=")]
    arms = expand([word for word in rest if word not in seeds])
    common = set.intersection(*map(set, arms))
    studies = [
        Study(search, space, tuple(arm), tuple(seeds), tuple(word for word in arm if word not in common))
        for arm in arms
    ]
    check_varied(overrides)
    return studies


@dataclass
class Study:
    """The trials of one arm.

    Args:
        arm, seeds: the words of its runs; a trial's score is the mean over the seeds.
        apart: those that not all arms have.
    """

    search: Search
    space: dict[str, Interval]
    arm: tuple[str, ...]
    seeds: tuple[str, ...]
    apart: tuple[str, ...]

    def __post_init__(self) -> None:
        """Compose a run at either end of the space: what is not allowed there is found before anything runs."""
        for end in self.ends():
            for config in self._composed(end):
                if config["dataset"].get("validation") == 0 or config.choices["study"] != "none":
                    raise UserError(f"sampler={self.search.sampler}: {config.title}: has no validation split")
                self.results = Path(config["results_dir"])

    def ends(self) -> list[list[str]]:
        """Return the words at either end of the space."""
        return [[f"{key}={getattr(each, end)}" for key, each in self.space.items()] for end in ("low", "high")]

    def _composed(self, drawn: Sequence[str]) -> list[Config]:
        """Return the configurations of a trial. Raises UserError for what is not allowed, naming what was typed."""
        try:
            return [compose(with_recipe(words)) for words in expand([*self.words, *drawn])]
        except UserError:
            self._check_whole()
            raise

    def _check_whole(self) -> None:
        """Raise UserError for an interval of all numbers where whole ones alone are allowed."""
        for key, each in self.space.items():
            if whole := whole_meant(each, partial(self._takes, key)):
                meant = did_you_mean(f"'{key}={whole}'")
                raise UserError(f"{key}={each}: must be whole numbers{meant}")

    def _takes(self, key: str, value: float) -> bool:
        """Tell whether the arm may have this value of a key, whatever the others of the space are."""
        try:
            compose(with_recipe(expand([*self.words, f"{key}={value}"])[0]))
        except UserError:
            return False
        return True

    @property
    def words(self) -> tuple[str, ...]:
        return self.arm + self.seeds

    @cached_property
    def history(self) -> History:
        elsewhere = [word for word in self.words if not word.startswith("results_dir=")]
        return History(self.search, self.space, self.results, " ".join(elsewhere))

    def draw(self, number: int) -> list[str]:
        """Return the words of trial `number`."""
        return [f"{key}={value}" for key, value in self.history.draw(number).items()]

    def plan(self, drawn: Sequence[str]) -> Plan:
        """Return the plan of one trial; its runs are called by the arm and the values that were drawn, too."""
        plan = make_plan([*self.words, *drawn])
        names = {path: " ".join([*self.apart, *drawn, *[own] * bool(own)]) for path, own in plan.names.items()}
        return replace(plan, names=names)

    def tell(self, number: int, words: Sequence[str], plan: Plan) -> bool:
        """Record the score of a trial whose runs have ended; return False for one that has none, as a run failed.

        One in which a run diverged is worse than all others.
        """
        texts = dict(word.split("=", 1) for word in words)
        values = {key: int(texts[key]) if each.whole else float(texts[key]) for key, each in self.space.items()}
        runs = [cell.path.relative_to(plan.results) for cell in plan.cells]
        if FAILED in _states(plan):
            self.history.tell_failed(number, values, runs)
            return False
        metric, score = _score(plan)
        shown = "diverged" if score is None else f"{score:.6g}"
        logger.info(f"{plan.cells[0].config.title}, {' '.join([*self.apart, *words])}: {metric} {shown}")
        self.history.tell(number, values, metric, score, runs)
        return True


def _score(plan: Plan) -> tuple[str, float | None]:
    """Return which metric of the validation split counts, and its mean over the runs; None where one diverged."""
    runs = [RunDirectory(cell.path) for cell in plan.cells]
    measured = runs[0].rows(METRICS)[-1]
    metric = next((name for name in MEASURES if name in measured), None)
    if metric is None:
        raise UserError(f"{runs[0].path}: has no {alternatives(MEASURES)}")
    return metric, mean_score([final_score(run, metric) for run in runs])
