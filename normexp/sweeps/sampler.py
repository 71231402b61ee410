"""`sampler=tpe trials=20`: values of a sweep's intervals by one of Optuna's samplers, trial by trial.

Keys with `interval(LOW,HIGH)`, `int(interval(LOW,HIGH))` or `tag(log,interval(LOW,HIGH))` are the space; a trial's
score is the mean over the seeds; every combination of the other values is an arm with a study of its own. A trial's
runs are ordinary runs; what was scored stands in RESULTS/optuna.journal (`normexp/sweeps/history.py`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from normexp.config import compose
from normexp.config.extras import need_extra
from normexp.config.grid import expand
from normexp.config.intervals import EXAMPLE, Interval, interval, is_interval
from normexp.config.overrides import parse_overrides, take_out
from normexp.config.recipe import with_recipe
from normexp.errors import UserError, unknown
from normexp.evidence.curves import MEASURES
from normexp.records import METRICS, RunDirectory
from normexp.sweeps.history import SAMPLERS, History, Search
from normexp.sweeps.plan import Plan, Trial, check_varied, make_plan

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
        if given and not (given[-1].isdecimal() and len(given[-1]) < 10 and int(given[-1]) >= least):
            raise UserError(f"{key}={given[-1]}: must be an integer in [{least}, inf)")
        numbers[key] = int(given[-1]) if given else usual
    if not samplers:
        return None, rest
    if samplers[-1] not in SAMPLERS:
        raise unknown("sampler", samplers[-1], SAMPLERS)
    need_extra("sampler", samplers[-1], "optuna")
    return Search(samplers[-1], **numbers), rest


def search_through(
    search: Search, overrides: Sequence[str], train: Callable[[Plan, Plan], int], dry_run: bool
) -> tuple[int, Plan]:
    """Train trial after trial, of all arms side by side; return the exit status and the plan of all runs.

    Args:
        train: trains a plan and returns its exit status; is given the plan of a trial, and that of all runs so far.
        dry_run: the first trial alone is shown to `train`.

    Raises: UserError for a space that there is not, for values that are not allowed, and without a validation split.
    """
    studies, plans, counted = _studies(search, overrides), list[Plan](), False
    for number in range(1 if dry_run else search.trials):
        drawn = [study.draw(number) for study in studies]
        made = [_planned(study, words) for study, words in zip(studies, drawn, strict=True)]
        plans += made
        trial = _joined(made)
        for note in trial.recipes if number == 0 else ():
            logger.info(note)
        logger.info(f"trial {number + 1} of {search.trials}, sampler={search.sampler}")
        trials, counted = 0 if counted else search.trials - number, counted or bool(trial.open)
        at = Trial(number + 1, search.trials, (search.trials - number - 1) * len(trial.cells))
        if (status := train(replace(trial, recipes=(), trials=trials), replace(_joined(plans), trial=at))) or dry_run:
            return status, _joined(plans)
        for study, words, plan in zip(studies, drawn, made, strict=True):
            study.tell(number, words, plan)
    return 0, _joined(plans)


def _planned(study: Study, words: Sequence[str]) -> Plan:
    """Return the plan of one trial of an arm; its runs are called by the values that were drawn, too."""
    plan = make_plan([*study.words, *words])
    return replace(plan, names={path: " ".join([*words, *[name] * bool(name)]) for path, name in plan.names.items()})


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
    studies = [Study(search, space, tuple(arm), tuple(seeds)) for arm in arms]
    check_varied(overrides)
    return studies


@dataclass
class Study:
    """The trials of one arm.

    Args:
        arm, seeds: the words of its runs; a trial's score is the mean over the seeds.
    """

    search: Search
    space: dict[str, Interval]
    arm: tuple[str, ...]
    seeds: tuple[str, ...]

    def __post_init__(self) -> None:
        """Compose a run at either end of the space: what is not allowed there is found before anything runs."""
        for end in ("low", "high"):
            ends = [f"{key}={getattr(each, end)}" for key, each in self.space.items()]
            for config in (compose(with_recipe(words)) for words in expand([*self.words, *ends])):
                if config["dataset"].get("validation") == 0 or config.choices["study"] != "none":
                    raise UserError(f"sampler={self.search.sampler}: {config.title}: has no validation split")
                self.results = Path(config["results_dir"])

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

    def tell(self, number: int, words: Sequence[str], plan: Plan) -> None:
        """Record the score of a trial whose runs have ended; one in which a run diverged is worse than all others."""
        metric, score = _score(plan)
        shown = "diverged" if score is None else f"{score:.6g}"
        logger.info(f"{plan.cells[0].config.title}, {' '.join(words)}: {metric} {shown}")
        texts = dict(word.split("=", 1) for word in words)
        values = {key: int(texts[key]) if each.whole else float(texts[key]) for key, each in self.space.items()}
        runs = [cell.path.relative_to(plan.results) for cell in plan.cells]
        self.history.tell(number, values, metric, score, runs)


def _score(plan: Plan) -> tuple[str, float | None]:
    """Return which metric of the validation split counts, and its mean over the runs; None where one diverged."""
    directories = [RunDirectory(cell.path) for cell in plan.cells]
    last = [directory.rows(METRICS)[-1] for directory in directories]
    metric = next((name for name in MEASURES if name in last[0]), None)
    if metric is None:
        raise UserError(f"{directories[0].path}: has no {', '.join(MEASURES[:-1])} or {MEASURES[-1]}")
    values = [float(row[metric] or "nan") for row in last]
    diverged = any(directory.status["status"] == "diverged" for directory in directories)
    return metric, None if diverged or not all(map(math.isfinite, values)) else sum(values) / len(values)
