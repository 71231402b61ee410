"""Names written at the ends of lines: whether they fit there, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from normexp.report.layout import text_width
from normexp.report.spread import spread

LINE = 0.145  # inches between the centres of two names
LABEL_X, LEADER_X = 1.05, 1.04  # of the panel's width: where a name starts, where its leader ends
MOST, WIDEST = 8, 1.9  # names in a panel; inches of the widest
FARTHEST = 1.6  # lines by which a name may stand off its line's end: leaders of a bundle cannot be followed

EARLIEST = 0.5  # of the panel's width: the name of a line that ends before would stand at other lines


@dataclass(frozen=True)
class End:
    """Where a line ends, in fractions of the panel."""

    text: str
    color: str
    x: float
    y: float


def fit(ends: Sequence[End], height: float) -> bool:
    """Tell whether the names fit right of a panel of this height (inches), each near the end of its line."""
    if len(ends) > MOST or max((text_width(end.text) for end in ends), default=0.0) > WIDEST:
        return False
    near = (abs(place - end.y) * height for end, place in zip(ends, _places(ends, height), strict=True))
    return all(end.x >= EARLIEST for end in ends) and all(distance <= FARTHEST * LINE for distance in near)


def write_ends(axes: Axes, ends: Sequence[End], height: float) -> None:
    """Write each name right of the panel, joined to the line's end by a thin leader."""
    for end, place in zip(ends, _places(ends, height), strict=True):
        dots = "-" if end.x == 1.0 else (0, (1, 4))  # a solid leader inside the panel would look like data
        axes.plot(
            [end.x, LEADER_X], [end.y, place], color=end.color, linestyle=dots, marker="",
            linewidth=0.5, alpha=0.7, clip_on=False, transform=axes.transAxes,
        )  # fmt: skip
        axes.text(LABEL_X, place, end.text, color=end.color, va="center", transform=axes.transAxes, parse_math=False)


def _places(ends: Sequence[End], height: float) -> list[float]:
    return spread([end.y for end in ends], LINE / height, 0.0, 1.0)
