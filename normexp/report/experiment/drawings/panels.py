"""Panels of lines: what curves, against, lines and multiples have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from matplotlib.transforms import ScaledTranslation

from normexp.report.colors import Look
from normexp.report.ends import End, fit, write_ends
from normexp.report.experiment.drawings.axis import Axis, beyond_note, set_axes
from normexp.report.experiment.drawings.frame import Room, frame, name_panel
from normexp.report.experiment.drawings.subject import Subject
from normexp.report.layout import text_width
from normexp.report.measurements import is_share

Numbers = npt.NDArray[np.float64]


def _nothing() -> Numbers:
    return np.zeros(0)


@dataclass(frozen=True)
class Line:
    """One line of a panel, in the units of its axes.

    Args:
        low, high: the band's edges, or the ends of the error bars; empty for none.
        crosses: (x, y) of runs that diverged; on the panel's edge where y lies beyond it or is not finite.
        bars: whether low and high are error bars.
        shift: points by which a line with error bars is moved to the right, so that these do not hide each other.
    """

    text: str
    look: Look
    x: Numbers
    y: Numbers
    low: Numbers = field(default_factory=_nothing)
    high: Numbers = field(default_factory=_nothing)
    crosses: tuple[tuple[float, float], ...] = ()
    bars: bool = False
    shift: float = 0.0
    width: float = 1.3

    @property
    def ordinates(self) -> list[Numbers]:
        """Everything that the vertical axis should show."""
        return [self.y, self.low, self.high]

    def placed(self, x: Axis, y: Axis) -> Line:
        """Return the line where it is drawn: values that a logarithmic axis has no place for in its strip."""
        low, high = y.place(self.low), y.place(self.high)
        crosses = tuple((x.at(step), value) for step, value in self.crosses)
        return replace(self, x=x.place(self.x), y=y.place(self.y), low=low, high=high, crosses=crosses)


@dataclass(frozen=True)
class Panel:
    """Lines in one system of axes.

    Args:
        behind: draws what lies behind the lines.
        also: (x, y) of what is drawn behind, which the axes should show, too.
    """

    lines: Sequence[Line]
    title: str = ""
    color: str = "black"
    y_label: str = ""
    behind: Callable[[Axes], None] | None = None
    also: tuple[Numbers, Numbers] = field(default_factory=lambda: (_nothing(), _nothing()))


@dataclass(frozen=True)
class Scales:
    """How the axes of all panels are made.

    Args:
        ticks: places on the horizontal axis and what stands there; None lets matplotlib choose.
        x_margin: of the horizontal axis, beyond its first and last value.
        rows_share: so many panels, one row, have the same vertical axis; 0 for all panels.
    """

    x_label: str
    y_label: str
    metric: str = ""
    ticks: tuple[Sequence[float], Sequence[str]] | None = None
    x_margin: float = 0.0
    rows_share: int = 0


def line_figure(
    subject: Subject, panels: Sequence[Panel], scales: Scales, captions: Sequence[str], room: Room, columns: int = 0
) -> Figure:
    """Draw panels of lines; their names stand at the lines' ends where they fit, otherwise in a legend."""
    x, ys = _axes(subject, panels, scales)
    panels = [_placed(panel, x, y) for panel, y in zip(panels, ys, strict=True)]
    ends = [_end(line, x, ys[0]) for line in panels[0].lines]
    texts = {line.text: line.look for panel in panels for line in panel.lines if line.text}
    labelled = len(panels) == 1 and len(texts) > 0 and fit(ends, room.height)
    if labelled:
        right = max(text_width(text) for text in texts) + 0.06 * room.width + 0.1
        room = replace(room, right=right)
    notes = len(captions) - len(subject.notes)
    captions = [*captions[:notes], *filter(None, [beyond_note([x, *ys])]), *captions[notes:]]
    entries = {} if labelled else texts
    figure, made = frame(subject, len(panels), captions, room, entries, columns, aside=len(panels) == 1)
    for axes, panel, y in zip(made, panels, ys, strict=True):
        _draw(axes, panel, scales, x, y, room)
        axes.set_ylabel(panel.y_label or scales.y_label, parse_math=False)
    if labelled:
        write_ends(made[0], ends, room.height)
    return figure


def _placed(panel: Panel, x: Axis, y: Axis) -> Panel:
    return replace(panel, lines=[line.placed(x, y) for line in panel.lines])


def _axes(subject: Subject, panels: Sequence[Panel], scales: Scales) -> tuple[Axis, list[Axis]]:
    """Return the horizontal axis of all panels, and the vertical one of each."""
    x_limits, y_limits = subject.limits("x"), subject.limits("y", scales.metric)
    across = [value for panel in panels for value in _abscissae(panel, subject.log("x"))]
    x = Axis.over(across, subject.log("x"), x_limits, scales.x_margin)
    row = scales.rows_share or len(panels)
    ys = []
    for i in range(len(panels)):
        together = panels[i - i % row : i - i % row + row]
        values = [value for each in together for value in _ordinates(each, subject.log("y"))]
        ys.append(Axis.over(values, subject.log("y"), y_limits, share=is_share(scales.metric)))
    return x, ys


def _shown(behind: Numbers, log: bool) -> Numbers:
    """Return the part of what is drawn behind the lines that the axis has a place for: only lines go into a strip."""
    return behind[behind > 0] if log else behind


def _abscissae(panel: Panel, log: bool) -> Iterator[Numbers]:
    yield _shown(panel.also[0], log)
    for line in panel.lines:
        yield line.x
        yield np.array([x for x, _ in line.crosses], dtype=np.float64)


def _ordinates(panel: Panel, log: bool) -> Iterator[Numbers]:
    """Yield what the vertical axis should show; crosses count only where there is no line at all."""
    yield _shown(panel.also[1], log)
    for line in panel.lines:
        yield from line.ordinates
    if not any(np.isfinite(line.y).any() for line in panel.lines):
        yield np.array([y for line in panel.lines for _, y in line.crosses], dtype=np.float64)


def _draw(axes: Axes, panel: Panel, scales: Scales, x: Axis, y: Axis, room: Room) -> None:
    set_axes(axes, x, y)
    axes.set_xlabel(scales.x_label, parse_math=False)
    if scales.ticks is not None:
        axes.set_xticks(x.place(np.array(scales.ticks[0])), scales.ticks[1])
        axes.xaxis.set_minor_locator(NullLocator())
    if panel.title:
        name_panel(axes, panel.title, panel.color, room)
    if panel.behind is not None:
        panel.behind(axes)
    for line in panel.lines:
        _draw_line(axes, line, y)


def _draw_line(axes: Axes, line: Line, y: Axis) -> None:
    moved = axes.transData + ScaledTranslation(line.shift / 72, 0, axes.figure.dpi_scale_trans)
    color = line.look.color
    if line.bars:
        axes.vlines(line.x, line.low, line.high, color=color, linewidth=0.9, alpha=0.7, transform=moved)
    elif len(line.low):
        shown = np.isfinite(line.low) & np.isfinite(line.high)
        axes.fill_between(line.x, line.low, line.high, where=shown, color=color, alpha=0.15, linewidth=0)
    several = len(line.x) > 1 and not line.bars
    style = {**line.look.style, "marker": line.look.marker or ("" if several else "o")}
    every = 0.15 if several else None
    axes.plot(line.x, line.y, linewidth=line.width, transform=moved, markevery=every, **style)
    for step, value in line.crosses:
        axes.plot(step, y.inside(value), "x", color=color, markersize=6, markeredgewidth=1.6, clip_on=False, zorder=5)


def _end(line: Line, x: Axis, y: Axis) -> End:
    """Return where the line, or its last cross, is last seen, in fractions of the panel."""
    seen = np.flatnonzero((line.x >= x.bottom) & (line.x <= x.high) & (line.y >= y.bottom) & (line.y <= y.high))
    ends = [(float(line.x[i]), float(line.y[i])) for i in seen[-1:]]
    ends = ends or [(step, y.inside(value)) for step, value in line.crosses[-1:]] or [(x.low, y.low)]
    step, value = ends[0]
    across = min(max(x.fraction(step), 0.0), 1.0)
    return End(line.text, line.look.color, round(across, 6), y.fraction(value))
