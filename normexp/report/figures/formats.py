"""Styles and formats: paper, slide or page; PNG, SVG or PDF. Equal figures give equal bytes."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from normexp.errors import UserError, unknown
from normexp.report.figures.glyphs import missing_glyphs_told

FORMATS = ("png", "svg", "pdf")
USUAL = ("png", "svg")
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
WIDEST = 40.0  # inches
DPI = 200
DATE = "SOURCE_DATE_EPOCH"
SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that every machine sets the same text
    "text.parse_math": False,  # names may have any sign
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.hashsalt": "normexp",  # element names, otherwise random
    "svg.fonttype": "none",  # text stays text
    "pdf.fonttype": 42,
}
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "normexp"},
    "pdf": {"CreationDate": None, "Creator": "normexp", "Producer": None},
}


@dataclass(frozen=True)
class Theme:
    """Width of the figure in inches, size of the text in points, how wide lines are, and whether it has a title."""

    width: float = 6.4
    font: float = 9.0
    lines: float = 1.0
    titled: bool = True

    @property
    def settings(self) -> dict[str, Any]:
        small = 0.85 * self.font
        sizes = dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), small)
        titles = {"axes.titlesize": self.font, "figure.titlesize": self.font, "axes.labelsize": self.font}
        return {**SETTINGS, "font.size": self.font, **sizes, **titles, "lines.markersize": 3.5 * self.lines}


STYLES = {"page": Theme(), "paper": Theme(3.3, 7.0, 0.8, titled=False), "slide": Theme(10.0, 16.0, 1.8)}


def theme(style: str = "page", width: str | None = None) -> Theme:
    """Return the theme of a style, with a width such as 3.3in, 8cm or 84mm. Raises UserError."""
    if style not in STYLES:
        raise unknown("style", style, STYLES)
    chosen = STYLES[style]
    return chosen if width is None else replace(chosen, width=inches(width))


def inches(width: str) -> float:
    """Return a width in inches; a bare number is in inches. Raises UserError."""
    found = re.fullmatch(r"(\d*\.?\d+) *([a-z]*)", width)
    unit = (found[2] or "in") if found else ""
    size = float(found[1]) * INCHES[unit] if found and unit in INCHES else 0.0
    if not 1.0 <= size <= WIDEST:
        raise UserError(f"width={width!r} is no width from 1in to {WIDEST:g}in; write 3.3in, 84mm, 8.4cm or 240pt")
    return size


def check_formats(names: Sequence[str]) -> tuple[str, ...]:
    """Return the formats to write, `png,svg` being two; none named means the usual ones. Raises UserError."""
    names = [name for several in names for name in several.split(",")]
    for name in names:
        if name not in FORMATS:
            raise unknown("format", name, FORMATS)
    return tuple(names) or USUAL


@contextmanager
def settings(theme: Theme) -> Iterator[None]:
    """Use our settings on top of matplotlib's own defaults, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(theme.settings)  # type: ignore[arg-type]
        yield


def images(make: Callable[[Theme], Figure], theme: Theme, formats: Sequence[str] = USUAL) -> dict[str, bytes]:
    """Make a figure in our settings; return its files by suffix: `.png`, `.svg`, `.pdf`.

    matplotlib's layout begins from the one before it, so that a format depends on those made before: the same ones in
    the same order always, whichever are asked for.
    """
    needed = FORMATS[: 1 + max(map(FORMATS.index, formats))]
    with settings(theme), _undated(), missing_glyphs_told():
        figure = make(theme)
        made = {name: _image(figure, name) for name in needed}
        return {f".{name}": made[name] for name in formats}


@contextmanager
def _undated() -> Iterator[None]:
    """Draw without a date of the environment: no file has one, and matplotlib fails on what is no number."""
    given = os.environ.pop(DATE, None)
    try:
        yield
    finally:
        if given is not None:
            os.environ[DATE] = given


def _image(figure: Figure, name: str) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format=name, dpi=DPI, metadata=METADATA[name])
    return content.getvalue()
