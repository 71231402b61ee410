"""Looks of lines that are no arms: layers, directions, columns of a table. Dark to light in their order."""

from __future__ import annotations

import matplotlib
from matplotlib.colors import to_hex

from normexp.report.colors import DASHES, Look

MAP, LIGHTEST = "viridis", 0.8  # beyond it a line is too light on white
DOTTED = (1.0, 1.4)


def sequence(count: int) -> list[Look]:
    """Return the looks of so many lines; a single one is black."""
    if count == 1:
        return [Look("#000000")]
    return [Look(to_hex(matplotlib.colormaps[MAP](LIGHTEST * i / (count - 1)))) for i in range(count)]


def dashed(look: Look, place: int) -> Look:
    """Return the look with the dashes of the given place: 0 keeps its own."""
    return Look(look.color, DASHES[place % len(DASHES)] if place else look.dashes, look.marker)
