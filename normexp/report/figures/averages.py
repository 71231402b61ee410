"""Several runs as one line: what mean, band and cross mean, in every figure.

The mean at a step is over the runs that are still finite there. A run that diverged counts up to its last finite
value, which is marked by a cross; it is not continued, and from there on the mean is over the others. The caption
says how many ended. No run is left out. Runs that were evaluated at other steps than the rest count where all were,
so that a line never jumps between subsets of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from normexp.evidence.stats import t_interval
from normexp.report.figures.chart import UNBOUNDED, Band, Chart, Numbers, Range
from normexp.report.figures.styles import LineStyle

BEHIND = LineStyle("#d4d4d4", width=0.9)
LARGEST_LOG = 700.0  # exp beyond it is no number


@dataclass(frozen=True)
class Line:
    """One line of a panel.

    Args:
        x, mean, low, high: of every step; low and high are NaN where fewer than two runs are left, or without a band.
        median: where the mean is a median, see `misleads`.
        crosses: (x, y) where a diverged run was last finite; y is NaN where it never was.
        runs: how many there are, diverged ones included.
        top: the largest value of the runs that did not diverge; NaN where every one did.
    """

    name: str
    style: LineStyle
    x: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    crosses: tuple[tuple[float, float], ...]
    runs: int
    top: float
    median: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def behind(self) -> bool:
        """Whether it is grey behind the lines that its panel is about."""
        return self.style == BEHIND

    @property
    def is_there(self) -> bool:
        """Whether there is anything of it to see: a statistic that an arm lacks has neither points nor crosses."""
        return bool(len(self.x) or self.crosses)

    @property
    def reach(self) -> Numbers:
        """The larger of mean and upper end at every step."""
        return np.fmax(self.mean, self.high)

    def beyond(self, high: float) -> npt.NDArray[np.bool_]:
        """Return where the line or its band is above a value, but for the steps where crosses say so."""
        said = [x for x, y in self.crosses if y > high]
        return (self.reach > high) & ~np.isin(self.x, said)


@dataclass(frozen=True)
class MeanWithBand:
    """Mean and interval of the finite values of one sample; NaN where there is none. See `misleads` for `median`."""

    mean: float
    low: float
    high: float
    median: bool = False


@lru_cache(maxsize=16)
def lines_of(chart: Chart, panel: str) -> Sequence[Line]:
    """Return the lines of one panel, in the order of the legend; the picture and its caption ask for the same ones."""
    data = chart.by_panel()[panel]
    if not chart.colour:
        return [_line(chart, panel, "", chart.styles.get("", LineStyle("#000000")), data)]
    groups = dict(iter(data.groupby(data[chart.colour].astype(str), sort=False)))
    lines = [_line(chart, panel, name, style, groups[name]) for name, style in chart.styles.items() if name in groups]
    shown = chart.panel_of(panel).shown
    return [line if not shown or line.name in shown else _behind(line) for line in lines]


def _behind(line: Line) -> Line:
    """Return a line without name, band and crosses, which another panel has."""
    none = np.full(len(line.x), np.nan)
    return replace(line, name="", style=BEHIND, low=none, high=none, crosses=())


def _line(chart: Chart, panel: str, name: str, style: LineStyle, data: pd.DataFrame) -> Line:
    log = chart.log_in("y", panel)
    data = data.assign(
        run=data.get("run", pd.Series(0, index=data.index)), ended=data.get("ended", pd.Series(False, index=data.index))
    )
    table = data.pivot(index=chart.x, columns="run", values=chart.y).sort_index()
    kept = some(table) if chart.mark == "interval" else alive(table)
    possible = chart.panel_of(panel).possible
    rows = [summary(row[np.isfinite(row)], chart.band, log, possible) for row in kept.to_numpy(dtype=np.float64)]
    mean, low, high = (np.array([getattr(row, part) for row in rows]) for part in ("mean", "low", "high"))
    median = np.array([row.median for row in rows], dtype=np.bool_)
    x = kept.index.to_numpy(dtype=np.float64)
    crosses, top = _ended(chart, data)
    return Line(name, style, x, mean, low, high, crosses, table.shape[1], top, median)


def _ended(chart: Chart, data: pd.DataFrame) -> tuple[tuple[tuple[float, float], ...], float]:
    """Return the crosses of a line, and the largest value of the runs that did not diverge."""
    runs = set(data.loc[data["ended"], "run"])
    going = data[~data["ended"]] if chart.mark == "interval" else data[~data["run"].isin(runs)]
    values = going[chart.y].to_numpy(dtype=np.float64)
    top = max(values[np.isfinite(values)], default=np.nan)
    if chart.mark == "interval":  # every place has runs of its own
        return tuple((float(x), np.nan) for x in data.loc[data["ended"], chart.x]), top
    crosses = (_last_finite(rows[chart.x], rows[chart.y]) for run, rows in data.groupby("run") if run in runs)
    return tuple(crosses), top


def some(table: pd.DataFrame) -> pd.DataFrame:
    """Return the places at which any run has a finite value; a table as `alive` takes it."""
    return table[np.isfinite(table.to_numpy(dtype=np.float64)).any(axis=1)]


def alive(table: pd.DataFrame) -> pd.DataFrame:
    """Return the steps at which every run that got that far has a finite value.

    Args:
        table: a row per step, a column per run; NaN where a run has no value.
    """
    values = table.to_numpy(dtype=np.float64)
    finite = np.isfinite(values)
    far = finite[::-1].cumsum(0)[::-1] > 0  # a finite value comes here or later
    return table[finite.any(1) & (finite | ~far).all(1)]


def _last_finite(x: pd.Series[float], y: pd.Series[float]) -> tuple[float, float]:
    """Return where one run was last finite; where it ended, without a height, if it never was."""
    finite = y[np.isfinite(y)]
    return (float(x[finite.index[-1]]), float(finite.iloc[-1])) if len(finite) else (float(x.max()), float("nan"))


def summary(values: Numbers, band: Band, log: bool = False, possible: Range = UNBOUNDED) -> MeanWithBand:
    """Return mean and band of finite values. On a logarithmic axis sd is the range, ci that of the logarithms.

    Where a t interval misleads it is the median, with the range.

    Args:
        possible: where the band ends at the latest, unless a value lies beyond.
    """
    if not len(values):
        return MeanWithBand(np.nan, np.nan, np.nan)
    found = _band(values, band, log)
    if band == "ci" and not log and misleads(found, possible):
        return MeanWithBand(float(np.median(values)), float(values.min()), float(values.max()), True)
    ends = min(possible[0], values.min()), max(possible[1], values.max())
    low, high = np.clip([found.low, found.high], *ends).tolist()
    return MeanWithBand(found.mean, low, high)


def misleads(found: MeanWithBand, possible: Range) -> bool:
    """Tell whether a t interval says little of the runs, whose values lie to one side or in clusters.

    It does where it reaches beyond what is possible, or is wider than the mean of what is never negative.
    """
    beyond = found.low < possible[0] or found.high > possible[1]
    return beyond or (possible[0] == 0 and found.high - found.low > abs(found.mean))


def centre(values: Numbers, log: bool) -> float:
    """Return the mean; on a logarithmic axis, where it would be near the largest value, the geometric one.

    That is of positive values; where there are others, it is the median.
    """
    if not log:
        return float(values.mean())
    return float(np.exp(np.log(values).mean())) if values.min() > 0 else float(np.median(values))


def _band(values: Numbers, band: Band, log: bool) -> MeanWithBand:
    if band == "ci":
        return _confidence(values, log)
    mean = centre(values, log)
    if len(values) < 2 or band == "none":
        return MeanWithBand(mean, np.nan, np.nan)
    if band == "range" or log:
        return MeanWithBand(mean, float(values.min()), float(values.max()))
    deviation = float(values.std(ddof=1))
    return MeanWithBand(mean, mean - deviation, mean + deviation)


def _confidence(values: Numbers, log: bool) -> MeanWithBand:
    """Return the mean and its 95 % t interval; on a logarithmic axis the geometric one, of the positive values."""
    positive = values[values > 0]
    log = log and len(positive) > 0
    sample = np.log(positive) if log else values
    interval = t_interval(sample.tolist())
    ends = (interval.low, interval.high) if interval else (np.nan, np.nan)
    numbers = [float(np.exp(min(each, LARGEST_LOG))) if log else float(each) for each in (sample.mean(), *ends)]
    mean, low, high = numbers
    return MeanWithBand(mean, low, high)
