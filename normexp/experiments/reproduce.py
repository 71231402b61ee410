"""`normexp reproduce`: choose the hyperparameters, train what is missing; the same command continues it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from normexp.config.own import PLUGINS
from normexp.config.text import amount, as_argument
from normexp.errors import UserError
from normexp.experiments.checks.names import check_arms
from normexp.experiments.checks.probed import asks_probe, check_probed
from normexp.experiments.experiment import Experiment, Point, folder_name, run_place
from normexp.experiments.freeze import freeze, frozen_path, unfreeze
from normexp.experiments.halving import budget, rung_points, rungs
from normexp.experiments.load import document_of
from normexp.experiments.rung_words import rung_in_words
from normexp.experiments.sampling import is_scored, score
from normexp.experiments.selection import choice_path, read_choice, recorded_selection, undecided_choices, write_choice
from normexp.experiments.taken import forget, take
from normexp.experiments.trials import Choosing, choosings, combinations, points
from normexp.records import FINISHED
from normexp.records.files import MOST_TEXT, read_regular
from normexp.sweeps.beforehand import check_parts
from normexp.sweeps.plan import Cell, Plan, check_cells
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

    def run(self) -> int:
        """Train what is missing; return the exit status, 0 or 1 where a run failed.

        Raises: UserError for runs that were made under other settings; Unavailable without the data; Interrupted after
            Ctrl-C; Submitted where workers elsewhere go on with it.
        """
        self.check()
        if self.experiment.select is not None and (status := self._choose()):
            return status
        return self._train(*self._expected()) if self.dry_run else self._train_stages()

    def check(self) -> None:
        """Build the parts of all runs, the choice's included, and try what their probes measure; write nothing.

        Raises: UserError for a run that would be refused, or a name that no probe measures.
        """
        probed = asks_probe(self.experiment)
        planned = (self._first_trials(), self._expected()[0].cells)
        first, expected = (self.elsewhere.split(each)[1] for each in planned)
        measured = self._prepare(Plan([*first, *expected]), probed)
        for cells in filter(None, planned):  # no run of the choice is stacked with one of the experiment
            self._check_stacks(cells)
        if probed:
            by_arm: dict[str, list[Cell]] = {arm: [] for arm in self.arms}
            for cell in expected:
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

    def _check_stacks(self, cells: Sequence[Cell]) -> None:
        """Raise UserError for runs of a plan that `stack=true` cannot train together, or that workers share."""
        if not self.force:  # with those that are taken: workers share a plan as a whole
            self.sharing.check_stack(cells, self.results)
        rest = Plan(self.elsewhere.split(cells)[1])
        check_stacks(rest.to_train(self.force), self.sharing, self.force)

    def _arm(self, cell: Cell) -> str:
        return next(arm for arm in self.experiment.arms if folder_name(arm) == cell.path.parent.name)

    def _said(self, cell: Cell, cause: str) -> str:
        return f"experiment {self.experiment.name}, arm {self._arm(cell)!r}: {cause}"

    def _first_trials(self) -> list[Cell]:
        """Return the first runs that the choice of hyperparameters needs, of a sampler at the ends of its intervals."""
        select = self.experiment.select
        if select is None or (choice_path(self.experiment, self.results).exists() and not self.force):
            return []
        return [
            self._trial(choosing, choosing.at + point)
            for choosing in choosings(self.experiment, self.results, self.arms).values()
            for values in combinations(select)
            for point in points(select, values, budget(select, 0))
        ]

    def _trial(self, choosing: Choosing, point: Point) -> Cell:
        return Cell(self.experiment.config(choosing.arm, point, choosing.select.common), choosing.place(point))

    def _train(self, plan: Plan, heading: str) -> int:
        taken, others = self.elsewhere.split(plan.cells)
        rest = replace(plan, cells=others)
        self._prepare(rest)
        self._check_stacks(plan.cells)
        path = frozen_path(self.experiment, self.results)
        earlier = read_regular(path, MOST_TEXT) if path.exists() and not self.dry_run else None
        frozen = None if self.dry_run else freeze(self.experiment, self.results)
        logger.info(f"{self.experiment.name}, scale {self.experiment.scale}: {heading}")
        if taken:
            logger.info(f"{amount(len(taken), 'run')} taken from {self.elsewhere}, and not trained")
        if taken and not self.dry_run:
            take(taken, path)
            rest = replace(plan, cells=[replace(cell) for cell in plan.cells])  # with the records that are there now
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
        return self.expected_plan(), self.experiment.title + (", at most" if self.experiment.design else "")

    def _choose(self) -> int:
        """Train what the hyperparameters are chosen from, rung by rung or trial by trial; return the exit status."""
        select, counted = self.experiment.select, False
        assert select is not None  # there is something to choose
        for rung in range(rungs(select)):
            plan = self.selection_plan(rung)
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
            if (status := self._train(stage.run_plan(), self.experiment.title)) or taken == len(stages):
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
        return replace(self, force=False).expected_plan().cells

    def _is_over(self, rung: int, plan: Plan) -> bool:
        """Tell whether the records say what the next rung trains."""
        assert self.experiment.select is not None
        return _are_finished(plan.cells) and (
            self.experiment.select.sampler is None or is_scored(self.experiment, self.results, self.arms, rung)
        )

    def selection_plan(self, rung: int) -> Plan:
        """Return the runs that the choice of hyperparameters for these arms needs.

        Args:
            rung: of a successive halving; from the second on the runs of the one before decide which.
        """
        cells = [
            self._trial(choosing, point)
            for choosing in choosings(self.experiment, self.results, self.arms).values()
            for point in rung_points(choosing, rung)
        ]
        check_cells(cells, self.force)
        return Plan(cells)

    def run_plan(self) -> Plan:
        """Return the runs of the experiment proper, with the chosen hyperparameters. Raises UserError without them."""
        experiment, chosen = self.experiment, read_choice(self.experiment, self.results)
        for name in experiment.choices(self.arms) if experiment.select and not experiment.select.arm else ():
            if name not in chosen:
                raise UserError(f"{choice_path(experiment, self.results)}: nothing is chosen for {name}; delete it")
        by_arm = [self._cells(arm, chosen, {}) for arm in self.arms]
        # Point by point: what is compared is trained on one machine, and a part of a sweep compares every arm.
        cells = [cell for at_point in zip(*by_arm, strict=True) for cell in at_point]
        check_cells(cells, self.force)
        return Plan(cells)

    def expected_plan(self) -> Plan:
        """Return the same before the choice: a run without one counts with the first combination, as long as any."""
        experiment = self.experiment
        if experiment.select is None:
            return self.run_plan()
        chosen = read_choice(experiment, self.results) if choice_path(experiment, self.results).exists() else {}
        decided = [arm for arm in self.arms if all(name in chosen for name in experiment.choices([arm]))]
        plan = replace(self, arms=decided).run_plan() if decided else Plan([])
        first = combinations(experiment.select)[0]
        rest = [cell for arm in self.arms if arm not in decided for cell in self._cells(arm, chosen, first)]
        return Plan(plan.cells + rest)

    def _cells(self, arm: str, chosen: Mapping[str, Mapping[str, Any]], usual: Mapping[str, Any]) -> list[Cell]:
        """Return one arm's runs with the chosen hyperparameters, the usual ones where there is no choice."""
        experiment = self.experiment
        return [
            Cell(
                experiment.config(arm, point, chosen.get(experiment.choice_of(arm, point), usual)),
                run_place(self.results, experiment, arm, point),
            )
            for point in experiment.points()
        ]


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


def command(experiment: Experiment) -> str:
    """Return the command that makes an experiment again."""
    plugins = experiment.common.get(PLUGINS, [])
    typed = f" '{PLUGINS}=[{','.join(plugins)}]'" if plugins else ""
    named = quote(as_argument(experiment.file or experiment.name))
    return f"normexp reproduce {named} scale={experiment.scale}{typed}"


def _are_finished(cells: Iterable[Cell]) -> bool:
    return all(cell.state in FINISHED for cell in cells)
