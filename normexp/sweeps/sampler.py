"""`sampler=tpe trials=20`: values of a sweep's intervals by one of Optuna's samplers, trial by trial.

Keys with `interval(LOW,HIGH)`, `int(interval(LOW,HIGH))` or `tag(log,interval(LOW,HIGH))` are the space; a trial's
score is the mean over the seeds; every combination of the other values is an arm with a study of its own. A trial's
runs are ordinary runs. What was scored stands in RESULTS/optuna.journal, Optuna's own storage, and nothing else does:
each trial draws from a generator that follows from `sampler_seed` and its number, so that the same command goes on with
the same trials wherever it was stopped.

Source: Bergstra et al. 2011, "Algorithms for hyper-parameter optimization", section 4, for tpe.
"""

from __future__ import annotations

import logging
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.config import compose
from normexp.config.extras import need_extra
from normexp.config.grid import expand
from normexp.config.options import groups
from normexp.config.overrides import parse_overrides, take_out
from normexp.config.recipe import with_recipe
from normexp.errors import UserError, unknown
from normexp.evidence.curves import MEASURES, better_direction
from normexp.records import METRICS, RunDirectory
from normexp.records.locks import locked
from normexp.sweeps.plan import Plan, make_plan

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

SAMPLERS = {"tpe": "TPESampler", "random": "RandomSampler"}
WORDS = {"trials": (20, 1), "sampler_seed": (0, 0)}  # the usual number, and the least
DIGITS = 4  # of a number that is drawn: it stands in a command, and in the name of a run
FILE = "optuna.journal"
Space = dict[str, Any]  # key -> Optuna's distribution
logger = logging.getLogger("normexp")


@dataclass(frozen=True)
class Search:
    """How values are drawn: by which sampler, in how many trials, with which seed."""

    sampler: str
    trials: int
    sampler_seed: int


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
    search: Search, overrides: Sequence[str], train: Callable[[Plan], int], dry_run: bool
) -> tuple[int, Plan]:
    """Train trial after trial, of all arms side by side; return the exit status and the plan of all runs.

    Args:
        train: trains a plan and returns its exit status.
        dry_run: the first trial alone is shown to `train`.

    Raises: UserError for a space that there is not, for values that are not allowed, and without a validation split.
    """
    studies, plans = _studies(search, overrides), list[Plan]()
    for number in range(1 if dry_run else search.trials):
        drawn = [study.draw(number) for study in studies]
        made = [make_plan([*study.words, *words]) for study, words in zip(studies, drawn, strict=True)]
        plans += made
        logger.info(f"trial {number + 1} of {search.trials}, sampler={search.sampler}")
        if (status := train(_joined(made))) or dry_run:
            return status, _joined(plans)
        for study, words, plan in zip(studies, drawn, made, strict=True):
            study.tell(number, words, plan)
    return 0, _joined(plans)


def _joined(plans: Sequence[Plan]) -> Plan:
    cells = {cell.path: cell for plan in plans for cell in plan.cells}
    names = {path: name for plan in plans for path, name in plan.names.items()}
    return Plan(list(cells.values()), [], plans[0].results, names, plans[0].recipes)


def _studies(search: Search, overrides: Sequence[str]) -> list[Study]:
    from optuna import logging as its_own
    from optuna.distributions import FloatDistribution, IntDistribution

    its_own.set_verbosity(its_own.WARNING)
    intervals = [each for each in parse_overrides(overrides) if each.is_sweep_override() and each.is_interval_sweep()]
    space: Space = {}
    for override in intervals:
        interval: Any = override.value()
        if override.key_or_group in groups():
            raise UserError(f"{override.input_line}: {override.key_or_group} has options, an interval is of numbers")
        whole = isinstance(interval.start, int) and isinstance(interval.end, int)
        kind = IntDistribution if whole else FloatDistribution
        try:
            space[str(override.key_or_group)] = kind(interval.start, interval.end, log="log" in interval.tags)
        except ValueError as error:
            raise UserError(f"{override.input_line}: {str(error).rstrip('.')}") from None
    if not space:
        raise UserError(
            f"sampler={search.sampler}: no key has an interval; for example 'optim.lr=tag(log,interval(0.001,1))'"
        )
    typed = {override.input_line for override in intervals}
    rest = [word for word in overrides if word not in typed]
    seeds = [word for word in rest if word.startswith("seed=")]
    arms = expand([word for word in rest if word not in seeds])
    return [Study(search, space, tuple(arm), tuple(seeds)) for arm in arms]


@dataclass
class Study:
    """The trials of one arm.

    Args:
        arm, seeds: the words of its runs; a trial's score is the mean over the seeds.
    """

    search: Search
    space: Space
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

    @property
    def name(self) -> str:
        """All that decides which trials there are, but for their number."""
        elsewhere = [word for word in self.words if not word.startswith("results_dir=")]
        space = [f"{key} in {each}" for key, each in self.space.items()]
        return "; ".join([" ".join(elsewhere), *space, f"{self.search.sampler}, {self.search.sampler_seed}"])

    def told(self) -> list[FrozenTrial]:
        """Return the trials that were scored. Raises UserError where the storage is damaged."""
        if not (self.results / FILE).exists():
            return []
        try:
            storage = self._storage()
            studies = {study.study_name: study for study in storage.get_all_studies()}
            return storage.get_all_trials(studies[self.name]._study_id) if self.name in studies else []
        except Exception:  # whatever a damaged line makes of its reader
            again = "delete it, the same command scores the runs again"
            raise UserError(f"{self.results / FILE}: damaged; {again}") from None

    def draw(self, number: int) -> list[str]:
        """Return the words of trial `number`: as it was recorded, else drawn in view of those before it."""
        told = self.told()
        values = told[number].params if number < len(told) else self._drawn(number, told)
        return [f"{key}={values[key]}" for key in self.space]

    def _drawn(self, number: int, told: Sequence[FrozenTrial]) -> dict[str, Any]:
        import optuna

        seed = zlib.crc32(f"{self.search.sampler_seed} {number}".encode())
        sampler = getattr(optuna.samplers, SAMPLERS[self.search.sampler])(seed=seed)
        direction = better_direction(told[0].user_attrs["metric"]) if told else None
        study = optuna.create_study(sampler=sampler, direction=_direction(direction))
        study.add_trials(told)
        drawn = study.ask(self.space).params
        return {key: _rounded(value, self.space[key]) for key, value in drawn.items()}

    def tell(self, number: int, words: Sequence[str], plan: Plan) -> None:
        """Record the score of a trial whose runs have ended; one in which a run diverged is worse than all others."""
        from optuna import create_study
        from optuna.trial import TrialState, create_trial

        metric, score = _score(plan)
        shown = "diverged" if score is None else f"{score:.6g}"
        logger.info(f"{plan.cells[0].config.title}, {' '.join(words)}: {metric} {shown}")
        kinds = {key: type(each.low) for key, each in self.space.items()}
        trial = create_trial(
            state=TrialState.PRUNED if score is None else TrialState.COMPLETE,
            value=score,
            params={key: kinds[key](word.partition("=")[2]) for key, word in zip(self.space, words, strict=True)},
            distributions=self.space,
            user_attrs={"metric": metric, "runs": [str(cell.path.relative_to(plan.results)) for cell in plan.cells]},
        )
        direction = _direction(better_direction(metric))
        if number < len(self.told()):
            return
        with locked(self.results):
            if number < len(self.told()):
                return
            storage = self._storage()
            study = create_study(study_name=self.name, storage=storage, direction=direction, load_if_exists=True)
            study.add_trial(trial)

    def _storage(self) -> Any:
        from optuna.storages import JournalStorage

        from normexp.sweeps.journal import Journal

        return JournalStorage(Journal(self.results / FILE))


def _direction(better: str | None) -> str:
    return "maximize" if better == "higher" else "minimize"


def _rounded(value: float, within: Any) -> float:
    """Return a number of few digits inside its interval."""
    if isinstance(value, int):
        return value
    return min(max(float(f"{value:.{DIGITS}g}"), within.low), within.high)


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
