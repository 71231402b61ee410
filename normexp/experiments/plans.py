"""Which runs an experiment needs: those that its hyperparameters are chosen from, and those of its table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, Point, run_place
from normexp.experiments.halving import budget, rung_points
from normexp.experiments.selection import choice_path, read_choice
from normexp.experiments.trials import Choosing, choosings, combinations, points
from normexp.sweeps.plan import Cell, Plan, check_cells


@dataclass(frozen=True)
class Plans:
    """The runs of some arms of an experiment at its scale.

    Args:
        arms: rows of the table.
        force: finished runs are trained again, so none of them is asked under which settings it was.
    """

    experiment: Experiment
    results: Path
    arms: Sequence[str]
    force: bool = False

    def first_trials(self) -> list[Cell]:
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
        chosen = self._chosen()
        undecided = self._without(chosen)
        decided = [arm for arm in self.arms if arm not in undecided]
        plan = replace(self, arms=decided).run_plan() if decided else Plan([])
        first = combinations(experiment.select)[0]
        return Plan(plan.cells + [cell for arm in undecided for cell in self._cells(arm, chosen, first)])

    @property
    def undecided(self) -> list[str]:
        """The arms for which hyperparameters are still to be chosen."""
        return [] if self.experiment.select is None else self._without(self._chosen())

    def _without(self, chosen: Collection[str]) -> list[str]:
        """Return the arms of which not every choice is among these."""
        return [arm for arm in self.arms if not all(name in chosen for name in self.experiment.choices([arm]))]

    def _chosen(self) -> Mapping[str, Mapping[str, Any]]:
        there = choice_path(self.experiment, self.results).exists()
        return read_choice(self.experiment, self.results) if there else {}

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
