"""The table of any runs: one row per arm, mean and standard deviation of the last evaluation over its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from normexp.errors import UserError
from normexp.evidence.curves import better_direction, is_share
from normexp.evidence.rounding import mean_and_deviation, number
from normexp.evidence.stats import mean, standard_deviation
from normexp.report.frames.chosen import every_rate_was_chosen
from normexp.report.frames.frame import Frame, where
from normexp.report.frames.record import Record
from normexp.report.frames.tidy import text
from normexp.report.metrics import factor, title
from normexp.report.notes import notes
from normexp.report.tables.against import against
from normexp.report.tables.table import EMPTY, Table, Value

if TYPE_CHECKING:
    import pandas as pd

METRICS = (
    "test/accuracy", "test/rmse", "test/bits_per_byte",
    "validation/accuracy", "validation/rmse", "validation/bits_per_byte", "train/loss",
)  # fmt: skip
ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}  # to what is better
MEANING = (
    "Mean ± standard deviation (divisor n - 1; none for one seed) over the seeds at the last step, not the best "
    "one; diverged runs are excluded."
)


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
        """Return `97.3 ± 1.2`, or `97.30` for one seed; `97.3 ± 1.2 (2 of 3 finite)` where runs diverged.

        `(2 of 3 runs)` where some did not, and have no such metric.
        """
        if metric not in self.values:
            return EMPTY
        values = [factor(metric) * value for value in self.values[metric]]
        if not values and self.finite:  # measured something else, and well
            return EMPTY
        if 0 < len(values) < self.finite:  # the others did
            return f"{summary(values, len(values), is_share(metric))} ({len(values)} of {self.seeds} runs)"
        return summary(values, self.seeds, is_share(metric))

    def plain(self, metrics: Sequence[str]) -> dict[str, Value]:
        numbers: dict[str, Value] = {}
        for metric in metrics:
            values, name = self.values.get(metric, []), metric.replace("/", "_")
            numbers[f"{name}_mean"] = mean(values) if values else None
            numbers[f"{name}_sd"] = standard_deviation(values) if len(values) > 1 else None
        return {**self.key, "seeds": self.seeds, "finite": self.finite, **numbers}


def summary(values: Sequence[float], runs: int, percent: bool = False) -> str:
    """Return mean and standard deviation of the values as a table shows them.

    Args:
        values: of the runs that stayed finite.
        runs: how many there were.
    """
    if not values:
        return "diverged" if runs else EMPTY
    centre = mean(values)
    text = mean_and_deviation(centre, standard_deviation(values), percent) if values[1:] else number(centre, percent)
    return text if len(values) == runs else f"{text} ({len(values)} of {runs} finite)"


def table(frame: Frame, by: Sequence[str] = (), beside: str | None = None) -> Table:
    """Build the table of a frame.

    Args:
        by: keys whose values make the rows, instead of the arms.
        beside: an arm, or a value of the first of these keys: the first metric's difference to it stands in every row.

    Raises: UserError for a key that no run has, for such an arm, and where no run can be read.
    """
    frame.check_readable()
    frame, studies = _without_studies(frame)
    places = list(dict.fromkeys(["experiment", "scale", *frame.axes]))
    keys = list(by) or [*places, "arm"]
    keys_of_run = frame.keys(keys)
    rows = rows_of(frame, keys)
    metrics = [name for name in METRICS if any(name in row.values for row in rows)] or _all(rows)
    shown = keys if by else [key for key in keys if key == "arm" or keys_of_run[key].nunique() > 1]
    arrows = [f"{title(metric)}{ARROWS[better_direction(metric)]}" for metric in metrics]
    meaning = MEANING.replace("the seeds", "a row's runs, whatever they differ in,") if by else MEANING
    if beside is not None and not metrics:
        raise UserError("table: --against: no run is finished")
    tuned = beside is not None and every_rate_was_chosen(record.directory for record in frame.records)
    compared = None if beside is None else against(rows, by[0] if by else "arm", beside, metrics[0], tuned)
    return Table(
        title=_title(frame.keys([key for key in places if key not in shown]), by),
        heads=[*shown, "runs" if by else "seeds", "finite", *arrows, *(compared.heads if compared else ())],
        rows=[
            [
                *(row.key[key] for key in shown),
                *(str(row.seeds), f"{row.finite}/{row.seeds}"),
                *map(row.text, metrics),
                *(compared.cells(i) if compared else ()),
            ]
            for i, row in enumerate(rows)
        ],
        values=[row.plain(metrics) | (compared.plain(i) if compared else {}) for i, row in enumerate(rows)],
        texts=len(shown),
        notes={"": [meaning, *([compared.note] if compared else []), *notes(frame), *studies]},
    )


def _without_studies(frame: Frame) -> tuple[Frame, list[str]]:
    """Leave out runs that trained nothing beside runs that trained; return a note about them, too."""
    options = {record.run: record.value("study") for record in frame.records}
    studies = [run for run, option in options.items() if option not in (None, "none")]
    if not studies or "none" not in options.values():
        return frame, []
    note = f"Left out, {len(studies)} that measured something and trained nothing: {'; '.join(studies)}."
    return where(frame, {"study": ["none"]}), [note]


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


def _all(rows: Sequence[Row]) -> list[str]:
    """Return every metric, for runs that have none of the usual ones, as those of a study."""
    return list(dict.fromkeys(metric for row in rows for metric in row.values))


def _title(places: pd.DataFrame, by: Sequence[str]) -> str:
    """Name data set, model and experiment where one word each says it for the whole table, and what makes the rows."""
    named = [f"{key} {places[key].iloc[0]}" for key in places if places[key].nunique() == 1 and places[key].iloc[0]]
    rows = f"{',' if named else ''} by {', '.join(by)}" if by else ""
    title = f"{', '.join(named) or 'runs'}{rows}"
    return f"{title[0].upper()}{title[1:]}."
