"""The row of a table of runs: what some runs reached, as mean and standard deviation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from normexp.evidence.metrics import is_share
from normexp.evidence.rounding import like_ratios, mean_and_deviation, number
from normexp.evidence.stats import mean, standard_deviation
from normexp.report.frames.frame import Frame, text
from normexp.report.frames.record import Record
from normexp.report.metrics import factor
from normexp.report.tables.table import EMPTY, Value

APART = 10.0  # of the largest value to the smallest: from there on the largest alone makes mean and deviation
MEDIAN = "median "  # begins the cells in which there is no mean
MISLEADING = (
    f"where all values are above 0, the largest is at least {APART:g} times the smallest, "
    "and they deviate by more than their mean, which tells of the largest alone"
)
MEANING_OF_MEDIAN = f"Median, lowest to highest value: {MISLEADING}."


@dataclass(frozen=True)
class Row:
    """One arm, or all runs that agree in some keys.

    Args:
        values: metric -> the last value of every run that stayed finite; without what no finished run of it has.
        seeds: number of finished runs.
        finite: how many of them did not diverge.
        by_seed: metric -> seed -> the same values.
        diverged: seeds of the runs that did.
    """

    key: Mapping[str, str]
    values: Mapping[str, Sequence[float]]
    seeds: int
    finite: int
    by_seed: Mapping[str, Mapping[int, float]]
    diverged: Sequence[int] = ()

    def text(self, metric: str) -> str:
        """Return `97.3 ± 1.2`, or `97.30` for one seed; `97.3 ± 1.2 (2 of 3 finite)` where runs or values diverged.

        `(2 of 3 runs)` where some did not, and have no such metric.
        """
        if metric not in self.values:
            return EMPTY
        measured, values = self.values[metric], [factor(metric) * value for value in self._finite(metric)]
        if not values and self.finite:  # measured something else, and well
            return "∞" if math.inf in measured else EMPTY
        if 0 < len(measured) < self.finite:  # the others did
            return f"{summary(values, len(measured), is_share(metric))} ({len(measured)} of {self.seeds} runs)"
        return summary(values, self.seeds, is_share(metric))

    def plain(self, metrics: Sequence[str]) -> dict[str, Value]:
        numbers: dict[str, Value] = {}
        for metric in metrics:
            values, name = self._finite(metric), metric.replace("/", "_")
            numbers[f"{name}_mean"] = mean(values) if values else None
            numbers[f"{name}_sd"] = standard_deviation(values) if len(values) > 1 else None
        return {**self.key, "seeds": self.seeds, "finite": self.finite, **numbers}

    def _finite(self, metric: str) -> list[float]:
        return [value for value in self.values.get(metric, ()) if math.isfinite(value)]


def summary(values: Sequence[float], runs: int, percent: bool = False) -> str:
    """Return mean and standard deviation of the values as a table shows them; the median where these mislead.

    Args:
        values: of the runs that stayed finite.
        runs: how many there were.
    """
    if not values:
        return "diverged" if runs else EMPTY
    text = _median(values) if misleads(values) else _mean(values, percent)
    return text if len(values) == runs else f"{text} ({len(values)} of {runs} finite)"


def misleads(values: Sequence[float]) -> bool:
    """Tell whether mean and standard deviation say nothing of values: `(1.2 ± 5.4)e+181` of such that overflow."""
    apart = len(values) > 1 and min(values) > 0 and max(values) >= APART * min(values)
    return apart and standard_deviation(values) > mean(values)


def centre(values: Sequence[float]) -> float:
    """Return what stands for values in a table: their mean, or the median where that misleads."""
    return statistics.median(values) if misleads(values) else mean(values)


def explained(cells: Iterable[str]) -> list[str]:
    """Return the note below a table that says what a median is there; nothing where no cell has one."""
    return [MEANING_OF_MEDIAN] if any(cell.startswith(MEDIAN) for cell in cells) else []


def _median(values: Sequence[float]) -> str:
    middle, low, high = like_ratios(statistics.median(values), min(values), max(values))
    return f"{MEDIAN}{middle}, {low} to {high}"


def _mean(values: Sequence[float], percent: bool) -> str:
    middle = mean(values)
    return mean_and_deviation(middle, standard_deviation(values), percent) if values[1:] else number(middle, percent)


def rows_of(frame: Frame, keys: Sequence[str]) -> list[Row]:
    """Return a row per combination of what the readable runs have for some keys, in the order of the frame.

    Raises: UserError for a key that no run has.
    """
    for key in keys:
        frame.check_key(key)
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in frame.records:
        if not record.unreadable:
            groups.setdefault(tuple(text(record.value(key)) for key in keys), []).append(record)
    return [_row(dict(zip(keys, values, strict=True)), records) for values, records in groups.items()]


def _row(key: Mapping[str, str], records: Sequence[Record]) -> Row:
    finished = [(record.seed, record) for record in records if record.finished and record.seed is not None]
    done = [(seed, record.metrics) for seed, record in finished if record.state == "done"]
    known = dict.fromkeys(name for _, record in finished for name in record.metrics)  # also where none has a value
    last = {name: [(seed, float(run[name][-1])) for seed, run in done if len(run.get(name, ()))] for name in known}
    return Row(
        key,
        values={name: [value for _, value in each] for name, each in last.items()},
        seeds=len(finished),
        finite=len(done),
        by_seed={name: dict(each) for name, each in last.items()},
        diverged=[seed for seed, record in finished if record.state != "done"],
    )
