"""`normexp table --against ARM`: what every row has more or less than one of them, paired by seed."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from normexp.errors import UserError, nearest, unknown
from normexp.evidence.metrics import better_direction, worst
from normexp.evidence.rounding import with_interval
from normexp.evidence.stats import CONFIDENCE, PointEstimate, RankSumTest, holm, paired
from normexp.report.metrics import factor, title
from normexp.report.tables.row import Row
from normexp.report.tables.table import EMPTY, Value

BY_RANK = (
    "by rank, where a run diverged or all differences are equal, the median over all runs of both, which are no pairs"
)


@dataclass(frozen=True)
class Against:
    """Every row's difference to the row of one arm that is like it in all else.

    Args:
        name: of the arm.
        metric: the one that is compared.
        estimates: one per row; None for that arm itself, and below two seeds in common.
        p_values: of these, corrected.
        tuned: whether every arm has a learning rate that was chosen for it.
    """

    name: str
    metric: str
    estimates: Sequence[PointEstimate | None]
    p_values: Sequence[float]
    tuned: bool

    @property
    def heads(self) -> list[str]:
        return [f"{title(self.metric)} minus {self.name} [95 %]", "p"]

    @property
    def note(self) -> str:
        family = sum(each is not None for each in self.estimates)
        return (
            f"Minus {self.name}: mean of the differences between runs of one seed, with its 95 % t interval, each by "
            f"itself; {BY_RANK}. p: of no difference, two-sided, corrected (Holm) for the rows that are compared, "
            f"{family} here.{'' if self.tuned else ' These settings are compared, not schemes at their best.'}"
        )

    def cells(self, row: int) -> list[str]:
        """Return the two cells of a row."""
        estimate, p = self.estimates[row], self.p_values[row]
        if estimate is None:
            return [EMPTY, EMPTY]
        return [difference(estimate, factor(self.metric)), f"{p:.2g}"]

    def plain(self, row: int) -> dict[str, Value]:
        """Return the columns of the CSV for a row."""
        estimate = self.estimates[row]
        ends: tuple[Value, ...] = (None, None, None, None, None)
        if estimate is not None:
            interval = estimate.confidence_interval()
            ends = (estimate.value, interval.low, interval.high, estimate.n, self.p_values[row])
        return dict(zip(("difference", "difference_low", "difference_high", "pairs", "p"), ends, strict=True))


def difference(estimate: PointEstimate, unit: float, confidence: float = CONFIDENCE) -> str:
    """Return `+1.2 [-0.4, +2.8]`, with `by rank` behind it where no pairs were compared.

    Args:
        unit: what the numbers are multiplied by: shares are shown in percent.
    """
    interval = estimate.confidence_interval(confidence)
    text = with_interval(unit * estimate.value, unit * interval.low, unit * interval.high)
    return text + (" by rank" if isinstance(estimate, RankSumTest) else "")


def _corrected(estimates: Sequence[PointEstimate | None]) -> list[float]:
    """Return the two-sided p-values of no difference, corrected for all that there are; NaN where there is none."""
    there = [each for each in estimates if each is not None]
    corrected = iter(holm([min(1.0, 2 * min(each.p_above(0), each.p_below(0))) for each in there]))
    return [math.nan if each is None else next(corrected) for each in estimates]


def against(rows: Sequence[Row], key: str, name: str, metric: str, tuned: bool) -> Against:
    """Compare every row with the one that has `name` under `key` and is like it in all else.

    Args:
        tuned: as in `Against`.

    Raises: UserError for a name that no row has, and where several runs of a row have one seed.
    """
    names = list(dict.fromkeys(row.key[key] for row in rows))
    if name not in names:
        typed = {each: shlex.quote(each) for each in names}  # an arm of several settings has commas in its name
        bare = name.removeprefix("norm=")
        alike = [each for each in names if f"{each}, ".startswith(f"{bare}, ")]
        meant = alike[0] if len(alike) == 1 else nearest(name, names) or ""
        raise unknown(f"table: --against {key}", name, typed.values(), typed.get(meant))
    for row in rows:
        _check_seeds(row, name, metric)
    baselines = {_rest(row, key): row for row in rows if row.key[key] == name}
    estimates = [_difference(row, baselines.get(_rest(row, key)), metric) for row in rows]
    return Against(name, metric, estimates, _corrected(estimates), tuned)


def _check_seeds(row: Row, name: str, metric: str) -> None:
    if len(_by_seed(row, metric)) < len(row.values.get(metric, ())) + len(row.diverged):
        place = " ".join(row.key.values())
        way_out = "compare arms (without --by), or filter the runs"
        raise UserError(f"table: --against {name}: {place} has several runs of one seed; {way_out}")


def _rest(row: Row, key: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in row.key.items() if name != key)


def _difference(row: Row, baseline: Row | None, metric: str) -> PointEstimate | None:
    if baseline is None or baseline is row or not any(metric in each.values for each in (row, baseline)):
        return None
    return paired(_by_seed(row, metric), _by_seed(baseline, metric))


def _by_seed(row: Row, metric: str) -> Mapping[int, float]:
    """Return what every seed reached; one that diverged the worst there is, unknown where the metric does not tell."""
    return {**row.by_seed.get(metric, {}), **dict.fromkeys(row.diverged, worst(better_direction(metric)))}
