"""The trials of a search by one of Optuna's samplers, in its own storage: drawn one by one, scored, and kept.

What was scored stands in FOLDER/optuna.journal and nothing else does: each trial draws from a generator that follows
from the sampler's seed and its number, so that the same command goes on with the same trials wherever it was stopped.

Source: Bergstra et al. 2011, "Algorithms for hyper-parameter optimization", for tpe.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normexp.config.intervals import Interval
from normexp.config.of_grids import SAMPLERS
from normexp.errors import UserError
from normexp.evidence.metrics import better_direction
from normexp.records.files import Unreadable
from normexp.records.locks import locked
from normexp.records.names import JOURNAL

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

FAILED = "FAIL"  # as Optuna calls it
NUMBER = "number"  # of a trial, where it is not how many were told before: one before it failed
DIGITS = 4  # of a number that is drawn: it stands in a command, and in the name of a run
Space = Mapping[str, Interval]


@dataclass(frozen=True)
class Search:
    """How values are drawn: by which sampler, in how many trials, with which seed."""

    sampler: str
    trials: int
    sampler_seed: int


@dataclass(frozen=True)
class History:
    """The trials of one study.

    Args:
        folder: of its storage, in which several studies may be.
        about: all besides search and space that decides which trials there are.
    """

    search: Search
    space: Space
    folder: Path
    about: str

    @property
    def name(self) -> str:
        """All that decides which trials there are, but for their number."""
        space = [f"{key} in {each}" for key, each in self._distributions().items()]
        return "; ".join([self.about, *space, f"{self.search.sampler}, {self.search.sampler_seed}"])

    def ended(self) -> dict[int, FrozenTrial]:
        """Return the trials that are recorded, by number; one that failed only until it has been scored.

        Raises: UserError where the storage is damaged, or cannot be read.
        """
        found = {trial.user_attrs.get(NUMBER, trial.number): trial for trial in self._recorded()}
        return dict(sorted(found.items()))

    def scored(self) -> dict[int, FrozenTrial]:
        """Return those of them that have not failed."""
        return {number: trial for number, trial in self.ended().items() if trial.state.name != FAILED}

    def _recorded(self) -> list[FrozenTrial]:
        """Return what the storage has of this study, in the order in which it was told."""
        if not (self.folder / JOURNAL).exists():
            return []
        try:
            storage = self._storage()
            studies = {study.study_name: study for study in storage.get_all_studies()}
            return storage.get_all_trials(studies[self.name]._study_id) if self.name in studies else []
        except Unreadable:
            raise
        except Exception:  # whatever a damaged line makes of its reader
            again = "delete it, the same command scores the runs again"
            raise UserError(f"{self.folder / JOURNAL}: damaged; {again}") from None

    def draw(self, number: int) -> dict[str, Any]:
        """Return the values of trial `number`: as it was recorded, else drawn in view of those before it."""
        ended = self.ended()
        values = ended[number].params if number in ended else self._drawn(number)
        return {key: values[key] for key in self.space}

    def _drawn(self, number: int) -> dict[str, Any]:
        import optuna

        before = [trial for other, trial in self.scored().items() if other < number]
        seed = zlib.crc32(f"{self.search.sampler_seed} {number}".encode())
        sampler = getattr(optuna.samplers, SAMPLERS[self.search.sampler])(seed=seed)
        direction = better_direction(before[0].user_attrs["metric"]) if before else None
        distributions = self._distributions()  # before the study, which would announce itself
        study = optuna.create_study(sampler=sampler, direction=_direction(direction))
        study.add_trials(before)
        drawn = study.ask(distributions).params
        return {key: _rounded(value, self.space[key]) for key, value in drawn.items()}

    def tell(
        self, number: int, values: Mapping[str, Any], metric: str, score: float | None, runs: Sequence[Path]
    ) -> None:
        """Record the score of a trial whose runs have ended, once; None is worse than all others."""
        if number not in self.scored():
            self._add(number, values, metric, score, runs, "PRUNED" if score is None else "COMPLETE")

    def tell_failed(self, number: int, values: Mapping[str, Any], runs: Sequence[Path]) -> None:
        """Record that a run of a trial failed, once.

        Not before a trial was scored: what a study's scores are is not known, and the trial is drawn alike again.
        """
        if (scored := self.scored()) and number not in self.ended():
            metric = next(iter(scored.values())).user_attrs["metric"]
            self._add(number, values, metric, None, runs, FAILED)

    def _add(
        self, number: int, values: Mapping[str, Any], metric: str, score: float | None, runs: Sequence[Path], state: str
    ) -> None:
        from optuna import create_study
        from optuna.trial import TrialState, create_trial

        direction = _direction(better_direction(metric))
        with locked(self.folder):
            if number in (self.ended() if state == FAILED else self.scored()):
                return  # another process was first
            out_of_turn = {NUMBER: number} if number != len(self._recorded()) else {}
            storage = self._storage()
            study = create_study(study_name=self.name, storage=storage, direction=direction, load_if_exists=True)
            study.add_trial(
                create_trial(
                    state=TrialState[state],
                    value=score,
                    params=dict(values),
                    distributions=self._distributions(),
                    user_attrs={"metric": metric, "runs": [str(run) for run in runs], **out_of_turn},
                )
            )

    def _distributions(self) -> dict[str, Any]:
        from optuna import logging as its_own
        from optuna.distributions import FloatDistribution, IntDistribution

        its_own.set_verbosity(its_own.WARNING)
        return {
            key: (IntDistribution if each.whole else FloatDistribution)(each.low, each.high, log=each.log)
            for key, each in self.space.items()
        }

    def _storage(self) -> Any:
        from optuna.storages import JournalStorage

        from normexp.sweeps.journal import Journal

        return JournalStorage(Journal(self.folder / JOURNAL))


def _direction(better: str | None) -> str:
    return "maximize" if better == "higher" else "minimize"


def _rounded(value: float, within: Interval) -> float:
    """Return a number of few digits inside its interval."""
    if isinstance(value, int):
        return value
    return min(max(float(f"{value:.{DIGITS}g}"), within.low), within.high)
