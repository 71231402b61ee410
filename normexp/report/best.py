"""`normexp best`: which value of every swept hyperparameter is best for each arm, on the validation split."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from normexp.errors import UserError, unknown
from normexp.evidence.curves import better_direction
from normexp.evidence.stats import mean, standard_deviation
from normexp.report.frame import Frame
from normexp.report.labels import NOTE, PLACES
from normexp.report.measurements import title
from normexp.report.table import Table
from normexp.report.tables import EMPTY, Row, rows_of

MEASURES = ("validation/accuracy", "validation/rmse", "validation/loss")
MEANING = "Best by the mean over the seeds at the last step; a value with which a run diverged is never the best."


def best(frame: Frame, over: Sequence[str] = (), metric: str | None = None) -> Table:
    """Return one row per arm: its best combination, the next best one, and what to doubt about the choice.

    Args:
        over: the hyperparameters; by default every key that varies and has numbers.
        metric: by default that of the validation split.

    Raises: UserError where nothing was swept, or no run has the metric.
    """
    frame.check_readable()
    metric = _metric(frame, metric)
    over = list(over) or [key for key in frame.varying if key != "norm" and _is_swept(frame, key)]
    if not over:
        raise UserError("best: no hyperparameter varies between these runs; sweep one: optim.lr=0.01,0.03,0.1")
    others = ["experiment", "scale", *PLACES, "norm", *(key for key in frame.varying if key not in (*over, NOTE))]
    arms = list(dict.fromkeys(key for key in others if key not in over))
    rows = rows_of(frame, frame.keys([*arms, *over]))
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.key[key] for key in arms), []).append(row)
    shown = [key for i, key in enumerate(arms) if key == "norm" or len({group[i] for group in groups}) > 1]
    lines = [_line(group, shown, over, metric) for group in groups.values()]
    return Table(
        title=f"Best {', '.join(over)} by {title(metric)}.",
        heads=[*shown, *over, title(metric), "next best", "remark"],
        rows=lines,
        values=[_plain(group, shown, over, metric) for group in groups.values()],
        texts=len(shown),
        notes={"": [MEANING, *frame.left_out]},
    )


def _metric(frame: Frame, metric: str | None) -> str:
    known = list(dict.fromkeys(name for record in frame.records for name in record.metrics))
    if metric is None:
        metric = next((name for name in MEASURES if name in known), None)
        if metric is None:
            raise UserError("best: no validation split was measured (dataset.validation); --metric NAME takes another")
    if metric not in known:
        raise unknown("metric", metric, known)
    if better_direction(metric) is None:
        raise UserError(f"best: whether more or less {metric} is better cannot be told from its name")
    return metric


def _is_swept(frame: Frame, key: str) -> bool:
    return all(_number(text) is not None for text in frame.keys([key])[key] if text)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _ranked(group: Sequence[Row], metric: str) -> list[Row]:
    """Return the combinations that every seed survived, the best first."""
    sign = -1 if better_direction(metric) == "higher" else 1
    whole = [row for row in group if 0 < len(row.values.get(metric, ())) == row.seeds]
    finite = [row for row in whole if all(map(math.isfinite, row.values[metric]))]
    return sorted(finite, key=lambda row: sign * mean(row.values[metric]))


def _line(group: Sequence[Row], shown: Sequence[str], over: Sequence[str], metric: str) -> list[str]:
    ranked = _ranked(group, metric)
    names = [group[0].key[key] for key in shown]
    if not ranked:
        return [*names, *(EMPTY for _ in over), EMPTY, EMPTY, "none without a diverged run"]
    first, *rest = ranked
    after = f"{', '.join(rest[0].key[key] for key in over)}: {rest[0].text(metric)}" if rest else EMPTY
    remarks = [*_edges(first, group, over), *_noise(first, rest, metric)]
    return [*names, *(first.key[key] for key in over), first.text(metric), after, "; ".join(remarks) or EMPTY]


def _plain(
    group: Sequence[Row], shown: Sequence[str], over: Sequence[str], metric: str
) -> dict[str, str | int | float]:
    first = next(iter(_ranked(group, metric)), None)
    names: dict[str, str | int | float] = {key: group[0].key[key] for key in shown}
    if first is None:
        return names
    return {**names, **{key: first.key[key] for key in over}, metric: mean(first.values[metric]), "n": first.seeds}


def _edges(first: Row, group: Sequence[Row], over: Sequence[str]) -> Iterator[str]:
    """Yield a warning for every value at the edge of its grid: a better one may lie beyond."""
    for key in over:
        tried = sorted({number for row in group if (number := _number(row.key[key])) is not None})
        value = _number(first.key[key])
        if len(tried) > 1 and value in (tried[0], tried[-1]):
            yield f"{key}={first.key[key]} is the {'smallest' if value == tried[0] else 'largest'} tried"


def _noise(first: Row, rest: Sequence[Row], metric: str) -> Iterator[str]:
    """Yield a warning where the next best is within one standard error, or cannot be told apart at all."""
    if not rest:
        return
    ours, theirs = first.values[metric], rest[0].values[metric]
    if min(len(ours), len(theirs)) < 2:
        yield "one seed tells no noise"
    elif abs(mean(ours) - mean(theirs)) <= math.hypot(*(standard_deviation(v) / len(v) ** 0.5 for v in (ours, theirs))):
        yield "within noise of the next"
