"""`normexp reproduce`: choose the hyperparameters, train what is missing; the same command continues it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from normexp.config.text import amount
from normexp.errors import UserError
from normexp.experiments.checks.names import check_arms
from normexp.experiments.checks.probed import asks_probe, check_probed
from normexp.experiments.experiment import Experiment, folder_name
from normexp.experiments.freeze import freeze, frozen_path, unfreeze
from normexp.experiments.halving import rungs
from normexp.experiments.load import document_of
from normexp.experiments.plans import Plans
from normexp.experiments.rung_words import rung_in_words
from normexp.experiments.sampling import is_scored, score
from normexp.experiments.selection import recorded_selection, undecided_choices, write_choice
from normexp.experiments.taken import forget, take
from normexp.experiments.trials import choosings
from normexp.records import FINISHED
from normexp.records.files import MOST_TEXT, read_regular
from normexp.sweeps.beforehand import check_parts
from normexp.sweeps.plan import Cell, Plan
from normexp.sweeps.stacks import check_stacks
from normexp.sweeps.submit import Sharing
from normexp.sweeps.sweep import provide_data
from normexp.sweeps.sweep import run_plan as run_cells
from normexp.sweeps.taken import NOWHERE, Elsewhere

if TYPE_CHECKING:
    from normexp.experiments.grids import Selection

logger = logging.getLogger("normexp")


@dataclass(frozen=True)
class Reproduction:
    """An experiment that is to be run at its scale.

    Args:
        arms: that are run, rows of the table.
        still_open: tells which claims the records leave open, after every look of a sequential design.
        sharing: whose workers train, and how many, of both stages.
        elsewhere: finished runs that are taken, not trained, where they have the settings of one that is new.
    """

    experiment: Experiment
    results: Path
    arms: Sequence[str]
    still_open: Callable[[], Sequence[str]]
    dry_run: bool = False
    force: bool = False
    sharing: Sharing = field(default_factory=Sharing)
    elsewhere: Elsewhere = NOWHERE

    @property
    def plans(self) -> Plans:
        return Plans(self.experiment, self.results, self.arms, self.force)

    def run(self) -> int:
        """Train what is missing; return the exit status, 0 or 1 where a run failed.

        Raises: UserError for runs that were made under other settings; Unavailable without the data; Interrupted after
            Ctrl-C; Submitted where workers elsewhere go on with it.
        """
        self.check()
        if self.experiment.select is not None and (status := self._choose()):
            return status
        if not self.dry_run:
            return self._train_stages()
        return self._train(*self._expected(), chosen=not self.plans.undecided)

    def check(self) -> None:
        """Build the parts of all runs, the choice's included, and try what their probes measure; write nothing.

        Raises: UserError for a run that would be refused, or a name that no probe measures.
        """
        probed = asks_probe(self.experiment)
        planned = (self.plans.first_trials(), self._expected()[0].cells)
        first, expected = (self.elsewhere.split(each)[1] for each in planned)
        measured = self._prepare(Plan([*first, *expected]), probed)
        for cells, rest in zip(planned, (first, expected), strict=True):  # no run of the choice is stacked with another
            self._check_stacks(cells, rest)
        if probed:
            self._check_probed(expected, measured)

    def _check_probed(self, cells: Sequence[Cell], measured: Mapping[Path, Sequence[str]]) -> None:
        """Raise UserError for a name that no probe measures in an arm of which all runs were tried."""
        by_arm: dict[str, list[Cell]] = {arm: [] for arm in self.arms}
        for cell in cells:
            by_arm[self._arm(cell)].append(cell)
        known = {
            arm: list(dict.fromkeys(name for cell in cells for name in measured[cell.path]))
            for arm, cells in by_arm.items()
            if all(cell.path in measured for cell in cells)
        }
        check_probed(self.experiment, document_of(self.experiment.file or self.experiment.name), known)

    def _prepare(self, plan: Plan, probed: bool = False) -> dict[Path, list[str]]:
        """Have the data at hand and what is to be trained built once; return what the probes of the runs measure."""
        provide_data(plan, self.dry_run, self.force)
        return check_parts(plan.to_train(self.force), self.sharing, self._said, probed)

    def _check_stacks(self, cells: Sequence[Cell], rest: Sequence[Cell]) -> None:
        """Raise UserError for runs that `stack=true` cannot train together, or that workers share.

        Args:
            cells: of a plan, which workers share as a whole.
            rest: those of them that are not taken.
        """
        if cells and not self.force:
            self.sharing.check_stack(cells, self.results)
        check_stacks(Plan([*rest]).to_train(self.force), self.sharing, self.force)

    def _arm(self, cell: Cell) -> str:
        return next(arm for arm in self.experiment.arms if folder_name(arm) == cell.path.parent.name)

    def _said(self, cell: Cell, cause: str) -> str:
        return f"experiment {self.experiment.name}, arm {self._arm(cell)!r}: {cause}"

    def _train(self, plan: Plan, heading: str, chosen: bool = True) -> int:
        """Train what is missing of a plan, or tell what that is; return the exit status.

        Args:
            chosen: the settings of its runs are known; before, nobody knows which of them are elsewhere.
        """
        taken, others = self.elsewhere.split(plan.cells)
        rest = replace(plan, cells=others)
        self._prepare(rest)
        self._check_stacks(plan.cells, others)
        path = frozen_path(self.experiment, self.results)
        earlier = read_regular(path, MOST_TEXT) if path.exists() and not self.dry_run else None
        frozen = None if self.dry_run else freeze(self.experiment, self.results)
        logger.info(f"{self.experiment.name}, scale {self.experiment.scale}: {heading}")
        if self.elsewhere.path and not chosen:
            logger.info(f"how many of these are taken from {self.elsewhere} is known after the choice")
            rest = plan
        elif taken:
            logger.info(f"{amount(len(taken), 'run')} taken from {self.elsewhere}, and not trained")
        if taken and not self.dry_run:
            take(taken, path)
            rest = replace(plan, cells=[replace(cell) for cell in plan.cells])  # with the records that are there now
        if not self.dry_run:
            forget([cell.path for cell in rest.open], path)  # which a copy that was stopped had named
        try:
            status = run_cells(replace(rest, results=self.results), self.dry_run, self.force, self.sharing)
        except UserError:
            if frozen is not None:
                unfreeze(frozen, earlier)
            raise
        if self.force and not self.dry_run:
            forget([cell.path for cell in rest.cells], path)
        return status

    def _expected(self) -> tuple[Plan, str]:
        """Return the runs to expect, and a heading: no more of a sequential design once all is decided."""
        taken = self._looks_taken()
        if taken.cells and not self.force and not self.still_open():
            return taken, f"{self.experiment.title}: no claim is open"
        return self.plans.expected_plan(), self.experiment.title + (", at most" if self.experiment.design else "")

    def _choose(self) -> int:
        """Train what the hyperparameters are chosen from, rung by rung or trial by trial; return the exit status."""
        select, counted = self.experiment.select, False
        assert select is not None  # there is something to choose
        for rung in range(rungs(select)):
            plan = self.plans.selection_plan(rung)
            if not plan.cells:
                continue  # no best two lie within noise
            if select.sampler:
                plan = replace(plan, trials=0 if counted else rungs(select) - rung)
                counted = counted or bool(Plan(self.elsewhere.split(plan.cells)[1]).to_train(self.force))
            choices = choosings(self.experiment, self.results, self.arms)
            if status := self._train(plan, f"choosing {', '.join(select.search)}{rung_in_words(choices, rung)}"):
                return status
            if self.dry_run and not self._is_over(rung, plan):
                return 0  # which of them the next rung would train, or is chosen, is not known yet
            if select.sampler and not self.dry_run:
                score(self.experiment, self.results, self.arms, rung)
        if not self.dry_run:
            write_choice(self.experiment, self.results, self.arms)
        self._say_undecided(select)
        return 0

    def _say_undecided(self, select: Selection) -> None:
        record = recorded_selection(self.experiment, self.results)
        if names := undecided_choices(self.experiment, record) if record else []:
            ties = "" if select.sampler else ", or further ones in select.ties,"
            told = f"three seeds in select.seeds{ties} would tell"
            logger.info(f"the best two lie within noise, {told}: {'; '.join(names)}")

    def _train_stages(self) -> int:
        """Train what the first look needs, and of the next ones as long as a claim is open; return the exit status."""
        stages = self._stages()
        for taken, stage in enumerate(stages, start=1):
            if (status := self._train(stage.plans.run_plan(), self.experiment.title)) or taken == len(stages):
                return status
            if stages[taken].is_trained():
                continue  # the records are judged with all the looks that they hold
            left = self.still_open()
            assert self.experiment.design is not None  # there are several stages
            progress = self.experiment.design.progress(taken)
            logger.info(f"{progress}: {len(left)} of {len(self.experiment.claims)} claims are open")
            if not left:
                break
        return 0

    def _stages(self) -> list[Reproduction]:
        return [replace(self, experiment=stage) for stage in self.experiment.stages()]

    def _looks_taken(self) -> Plan:
        """Return the runs of the looks that a sequential design has behind it; none where there is no design."""
        stages = self._stages() if self.experiment.design else []
        taken = takewhile(_are_finished, (stage._there() for stage in stages))
        return Plan([cell for cells in taken for cell in cells])

    def is_trained(self) -> bool:
        """Tell whether every run is finished, whatever is to be trained again."""
        return _are_finished(self._there())

    def _there(self) -> Sequence[Cell]:
        return replace(self.plans, force=False).expected_plan().cells

    def _is_over(self, rung: int, plan: Plan) -> bool:
        """Tell whether the records say what the next rung trains."""
        assert self.experiment.select is not None
        return _are_finished(plan.cells) and (
            self.experiment.select.sampler is None or is_scored(self.experiment, self.results, self.arms, rung)
        )


def chosen_arms(experiment: Experiment, arm: str | None) -> list[str]:
    """Return the arms that are run: the one that is named, else all.

    Raises: UserError for an unknown arm, or one by itself under a sequential design, whose claims compare arms.
    """
    if arm is None:
        return list(experiment.arms)
    check_arms(f"experiment {experiment.name}", [arm], experiment.arms)
    if experiment.design is not None:
        raise UserError(f"--cell {arm!r}: {experiment.name} adds seeds until its claims are decided, to all arms")
    return [arm]


def _are_finished(cells: Iterable[Cell]) -> bool:
    return all(cell.state in FINISHED for cell in cells)
