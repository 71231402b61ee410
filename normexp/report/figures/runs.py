"""The curves of run directories, as `normexp plot` draws them.

A panel per metric, data set and model, of an experiment's runs per metric, experiment and scale.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from normexp.errors import UserError, listed
from normexp.evidence.curves import Cell
from normexp.evidence.metrics import is_share
from normexp.records import FINISHED
from normexp.report.figures.chart import Chart, Panel, Range
from normexp.report.figures.scales import OFF_SCALE, value_text
from normexp.report.figures.styles import LineStyle, of_arms
from normexp.report.figures.words import of_arm
from normexp.report.frames.frame import Frame
from normexp.report.frames.labels import PLACES
from normexp.report.frames.record import Record
from normexp.report.metrics import bad_end, check_metric, drawn_unasked, factor, possible, title

SETTLED, AIR = 0.1, 0.05  # of a panel's height: what the ends of its lines take to be enlarged; of what is then shown
LOG_DECADES = 1.5  # a positive metric whose means span more than this gets a logarithmic axis


def curves_of(frame: Frame, metric: str | None = None, notes: Sequence[str] = (), by: Sequence[str] = ()) -> Chart:
    """Return the chart of the finished runs.

    Args:
        metric: one metric; None takes the training loss and what runs are chosen by.
        by: keys whose values make the lines, instead of the arms.

    Raises: UserError where no run is finished, or none has the metric, and for a key that no run has; where none is
        named, if the runs have none of the usual ones, as those of a study.
    """
    data = _finished(frame)
    if by:
        data = data.assign(line=data["run"].map(_named_by(frame, by)))
    known = list(dict.fromkeys(data["metric"]))
    if metric is not None:
        check_metric(metric, known)
    places = sorted(dict.fromkeys(data["place"]))
    wanted_by_place = {place: _metrics(data[data["place"] == place], metric) for place in places}
    if not any(wanted_by_place.values()):
        raise UserError(f"these runs have no train/loss or other usual metric; --metric takes {listed(known, '')}")
    panels: dict[str, Panel] = {}
    parts = []
    for place, names in wanted_by_place.items():
        for name in names:
            part = _values(data, place, name)
            made = _panels(part, name, place if len(places) > 1 else "")
            parts += [part.assign(panel=panel) for panel in made]
            panels |= made
    both = pd.concat(parts, ignore_index=True)
    every = _styles(data)
    styles = {line: every[line] for line in dict.fromkeys(both["line"])}
    return Chart(
        both, "line", x="step", y="value", colour="line", panel="panel", band="sd", labels={"x": "step"},
        title=places[0] if len(places) == 1 else "", styles=styles, panels=panels,
        columns=max(map(len, wanted_by_place.values())) if len(places) > 1 else 0, share_y="none", notes=tuple(notes),
    )  # fmt: skip


def legend(frame: Frame) -> dict[Cell, tuple[str, LineStyle]]:
    """Return name and style of every cell with a finished run, as the chart of all has them."""
    data = _finished(frame)
    styles, lines = _styles(data), dict(zip(data["run"], data["line"], strict=True))
    shown = [(record.cell, lines[record.run]) for record in frame.records if record.run in lines]
    return {cell: (line, styles[line]) for cell, line in shown}


def _styles(data: pd.DataFrame) -> dict[str, LineStyle]:
    return of_arms(dict(zip(data["line"], data["norm"].astype(str), strict=True)))


def _finished(frame: Frame) -> pd.DataFrame:
    """Return the curves of finished runs, with what each run is called. Raises UserError where there are none."""
    curves = frame.curves
    curves = curves[curves["status"].isin(FINISHED)]
    if curves.empty:
        counts = Counter(str(status) for status in frame.runs["status"])
        raise UserError(f"no finished run to plot ({', '.join(f'{k}: {n}' for k, n in sorted(counts.items()))})")
    place, line = (curves["run"].map({each.run: of(each) for each in frame.records}) for of in (_place, _name))
    words = {name: of_arm(name) for name in line.unique()}  # of thousands of rows they would take minutes
    return curves.assign(line=line.map(words), place=place, norm=curves["run"].map(frame.runs.set_index("run")["norm"]))


def _place(record: Record) -> str:
    """Return in whose panel a run is drawn: of its experiment at its scale, and of its data set and model."""
    places = (value for axis, value in record.point if axis in PLACES)  # of an experiment only those that its grid has
    return " · ".join(map(str, filter(None, (record.experiment, record.scale, *places))))


def _name(record: Record) -> str:
    """Return what a run's line is called, before it is put into words: `With BN, batch_size=16`."""
    open_axes = [(axis, value) for axis, value in record.point if axis not in PLACES and value is not None]
    return ", ".join([record.arm, *(f"{axis}={value_text(value)}" for axis, value in open_axes)])


def _named_by(frame: Frame, by: Sequence[str]) -> dict[str, str]:
    """Return what each run's line is called: `Batch norm, learning rate 0.1` by norm and optim.lr."""
    told = frame.keys(by)
    names = {
        str(run): ", ".join(v if key == "norm" else f"{key}={v}" for key, v in zip(by, values, strict=True))
        for run, values in zip(told.index, told.itertuples(index=False), strict=True)
    }
    words = {name: of_arm(name) for name in set(names.values())}
    return {run: words[name] for run, name in names.items()}


def _metrics(data: pd.DataFrame, metric: str | None) -> list[str]:
    known = set(data["metric"])
    return [name for name in [metric] if name in known] if metric else drawn_unasked(known)


def _values(data: pd.DataFrame, place: str, metric: str) -> pd.DataFrame:
    rows = data[(data["place"] == place) & (data["metric"] == metric)]
    ended = rows["status"] == "diverged"
    return rows.assign(value=factor(metric) * rows["value"], ended=ended)


def _panels(part: pd.DataFrame, metric: str, place: str) -> dict[str, Panel]:
    """Return the panels of a metric by name: one, and where its lines end too close to be told apart that part of it.

    Args:
        place: whose runs these are, of several; each has steps of its own, and none has a panel enlarged.
    """
    top = _top(part)
    log = frozenset("y" if _is_log(part[part["value"] <= top], metric) else "")
    first, last = float(part["step"].min()), float(part["step"].max())
    steps = (first, last) if place and first < last else None
    name = f"{place} {metric}"
    made = {name: Panel(place, title(metric), possible(metric), bad_end(metric), steps, log=log, top=top)}
    window = None if place else _settled(part, metric)
    if window:
        made[f"{name} enlarged"] = Panel("enlarged", title(metric), possible(metric), bad_end(metric), *window)
    return made


def _settled(part: pd.DataFrame, metric: str) -> tuple[Range, Range] | None:
    """Return the steps and the values of the second half of training, if the lines of a share hide each other there."""
    means = _means(part)
    steps = means.index.get_level_values("step")
    if not is_share(metric) or means.index.get_level_values("line").nunique() < 2:
        return None
    middle, last = float(steps.max()) / 2, float(steps.max())
    late = part.loc[~part["ended"] & (part["step"] >= middle), "value"]
    ends = means[steps >= middle]
    if not 0 < ends.max() - ends.min() < SETTLED * (means.max() - means.min()):
        return None
    air = AIR * (late.max() - late.min())
    return (middle, last), (float(late.min()) - air, float(late.max()) + air)


def _means(data: pd.DataFrame) -> pd.Series[float]:
    """Return the mean of every line at every step, over the runs that did not end there."""
    return data[~data["ended"]].groupby(["line", "step"])["value"].mean().dropna()


def _top(data: pd.DataFrame) -> float:
    """Return up to where values are shown; infinity where no run has a spike.

    A loss of 10^4 at step 10 of one run would make one line of all the others. A spike is ten times above where runs
    begin, and above where every line is in nine tenths of its evaluations: a line that stays far up is shown.
    """
    means = _means(data)
    if means.empty:
        return math.inf
    lines = means.groupby(level="line")
    start = float(lines.first().quantile(0.5, "lower"))
    bound = OFF_SCALE * max(start, *(_usual(line) for _, line in lines))
    return bound if data.loc[~data["ended"], "value"].max() > bound > 0 else math.inf


def _usual(line: pd.Series[float]) -> float:
    """Return the largest value of a line without its highest tenth, which is one evaluation at least."""
    dropped = max(1, len(line) // 10) if len(line) > 2 else 0
    return float(line.sort_values().iloc[-1 - dropped])


def _is_log(data: pd.DataFrame, metric: str) -> bool:
    means = _means(data)
    if is_share(metric) or means.empty or means.min() <= 0:
        return False
    return math.log10(means.max() / means.min()) > LOG_DECADES
