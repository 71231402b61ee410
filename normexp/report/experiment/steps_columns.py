"""Columns about how fast: steps to a target, and how many times fewer than another arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.evidence.curves import Cell
from normexp.evidence.metrics import better_direction, is_share
from normexp.evidence.rounding import ratio
from normexp.evidence.stats import Interval, SpeedUp, Steps, longest_watched, median, speed_up
from normexp.report.experiment.columns import Column, Row
from normexp.report.frames.measured import Measured
from normexp.report.metrics import title
from normexp.report.steps_to_target import Target, steps_by_seed
from normexp.report.tables.table import EMPTY, Value


@dataclass(frozen=True)
class StepsTo(Column):
    """Steps to a target: median (lowest to highest); a run that does not get there counts as more than any number.

    Args:
        named: another column has the same target of another metric, so the head says which.
    """

    measured: Measured
    metric: str
    target: Target
    named: bool = False
    short = "steps"

    @property
    def head(self) -> str:
        return f"steps to {self.goal}"

    @property
    def goal(self) -> str:
        """The target in words."""
        return self._value + (f" of {self.metric}" if self.named else "")

    @property
    def _value(self) -> str:
        if isinstance(self.target, str):
            return self.target
        return f"{100 * self.target:g} %" if is_share(self.metric) else f"{self.target:g}"

    @property
    def meaning(self) -> str:
        return (
            f"Steps to {self.goal}: until the first evaluation with a {title(self.metric).removesuffix(' (%)')} as good"
            " as that" + (", of the same seed" if isinstance(self.target, str) else "") + "; median over the seeds "
            "(lowest to highest); runs that never reach it rank last."
        )

    def steps(self, cell: Cell) -> dict[int, Steps]:
        better = better_direction(self.metric)
        return steps_by_seed(self.measured, cell, self.metric, self.target, better) if better else {}

    def count(self, row: Row) -> int:
        return len(self.steps(row.cell))

    def text(self, row: Row) -> str:
        steps = list(self.steps(row.cell).values())
        if not steps:
            return EMPTY
        reached = [each.step for each in steps if each.reached]
        if not reached:
            return _never(steps)
        ends = [min(reached), math.inf if len(reached) < len(steps) else max(reached)]
        spread = f" ({_count(ends[0])} to {_count(ends[1])})" if len(steps) > 1 else ""
        missing = f", {len(reached)} of {len(steps)} arrive" if len(reached) < len(steps) else ""
        return f"{_count(median(each.step for each in steps))}{spread}{missing}"

    def plain(self, row: Row) -> dict[str, Value]:
        steps = [each.step for each in self.steps(row.cell).values()]
        reached = [step for step in steps if math.isfinite(step)]
        median_step, low, high = (median(steps), min(steps), max(steps)) if steps else (None, None, None)
        numbers = {"median": median_step, "lowest": low, "highest": high, "reached": len(reached), "n": len(steps)}
        return {f"{self.head} {kind}": value for kind, value in numbers.items()}


@dataclass(frozen=True)
class SpeedUpOver(Column):
    """How many times fewer steps than another arm, with its 95 % interval."""

    race: StepsTo
    than: str
    short = "speed-up"

    @property
    def head(self) -> str:
        return f"{self._name} [95 %]"

    @property
    def _name(self) -> str:
        return f"speed-up over {self.than} to {self.race.goal}"

    @property
    def meaning(self) -> str:
        return (
            f"Speed-up: steps of {self.than} over steps of the arm, paired by seed; by rank where some run never gets "
            "there, and then without a number where the ratio depends on how long it would still have taken."
        )

    def against(self, row: Row) -> SpeedUp | None:
        other = Cell(self.than, row.cell.point)
        if row.cell == other:
            return None
        ours = self.race.measured.at_look(self.race.steps(row.cell))
        return speed_up(self.race.steps(other), ours)

    def count(self, row: Row) -> int:
        race = self.against(row)
        return race.n if race else 0

    def text(self, row: Row) -> str:
        race = self.against(row)
        interval = race.confidence_interval(self.race.measured.confidence) if race else None
        if race is None or interval is None:
            return EMPTY
        low, high = ratio(interval.low), ratio(interval.high)
        if math.isfinite(race.ratio) and race.ratio > 0:
            return f"{ratio(race.ratio)} [{low}, {high}]"
        return _in_words(interval, low, high)

    def plain(self, row: Row) -> dict[str, Value]:
        race = self.against(row)
        interval = race.confidence_interval(self.race.measured.confidence) if race else None
        numbers = (race.ratio, interval.low, interval.high) if race and interval else (None, None, None)
        ends = dict(zip((self._name, f"{self._name} low", f"{self._name} high"), numbers, strict=True))
        return {**ends, f"{self._name} n": self.count(row)}


def _in_words(interval: Interval, low: str, high: str) -> str:
    """Say what is known of a ratio that has no number of its own."""
    if interval.high < 1:
        return f"slower: below {high}"
    if interval.low > 1:
        return f"faster: above {low}"
    if interval.low > 0:
        return f"undecided: above {low}" if math.isinf(interval.high) else f"undecided: {low} to {high}"
    return "undecided" if math.isinf(interval.high) else f"undecided: below {high}"


def _never(steps: Sequence[Steps]) -> str:
    """Say how long it was looked for; a run that diverged would never have got there."""
    longest = longest_watched(steps)
    return "diverged" if longest is None else f"never in {longest:.0f}"


def _count(step: float) -> str:
    return f"{step:.0f}" if math.isfinite(step) else "never"
