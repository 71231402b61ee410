"""The table of one hyperparameter: every arm at one value for all, at its best value, and how much it depends on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from normexp.evidence.curves import Curve
from normexp.evidence.metrics import cost_sign, is_share
from normexp.evidence.ranking import loss_beside, rank_of
from normexp.evidence.rounding import with_interval
from normexp.evidence.sensitivity import has_range, sensitivity
from normexp.evidence.stats import (
    CONFIDENCE,
    Interval,
    RankSumTest,
    SignTest,
    mean,
    one_sample,
    paired,
    without_last_bits,
)
from normexp.evidence.stats.estimates import PointEstimate
from normexp.records.ranges import ranges
from normexp.report.frames.frame import text
from normexp.report.frames.record import Record
from normexp.report.metrics import factor, title
from normexp.report.tables.row import explained, summary
from normexp.report.tables.table import EMPTY, Table, Value

MEANING = (
    "Sensitivity: how far the metric lies behind its best, on average over the logarithm of {key}, from the least to "
    "the largest value; a run that diverged counts as if it had learned nothing, and what learns at no value is not "
    "sensitive, either. Mean over the seeds with its 95 % interval."
)
ONE_SEED = "Of one seed neither a sensitivity nor a difference is shown: neither would have an interval."
SAME_RUNS = "The best value, for all or for an arm, is that of these same runs, which flatters it a little."
Runs = Mapping[float, Mapping[int, Curve]]  # value of the hyperparameter -> seed -> its run


@dataclass(frozen=True)
class Arm:
    """One arm.

    Args:
        metric: whose name tells what is better.
        runs: of the same seeds at every value.
    """

    name: str
    metric: str
    runs: Runs

    def last(self, setting: float) -> list[float]:
        """Return the finite last values at one value of the hyperparameter."""
        runs = (run for run in self.runs[setting].values() if not run.diverged)
        return [value for run in runs if math.isfinite(value := float(run.columns[self.metric][-1]))]

    def cost(self, setting: float) -> float:
        """Return the mean at one value, the less the better; infinite where a run diverged."""
        values = self.last(setting)
        return cost_sign(self.metric) * mean(values) if len(values) == len(self.runs[setting]) else math.inf

    def _loss(self, setting: float) -> float:
        """Return the mean loss at one value, on the split of the metric; infinite where a run has none."""
        runs, name = self.runs[setting].values(), loss_beside(self.metric)
        if not all(name in run.columns for run in runs):
            return math.inf
        return mean([float(run.columns[name][-1]) for run in runs])

    def text(self, setting: float | None) -> str:
        if setting is None:
            return EMPTY
        values = [factor(self.metric) * value for value in self.last(setting)]
        return summary(values, len(self.runs[setting]), is_share(self.metric))

    @cached_property
    def best(self) -> float | None:
        """The value that `rank_of` puts first; None where a run diverged at each."""
        setting = min(self.runs, key=lambda setting: rank_of(self.cost(setting), self._loss(setting), [setting]))
        return setting if math.isfinite(self.cost(setting)) else None

    @cached_property
    def sensitivities(self) -> dict[int, float]:
        """Seed -> sensitivity, in the unit of the metric."""
        seeds = next(iter(self.runs.values()))
        curves = {seed: {setting: runs[seed] for setting, runs in self.runs.items()} for seed in seeds}
        return {seed: sensitivity(of_seed, self.metric) for seed, of_seed in curves.items()}

    @property
    def finite(self) -> str:
        """How many runs did not diverge: `11/12`."""
        runs = [run for each in self.runs.values() for run in each.values()]
        return f"{sum(not run.diverged for run in runs)}/{len(runs)}"


def sensitivity_table(
    groups: Mapping[str, Sequence[Record]],
    key: str,
    metric: str,
    notes: Sequence[str] = (),
    confidence: float = CONFIDENCE,
) -> Table | None:
    """Return one row per arm; None where fewer than three values of the key, all above 0, were tried in full.

    Args:
        groups: name of an arm -> its runs, each with a value of the key and a seed; the first arm is the baseline.
        key: the hyperparameter.
        metric: whose name tells what is better.
        notes: sentences below it, before the usual ones.
        confidence: of the intervals; more than 95 % where seeds are looked at more than once.
    """
    tried = {name: _tried(records, key, metric) for name, records in groups.items()}
    arms = [arm for name, runs in tried.items() if (arm := _arm(name, runs, metric)) is not None]
    settings = sorted(set.intersection(*(set(arm.runs) for arm in arms))) if arms else []
    if not has_range(settings):
        return None
    one = min(settings, key=partial(_cost_of_all, arms))
    at_one = f"{title(metric)} at {key}={text(one)}"
    medians = explained(arm.text(setting) for arm in arms for setting in (one, arm.best))
    alone = [ONE_SEED] if any(len(arm.sensitivities) == 1 for arm in arms) else []
    return Table(
        title=f"How much {title(metric).removesuffix(' (%)')} depends on {key}.",
        heads=["arm", at_one, f"best {key}", f"{title(metric)} there", "sensitivity", "minus the first", "finite"],
        rows=[_row(arm, arms[0], one, confidence) for arm in arms],
        values=[_plain(arm, arms[0], one, key, confidence) for arm in arms],
        notes={"": [*notes, MEANING.format(key=key), *medians, *alone, SAME_RUNS, *_dropped(tried, key)]},
        label=f"sensitivity-{key}",
    )


def _tried(records: Sequence[Record], key: str, metric: str) -> Runs:
    """Return the finished runs of an arm: value of the key -> seed -> run."""
    runs: dict[float, dict[int, Curve]] = {}
    for record in records:
        if record.finished and record.seed is not None and metric in record.metrics and len(record.steps):
            runs.setdefault(float(record.value(key)), {})[record.seed] = record.curve
    return runs


def _whole(runs: Runs) -> set[int]:
    """Return the seeds that finished with every value."""
    return set.intersection(*map(set, runs.values())) if runs else set()


def _arm(name: str, runs: Runs, metric: str) -> Arm | None:
    """Return an arm, with those seeds alone that finished with every value."""
    seeds = _whole(runs)
    kept = {setting: {seed: each[seed] for seed in sorted(seeds)} for setting, each in sorted(runs.items())}
    return Arm(name, metric, kept) if seeds and has_range(kept) else None


def _dropped(tried: Mapping[str, Runs], key: str) -> list[str]:
    """Return a sentence that names the seeds in no number of the table; nothing where there are none."""
    dropped = {name: sorted(set().union(*runs.values()) - _whole(runs)) for name, runs in tried.items()}
    named = "; ".join(f"{name} seed {ranges(seeds)}" for name, seeds in dropped.items() if seeds)
    return [f"Left out of this table, without a result at every {key}: {named}."] if named else []


def _cost_of_all(arms: Sequence[Arm], setting: float) -> tuple[int, float, float]:
    """Return by what one value for all is chosen: the arms that diverge with it, then what it costs the others."""
    costs = [arm.cost(setting) for arm in arms]
    return costs.count(math.inf), without_last_bits(sum(filter(math.isfinite, costs))), setting


def _row(arm: Arm, first: Arm, one: float, confidence: float) -> list[str]:
    found, difference = _sensitivity(arm), _difference(arm, first)
    unit = factor(arm.metric)
    return [
        arm.name, arm.text(one), text(arm.best) or EMPTY, arm.text(arm.best),
        _estimate(found, unit, confidence, sign=False), _estimate(difference, unit, confidence, sign=True), arm.finite,
    ]  # fmt: skip


def _sensitivity(arm: Arm) -> PointEstimate | None:
    return one_sample(list(arm.sensitivities.values()))


def _difference(arm: Arm, first: Arm) -> PointEstimate | None:
    return None if arm is first else paired(arm.sensitivities, first.sensitivities)


def _estimate(found: PointEstimate | None, unit: float, confidence: float, sign: bool) -> str:
    if found is None:
        return EMPTY
    interval = _interval(found, confidence)
    if interval is None:
        return f"{unit * found.value:{'+' if sign else ''}.2g} with every seed"
    return with_interval(unit * found.value, unit * interval.low, unit * interval.high, sign)


def _interval(found: PointEstimate, confidence: float) -> Interval | None:
    """Return the interval; None of values without a spread, to which it could belong."""
    return None if all(map(math.isfinite, _ranked(found))) else found.confidence_interval(confidence)


def _ranked(found: PointEstimate) -> Sequence[float]:
    """Return the values that ranks or signs are of: finite ones differ by nothing, else they would have a t test."""
    if isinstance(found, RankSumTest):
        return [end for bounds in (*found.first, *found.second) for end in bounds]
    return found.values if isinstance(found, SignTest) else (math.nan,)


def _plain(arm: Arm, first: Arm, one: float, key: str, confidence: float) -> dict[str, Value]:
    found, difference = _sensitivity(arm), _difference(arm, first)
    return {
        "arm": arm.name, f"{key} for all": one, f"best {key}": arm.best, "n": len(arm.sensitivities),
        f"{arm.metric} for all": _mean(arm, one), f"{arm.metric} best": _mean(arm, arm.best),
        "sensitivity": mean(list(arm.sensitivities.values())), **_ends("sensitivity", found, confidence),
        "minus the first": difference.value if difference else None, **_ends("minus the first", difference, confidence),
    }  # fmt: skip


def _ends(name: str, found: PointEstimate | None, confidence: float) -> dict[str, Value]:
    interval = _interval(found, confidence) if found else None
    return {f"{name} low": interval.low if interval else None, f"{name} high": interval.high if interval else None}


def _mean(arm: Arm, setting: float | None) -> float | None:
    values = [] if setting is None else arm.last(setting)
    return mean(values) if values else None
