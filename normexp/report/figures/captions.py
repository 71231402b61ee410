"""What a figure shows, in sentences that stand beside it: marks, bands, and everything that is special."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from normexp.report.figures.averages import Line, MeanWithBand, lines_of, summary
from normexp.report.figures.chart import WHOLE, Chart
from normexp.report.figures.heat import goes_on
from normexp.report.figures.lines import takes_turns
from normexp.report.figures.scales import ceiling, short

MEDIAN = (
    "Hollow: median, with a bar from the lowest to the highest run, where the interval is wider than the mean itself "
    "or leaves the possible values."
)
BANDS = {"sd": "± 1 standard deviation", "range": "from the lowest to the highest run", "ci": "95 % t interval"}


def caption(chart: Chart) -> str:
    """Return the caption: the chart's own sentences, what marks mean, the notes."""
    kinds = {"heat": _heat, "contour": lambda _: ()}
    said = kinds.get(chart.mark, _rows if chart.has_rows else _lines)(chart)
    return " ".join(filter(None, [*chart.sentences, *said, *chart.notes]))


def _heat(chart: Chart) -> Iterator[str]:
    if goes_on(chart):
        yield "Values far above the others have the colour at the scale's end."


def _lines(chart: Chart) -> Iterator[str]:
    panels = {panel: lines_of(chart, panel) for panel in chart.by_panel()}
    lines = [line for each in panels.values() for line in each]
    if chart.band != "none" and "run" in chart.data:
        yield _meaning(chart, lines)
    if chart.mark == "interval" and any(line.median.any() for line in lines):
        yield MEDIAN
    there = {line.name for line in lines if line.is_there}
    if lacking := [name for name in dict.fromkeys(line.name for line in lines) if name and name not in there]:
        yield f"Without a value, so without a line: {'; '.join(lacking)}."
    if any(line.crosses for line in lines):
        yield from _crosses(chart, panels)
    if chart.mark == "interval" and any(map(_are_moved, panels.values())):
        yield "Points at one place are moved sideways, by a tenth of a step at most, so that none hides another."
    if any(chart.panel_of(panel).shown for panel in panels):
        yield "Every panel shows all lines, in grey those that another panel names."
    if beyond := _beyond(chart, panels):
        reached = "; ".join(f"{name}, up to {short(top, 2)}" for name, top in beyond.items())
        yield f"Triangles: beyond the panel's top there. {reached}."
    if takes_turns(chart):
        yield "Where lines coincide, the upper ones have gaps."
    if axis := _linear_around_0(_has_zero_across(chart, lines), _has_zero(chart, lines)):
        yield f"{axis} linear around 0, logarithmic beyond the first tick."


def _crosses(chart: Chart, panels: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    """Say where runs that diverged have their crosses, and what the mean is over then."""
    beside = "of several lines at one place side by side" * any(map(_share_place, panels.values()))
    if chart.mark == "interval":
        shown = [panels[WHOLE]] if WHOLE in panels else panels.values()
        counts = Counter(line.name for each in shown for line in each for _ in line.crosses)
        ended = "; ".join(f"{count} of {name}" for name, count in counts.items())
        others = "; the mean is over the others" * any(line.runs > 1 for each in panels.values() for line in each)
        yield f"Crosses at the panel's edge{beside and f', {beside}'}: runs that diverged there, {ended}{others}."
    else:
        edge = f"at the panel's edge if beyond it{beside and f'; {beside}'}"
        yield f"Crosses: where a run that diverged was last finite ({edge})."
        yield f"From there on the mean is over the others: {_ended(chart, panels)}."


def _linear_around_0(across: bool, up: bool) -> str:
    if across:
        return "Both axes are" if up else "The horizontal axis is"
    return "The axis is" if up else ""


def _are_moved(lines: Sequence[Line]) -> bool:
    """Tell whether two lines of a panel have points at one place."""
    places = [place for line in lines if not line.behind for place in line.x.tolist()]
    return len(places) > len(set(places))


def _share_place(lines: Sequence[Line]) -> bool:
    """Tell whether runs of several lines were last finite at one step."""
    steps = [step for line in lines for step in dict(line.crosses)]
    return len(steps) > len(set(steps))


def _meaning(chart: Chart, lines: Sequence[Line]) -> str:
    counts = sorted({line.runs for line in lines if line.style.width > 1.0})
    if counts in ([], [1]):
        return "One run each, so no band." if chart.mark == "line" else "One run each, so no interval."
    runs = from_to(counts)
    if chart.mark == "interval" and chart.band != "ci":
        return f"{_mean('y' in chart.log)} over {runs} runs; bars: {BANDS[chart.band]}."
    if chart.mark == "interval":
        return f"{_mean('y' in chart.log)} over {runs} runs with its {BANDS['ci']}."
    logs = {chart.log_in("y", panel) for panel in chart.by_panel()}
    mean = ", on a logarithmic axis ".join("geometric mean" if log else "mean" for log in sorted(logs))
    if any(logs) and _reaches_0(chart):
        mean += " (median where a value is 0 or less)"
    words = [BANDS["range" if log and chart.band == "sd" else chart.band] for log in sorted(logs)]
    banded = [line for line in lines if np.isfinite(line.low).any()]
    if not banded:
        return f"Lines: {mean} over {runs} runs; no band, since nowhere two of a line are finite."
    if all(np.array_equal(line.low, line.high) for line in banded):
        return f"Lines: {mean} over {runs} runs, which agree."
    return f"Lines: {mean} over {runs} runs; bands: {', on a logarithmic axis '.join(words)}."


def _reaches_0(chart: Chart) -> bool:
    """Tell whether on a logarithmic axis there is a value of 0 or below."""
    parts = (rows[chart.y] for panel, rows in chart.by_panel().items() if chart.log_in("y", panel))
    return any(bool((values <= 0).any()) for values in parts)


def from_to(counts: Sequence[int]) -> str:
    """Return the least and the largest of several numbers: `1 to 3`; one alone where they are equal."""
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _mean(log: bool) -> str:
    return "Geometric mean" if log else "Mean"


def _ended(chart: Chart, panels: Mapping[str, Sequence[Line]]) -> str:
    """Say how many runs of which line diverged, and in which panel where panels differ in it."""
    found: dict[str, dict[tuple[int, int], dict[str, None]]] = {}
    for panel, lines in panels.items():
        here = chart.panel_of(panel)
        for line in lines:
            counts = found.setdefault(line.name, {})
            counts.setdefault((len(line.crosses), line.runs), {})[here.title or here.y_label] = None
    return "; ".join(
        f"{name}, {count} of {runs} diverged".removeprefix(", ") + f" ({', '.join(titles)})" * (len(counts) > 1)
        for name, counts in found.items()
        for (count, runs), titles in counts.items()
        if count
    )


def _beyond(chart: Chart, panels: Mapping[str, Sequence[Line]]) -> dict[str, float]:
    """Return how far up runs of the lines reach that leave a panel at its top, themselves or by their bands."""
    found: dict[str, float] = {}
    for panel, lines in panels.items():
        high = ceiling(chart, panel, [line.top for line in lines], any(line.crosses for line in lines))
        for line in lines:
            if line.name and line.beyond(high).any():
                top = line.top if np.isfinite(line.top) else float(np.nanmax(line.reach))
                found[line.name] = max(top, found.get(line.name, top))
    return found


def _has_zero(chart: Chart, lines: Sequence[Line]) -> bool:
    if "y" not in chart.log or any(panel.y for panel in chart.panels.values()):
        return False
    return any((part <= 0).any() for line in lines for part in (line.mean, line.low))


def _has_zero_across(chart: Chart, lines: Sequence[Line]) -> bool:
    """Tell whether a logarithmic horizontal axis has to have a place for 0: that of evaluations before training."""
    ends = [chart.panel_of(panel).x for panel in chart.by_panel() if chart.log_in("x", panel)]
    low = min((line.x.min() for line in lines if len(line.x)), default=1.0)
    return any((min(given) if given else low) <= 0 for given in ends)


def _centre(chart: Chart, values: pd.Series[float]) -> MeanWithBand:
    """Return what stands for the runs of a row."""
    known = np.asarray(values[np.isfinite(values)], dtype=np.float64)
    return summary(known, chart.band, "x" in chart.log, chart.panel_of("").possible)


def _rows(chart: Chart) -> Iterator[str]:
    if chart.mark == "bar":
        return
    values = chart.data[chart.x].to_numpy(dtype=float)
    keys = [key for key in (chart.group, chart.y, chart.colour) if key]
    counts = sorted({len(rows) for _, rows in chart.data.groupby(keys, sort=False)})
    runs = from_to(counts)
    if chart.mark == "point":
        yield "Dots: runs; bar: median."
    elif counts == [1]:
        yield "One run each, so no interval."
    elif all(np.ptp(rows[chart.x]) == 0 for _, rows in chart.data.groupby(keys, sort=False)):
        yield f"All {runs} runs agree."
    else:
        ended = "ended" in chart.data and bool(chart.data["ended"].any())
        over = "the runs that stayed finite" if ended else f"{runs} runs"
        yield f"{_mean('x' in chart.log)} over {over} with its {BANDS['ci']}; small dots: runs."
        if any(_centre(chart, rows[chart.x]).median for _, rows in chart.data.groupby(keys, sort=False)):
            yield MEDIAN
    if "ended" in chart.data and chart.data["ended"].any() and chart.mark == "point":
        yield "Crosses: runs that diverged."
    if "x" in chart.log and (values <= 0).any():
        yield "The axis is linear around 0, logarithmic beyond the first tick; a geometric mean is over values above 0."
