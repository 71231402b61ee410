"""`normexp best`: which value of every swept hyperparameter is best for each arm, on the validation split."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from normexp.errors import UserError
from normexp.evidence.metrics import MEASURES, better_direction, cost_sign
from normexp.evidence.ranking import Rank, loss_beside, rank_of
from normexp.evidence.stats import mean, paired, without_last_bits
from normexp.report.frames.frame import Frame, text
from normexp.report.frames.labels import PLACES, setting
from normexp.report.frames.options import NOTE
from normexp.report.frames.record import Record
from normexp.report.metrics import check_metric, title
from normexp.report.notes import notes
from normexp.report.tables.row import Row, rows_of
from normexp.report.tables.sensitivity import sensitivity_table
from normexp.report.tables.table import EMPTY, Table, Value

if TYPE_CHECKING:
    from normexp.report.figures.chart import Chart

MEANING = "Best by the mean over the seeds at the last step; a value with which a run diverged is never the best."


@dataclass(frozen=True)
class Choice:
    """What was tried of some hyperparameters.

    Args:
        over: the hyperparameters.
        metric: by which is chosen.
        shown: the keys that tell the arms apart.
        groups: the combinations that were tried, of every arm.
        frame: the runs.
    """

    over: list[str]
    metric: str
    shown: list[str]
    groups: list[list[Row]]
    frame: Frame


def combinations_tried(frame: Frame, over: Sequence[str] = (), metric: str | None = None) -> Choice:
    """Return every combination of hyperparameters that was tried, by arm.

    Args:
        over: the hyperparameters; by default those that were `swept`.
        metric: by default that of the validation split.

    Raises: UserError where nothing was swept, or no run has the metric.
    """
    frame.check_readable()
    metric = _metric(frame, metric)
    over = list(over) or swept(frame)
    if not over:
        raise UserError("best: no hyperparameter varies between these runs; sweep one: optim.lr=0.01,0.03,0.1")
    others = ["experiment", "scale", *PLACES, "norm", *(key for key in frame.varying if key not in (*over, NOTE))]
    arms = list(dict.fromkeys(key for key in others if key not in over))
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows_of(frame, [*arms, *over]):
        groups.setdefault(tuple(row.key[key] for key in arms), []).append(row)
    return Choice(over, metric, _shown(arms, list(groups)), list(groups.values()), frame)


def _shown(arms: Sequence[str], groups: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the keys that tell arms apart: where each is, its scheme, and what varies for one data set and network."""
    where = [i for i, key in enumerate(arms) if key in ("experiment", "scale", *PLACES)]
    varying = {i for i in where if len({group[i] for group in groups}) > 1}
    for _, here in itertools.groupby(sorted(groups, key=lambda each: _at(each, where)), lambda each: _at(each, where)):
        varying |= {i for i, values in enumerate(zip(*here, strict=True)) if len(set(values)) > 1}
    return [key for i, key in enumerate(arms) if key == "norm" or i in varying]


def _at(group: Sequence[str], where: Sequence[int]) -> list[str]:
    return [group[i] for i in where]


def best(choice: Choice, depends: Table | None = None) -> Table:
    """Return one row per arm: its best combination, the next best one, and what to doubt about the choice.

    Args:
        depends: the table of `dependence`; its numbers stand in the same row of a CSV.
    """
    shown, over, metric = choice.shown, choice.over, choice.metric
    further = {row["arm"]: row for row in depends.values} if depends else {}
    return Table(
        title=f"Best {', '.join(over)} by {title(metric)}.",
        heads=[*shown, *over, title(metric), "next best", "remark"],
        rows=[_line(group, choice) for group in choice.groups],
        values=[_plain(group, choice) | _beside(further.get(_name(group, shown), {})) for group in choice.groups],
        texts=len(shown),
        remarks=["remark"],
        notes={"": [MEANING, *notes(choice.frame)]},
    )


def dependence(choice: Choice) -> Table | None:
    """Return how much every arm that has it depends on the hyperparameter; None for several, or too few values."""
    if len(choice.over) != 1:
        return None
    groups: dict[str, list[Record]] = {}
    for record in choice.frame.records:
        if not record.unreadable and _place(text(record.value(choice.over[0]))) is not None:
            name = ", ".join(_told(key, text(record.value(key))) for key in choice.shown)
            groups.setdefault(name, []).append(record)
    return sensitivity_table(groups, choice.over[0], choice.metric)


def curve(choice: Choice) -> Chart | None:
    """Return the figure of a choice: the metric over each hyperparameter; None where no value of it has a number.

    A value at which every combination has a diverged run has a cross for each of these.
    """
    import pandas as pd

    from normexp.report.figures.choice import choice as chart

    rows = [
        {"line": _arm(group, choice.shown), "run": run, "key": key, "place": place, "value": value, "ended": ended}
        for group, key in itertools.product(choice.groups, choice.over)
        for place, row in _profile(group, key, choice.metric).items()
        for run, (value, ended) in enumerate(_drawn(row, choice.metric))
    ]
    schemes = {_arm(group, choice.shown): group[0].key.get("norm", "") for group in choice.groups}
    if all(row["ended"] for row in rows):
        return None
    return chart(pd.DataFrame(rows), choice.over, choice.metric, schemes, notes(choice.frame))


def _drawn(row: Row, metric: str) -> list[tuple[float, bool]]:
    """Return (value, whether it diverged) of every run; one that diverged has no value."""
    return [(value, False) for value in row.values.get(metric, ())] + [(math.nan, True)] * (row.seeds - row.finite)


def _arm(group: Sequence[Row], shown: Sequence[str]) -> str:
    """Return what an arm is called: its scheme, then what else tells it apart."""
    from normexp.report.figures.words import of_arm

    return of_arm(_name(group, shown))


def _name(group: Sequence[Row], shown: Sequence[str]) -> str:
    return ", ".join(_told(name, group[0].key[name]) for name in shown)


def _told(name: str, value: str) -> str:
    return value if name == "norm" else setting(name, value)


def _profile(group: Sequence[Row], key: str, metric: str) -> dict[float, Row]:
    """Return the best combination at every value of one hyperparameter; a diverged one where there is no other."""
    found: dict[float, Row] = {}
    for row in [*_ranked(group, [key], metric), *(row for row in group if row.finite < row.seeds)]:
        if (place := _place(row.key[key])) is not None:
            found.setdefault(place, row)
    return dict(sorted(found.items()))


def _metric(frame: Frame, metric: str | None) -> str:
    known = list(dict.fromkeys(name for record in frame.records for name in record.metrics))
    if metric is None:
        metric = next((name for name in MEASURES if name in known), None)
        if metric is None:
            raise UserError("best: no validation split was measured (dataset.validation); --metric NAME takes another")
    check_metric(metric, known)
    if better_direction(metric) is None:
        raise UserError(f"best: whether more or less {metric} is better cannot be told from its name")
    return metric


def swept(frame: Frame) -> list[str]:
    """Return the hyperparameters that were swept: keys with numbers, and several of them for one scheme in one place.

    What a data set is read with makes another task, on which a metric means something else: --over takes it in.
    """
    keys = [key for key in frame.varying if key != "norm" and not key.startswith("dataset.")]
    table = frame.keys(["experiment", "scale", *PLACES, "norm", *keys])
    arms = [rows for _, rows in table.groupby(["experiment", "scale", *PLACES, "norm"], sort=False)]
    return [key for key in keys if _has_numbers(table[key]) and any(len({*rows[key]} - {""}) > 1 for rows in arms)]


def _has_numbers(texts: Iterable[str]) -> bool:
    return all(_number(text) is not None for text in texts if text)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _place(text: str) -> float | None:
    """Return where a value stands on an axis; None for one that has no place there, as an infinite one."""
    number = _number(text)
    return number if number is not None and math.isfinite(number) else None


def _ranked(group: Sequence[Row], over: Sequence[str], metric: str) -> list[Row]:
    """Return the combinations that every seed survived, the best first, as `rank_of` orders them."""
    whole = [row for row in group if 0 < len(row.values.get(metric, ())) == row.seeds]
    finite = [row for row in whole if all(map(math.isfinite, row.values[metric]))]
    return sorted(finite, key=lambda row: _rank(row, over, metric))


def _rank(row: Row, over: Sequence[str], metric: str) -> Rank:
    losses = row.values.get(loss_beside(metric), ())
    loss = mean(losses) if len(losses) == row.seeds else math.inf
    return rank_of(cost_sign(metric) * mean(row.values[metric]), loss, [_number(row.key[key]) or 0.0 for key in over])


def _line(group: Sequence[Row], choice: Choice) -> list[str]:
    over, metric, ranked = choice.over, choice.metric, _ranked(group, choice.over, choice.metric)
    names = [group[0].key[key] for key in choice.shown]
    remark = _remark(group, choice) or EMPTY
    if not ranked:
        return [*names, *(EMPTY for _ in over), EMPTY, EMPTY, remark]
    first, *rest = ranked
    after = f"{', '.join(rest[0].key[key] for key in over)}: {rest[0].text(metric)}" if rest else EMPTY
    return [*names, *(first.key[key] for key in over), first.text(metric), after, remark]


def _remark(group: Sequence[Row], choice: Choice) -> str:
    """Return what to doubt about the choice for an arm, or why there is none; mostly nothing."""
    metric, ranked = choice.metric, _ranked(group, choice.over, choice.metric)
    if not ranked:
        measured = any(metric in row.values for row in group)
        return "none without a diverged run" if measured else f"has no {title(metric)}"
    first, *rest = ranked
    return "; ".join([*_edges(first, group, choice.over), *_ties(ranked, choice), *_noise(first, rest, metric)])


def _plain(group: Sequence[Row], choice: Choice) -> dict[str, Value]:
    first = next(iter(_ranked(group, choice.over, choice.metric)), None)
    names: dict[str, Value] = {key: group[0].key[key] for key in choice.shown}
    chosen = {key: first.key[key] if first else None for key in choice.over}
    value = mean(first.values[choice.metric]) if first else None
    seeds = first.seeds if first else None
    return {**names, **chosen, choice.metric: value, "n": seeds, "remark": _remark(group, choice)}


def _beside(row: Mapping[str, Value]) -> dict[str, Value]:
    """Return the columns of a row on the dependence that a row on the best value lacks; its `n` is of all values."""
    renamed = {"n": "n of every value"}
    return {renamed.get(key, key): value for key, value in row.items() if key != "arm"}


def _edges(first: Row, group: Sequence[Row], over: Sequence[str]) -> Iterator[str]:
    """Yield a warning for every value at the edge of its grid: a better one may lie beyond."""
    for key in over:
        tried = sorted({number for row in group if (number := _number(row.key[key])) is not None})
        value = _number(first.key[key])
        if len(tried) > 1 and value in (tried[0], tried[-1]):
            yield f"{key}={first.key[key]} is the {'smallest' if value == tried[0] else 'largest'} tried"


def _ties(ranked: Sequence[Row], choice: Choice) -> Iterator[str]:
    """Yield which combinations have the same mean as the first."""
    means = [without_last_bits(mean(row.values[choice.metric])) for row in ranked]
    tied = [row for row, value in zip(ranked[1:], means[1:], strict=True) if value == means[0]]
    if tied:
        yield f"tied with {' and '.join(', '.join(row.key[key] for key in choice.over) for row in tied)}"


def _noise(first: Row, rest: Sequence[Row], metric: str) -> Iterator[str]:
    """Yield a warning where the 95 % interval of the paired difference from the next best holds 0, or there is none."""
    if not rest:
        return
    difference = paired(first.by_seed[metric], rest[0].by_seed[metric])
    if difference is None:
        yield f"{'one seed' if 1 in (first.seeds, rest[0].seeds) else 'no two seeds in common'}: noise unknown"
    elif 0.0 in difference.confidence_interval():
        yield "within noise of the next"
