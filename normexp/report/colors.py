"""How an arm looks: one colour per scheme in every figure, line styles between arms of one scheme.

The colours are Okabe and Ito's (2008, "Color Universal Design"), which stay apart for colour-blind readers,
without their yellow, too light for a line on white; wine is Paul Tol's ("muted", technical note 2021). The violet is
ours: under simulated colour deficiencies too, it is at least 25 in CIELAB from every other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from normexp.report.select import Arm

BY_NORM = {
    "none": "#000000",
    "batch": "#0072B2",
    "layer": "#D55E00",
    "instance": "#56B4E9",
    "group": "#009E73",
    "weight": "#CC79A7",
    "mean_only": "#E69F00",
    "weight_mean_only": "#882255",
    "recurrent_batch": "#7B3FF2",
}
OTHERS = ("#332288", "#999933", "#117733", "#6E4B1F")
DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.5), (1, 1.2), (5, 1.2, 1, 1.2), (8, 2), (3, 1, 1, 1, 1, 1))
MARKERS = ("", "o", "s", "^", "D", "v")


@dataclass(frozen=True)
class Look:
    """Colour, dash pattern (lengths in line widths, on and off; empty is solid) and marker of one line."""

    color: str
    dashes: tuple[float, ...] = ()
    marker: str = ""

    @property
    def style(self) -> dict[str, Any]:
        """What matplotlib's Line2D takes."""
        return {"color": self.color, "dashes": self.dashes, "marker": self.marker}


def color(norm: str) -> str:
    """Return a scheme's colour; an unknown scheme keeps the one that its name's hash picks."""
    digest = hashlib.sha256(norm.encode()).digest()
    return BY_NORM.get(norm) or OTHERS[digest[0] % len(OTHERS)]


def looks(arms: Iterable[Arm]) -> dict[str, Look]:
    """Return the look of every label without data set and model, the same in all panels."""
    return distinct({arm.short: color(arm.norm) for arm in arms})


def distinct(shades: Mapping[str, str]) -> dict[str, Look]:
    """Return label -> look for label -> colour; labels of one colour differ in their dashes, then in their markers."""
    chosen: dict[str, Look] = {}
    used: dict[str, int] = {}
    for label, shade in shades.items():
        place = used[shade] = used.get(shade, -1) + 1
        marker = MARKERS[place // len(DASHES) % len(MARKERS)]
        chosen[label] = Look(shade, DASHES[place % len(DASHES)], marker)
    return chosen
