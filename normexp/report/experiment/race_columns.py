"""Columns about how fast: steps to a target, and how many times fewer than another arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.evidence.curves import Cell, better_direction
from normexp.evidence.stats import SpeedUp, Steps, median, speed_up
from normexp.records import cell as csv_cell
from normexp.report.experiment.columns import EMPTY
from normexp.report.experiment.measured import Measured
from normexp.report.experiment.race import Target, steps_of
from normexp.report.measurements import is_share, title


@dataclass(frozen=True)
class StepsTo:
    """Steps to a target: median (lowest to highest); a run that does not get there counts as more than any number."""

    found: Measured
    metric: str
    target: Target

    @property
    def title(self) -> str:
        return f"steps to {self.goal}"

    @property
    def goal(self) -> str:
        if isinstance(self.target, str):
            return self.target
        return f"{100 * self.target:g} %" if is_share(self.metric) else f"{self.target:g}"

    @property
    def plain_titles(self) -> list[str]:
        return [f"{self.title} {kind}" for kind in ("median", "lowest", "highest", "reached", "n")]

    @property
    def meaning(self) -> str:
        return (
            f"Steps to {self.goal}: until the first evaluation with a {title(self.metric).removesuffix(' (%)')} as good"
            " as that" + (", of the same seed" if isinstance(self.target, str) else "") + "; median over the seeds "
            "(lowest to highest), where never is more than any number."
        )

    def steps(self, cell: Cell) -> dict[int, Steps]:
        better = better_direction(self.metric)
        return steps_of(self.found, cell, self.metric, self.target, better) if better else {}

    def count(self, cell: Cell) -> int:
        return len(self.steps(cell))

    def shown(self, cell: Cell) -> str:
        steps = list(self.steps(cell).values())
        if not steps:
            return EMPTY
        reached = [each.step for each in steps if each.reached]
        if not reached:
            return _never(steps)
        ends = [min(reached), math.inf if len(reached) < len(steps) else max(reached)]
        spread = f" ({_count(ends[0])} to {_count(ends[1])})" if len(steps) > 1 else ""
        missing = f", {len(reached)}/{len(steps)}" if len(reached) < len(steps) else ""
        return f"{_count(median(each.step for each in steps))}{spread}{missing}"

    def plain(self, cell: Cell) -> list[str]:
        steps = [each.step for each in self.steps(cell).values()]
        reached = [step for step in steps if math.isfinite(step)]
        ends = (median(steps), min(steps), max(steps)) if steps else (None, None, None)
        return [*map(csv_cell, ends), str(len(reached)), str(len(steps))]


@dataclass(frozen=True)
class SpeedUpOver:
    """How many times fewer steps than another arm, with its 95 % interval."""

    race: StepsTo
    than: str

    @property
    def title(self) -> str:
        return f"speed-up over {self.than} [95 %]"

    @property
    def plain_titles(self) -> list[str]:
        return [f"speed-up over {self.than} to {self.race.goal}{kind}" for kind in ("", " low", " high", " n")]

    @property
    def meaning(self) -> str:
        return (
            f"Speed-up: steps of {self.than} over steps of the arm, paired by seed; by rank where some run never gets "
            "there, and ? where the ratio then depends on how long it would still have taken."
        )

    def against(self, cell: Cell) -> SpeedUp | None:
        other = Cell(self.than, cell.point)
        return None if cell == other else speed_up(self.race.steps(other), self.race.steps(cell))

    def count(self, cell: Cell) -> int:
        race = self.against(cell)
        return race.n if race else 0

    def shown(self, cell: Cell) -> str:
        race = self.against(cell)
        interval = race.confidence_interval() if race else None
        if race is None or interval is None:
            return EMPTY
        return f"{_ratio(race.ratio)} [{_ratio(interval.low)}, {_ratio(interval.high)}]"

    def plain(self, cell: Cell) -> list[str]:
        race = self.against(cell)
        interval = race.confidence_interval() if race else None
        numbers = (race.ratio, interval.low, interval.high) if race and interval else (None, None, None)
        return [*map(csv_cell, numbers), str(self.count(cell))]


def _never(steps: Sequence[Steps]) -> str:
    """Say how long it was looked for; a run that diverged would never have got there."""
    watched = [each.watched for each in steps if math.isfinite(each.watched)]
    return f"never in {max(watched):.0f}" if watched else "diverged"


def _count(step: float) -> str:
    return f"{step:.0f}" if math.isfinite(step) else "never"


def _ratio(value: float) -> str:
    return "?" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.3g}"
