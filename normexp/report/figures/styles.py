"""How lines look: a scheme's colour and marker come from its name alone; its arms differ in shade and dash.

Nothing lists the schemes, so a new one needs no entry: the name's hash picks colour and marker, the same in every
figure. All colours have a contrast of at least 3:1 on white (WCAG 2.1, non-text contrast).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from typing import Any

import matplotlib
from matplotlib.colors import to_hex, to_rgb

COLOURS = (
    "#0072B2", "#D55E00", "#00805E", "#3A2BD9", "#D6289B", "#7A5CD6",
    "#E0245E", "#6B5500", "#893B76", "#9D3B3B", "#3B8914", "#2A86A5",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (1.2, 1.2), (6, 1.4, 1.2, 1.4), (9, 2.5))
DOTTED = (1.0, 1.4)
NEUTRAL = "#333333"  # of rows and lines that no scheme tells apart
SALT = "2411871"  # found by search: the schemes of configs/norm are all distinct, and batch is blue
OTHERWISE = {
    "scale_norm": "ScaleNorm",
    "rep_batch": "RepBatchNorm",
    "derf": "DERF",
    "evonorm_s0": "EvoNorm S0",
}  # they would look like another scheme
SHADES = (0.0, 0.4, -0.3, 0.65, -0.5)  # towards black, or (negative) towards white
CONTRAST = 3.0
TOGETHER, IN_PANEL, MOST_SPLIT = 8, 4, 24  # lines of one panel; of each where they are more; of all panels together
COLUMNS = 2  # of such panels, so wide that a scheme's name fits above one
NEAR = 100.0  # of 765 from black to white: thin lines whose colours are nearer are taken for each other
MAP, LIGHTEST = "plasma", 0.62  # of values in order; beyond it a line is too light on white


@dataclass(frozen=True)
class LineStyle:
    """Colour, dashes (lengths in line widths, on and off; empty is solid), marker and width of a line."""

    color: str
    dashes: tuple[float, ...] = ()
    marker: str = ""
    width: float = 1.4

    @property
    def line(self) -> dict[str, Any]:
        """What matplotlib's Line2D takes."""
        return {"color": self.color, "dashes": self.dashes, "marker": self.marker, "linewidth": self.width}


def of_scheme(name: str) -> LineStyle:
    """Return a scheme's style; without a scheme it is black. One of somebody's own goes by its class."""
    if name == "none":
        return LineStyle("#000000", marker="o")
    name = OTHERWISE.get(name, name).rpartition(".")[2]
    digest = hashlib.sha256(f"{SALT} {name}".encode()).digest()
    return LineStyle(COLOURS[digest[0] % len(COLOURS)], marker=MARKERS[digest[1] % len(MARKERS)])


def of_arms(schemes: Mapping[str, str]) -> dict[str, LineStyle]:
    """Return the style of every arm, given the scheme of each.

    Arms of several schemes have their scheme's colour, and its marker where two schemes have nearly the same colour.
    Its shades go from dark to light over the arms of a scheme whose names differ in a number.
    Where one scheme has several arms, and no other has any, its colour would say nothing: the arms have colours of
    their own, from dark to light if their names differ in a number. Where one has more arms than there are shades, they
    have colours of their own, too, which no other scheme of the figure has, unless the arms are split into panels.
    """
    if len(schemes) > 1 == len(set(schemes.values())):
        return one_scheme(list(schemes))
    clashes = _clashing(set(schemes.values()))
    used: dict[str, int] = {}
    styles = {}
    for arm, scheme in schemes.items():
        style = of_scheme(scheme)
        index = used[style.color] = used.get(style.color, -1) + 1
        marker = style.marker if scheme in clashes else ""
        dashes = DASHES[(index + index // len(SHADES)) % len(DASHES)]  # other ones when the shades begin again
        styles[arm] = replace(style, color=shade(style.color, index), dashes=dashes, marker=marker)
    return styles | _dark_to_light(schemes, styles) | _crowded(schemes)


def _dark_to_light(schemes: Mapping[str, str], styles: Mapping[str, LineStyle]) -> dict[str, LineStyle]:
    """Return the arms of a scheme that differ in a number, with their shades in order."""
    found: dict[str, LineStyle] = {}
    for scheme in dict.fromkeys(schemes.values()):
        arms = [arm for arm, other in schemes.items() if other == scheme]
        shades = sorted((styles[arm].color for arm in arms), key=contrast, reverse=True)
        if _differ_in_a_number(arms):
            found |= {arm: replace(styles[arm], color=color) for arm, color in zip(arms, shades, strict=True)}
    return found


def _crowded(schemes: Mapping[str, str]) -> dict[str, LineStyle]:
    """Return the styles of the arms whose scheme has more of them than there are shades."""
    arms_of = Counter(schemes.values())
    if are_split(len(schemes)):
        return {}
    taken = {of_scheme(scheme).color for scheme, arms in arms_of.items() if arms <= len(SHADES)}
    free = (style for style in map(distinct, count()) if style.color not in taken)
    return {arm: next(free) for arm, scheme in schemes.items() if arms_of[scheme] > len(SHADES)}


def are_split(lines: int) -> bool:
    """Tell whether so many lines are split into panels of a few."""
    return TOGETHER < lines <= MOST_SPLIT


def one_scheme(names: Sequence[str]) -> dict[str, LineStyle]:
    if len(names) > 2 and _differ_in_a_number(names):
        return dict(zip(names, dark_to_light(len(names)), strict=True))
    return {name: distinct(i) for i, name in enumerate(names)}


def _differ_in_a_number(names: Sequence[str]) -> bool:
    return len(names) > 1 and len({re.sub(r"[\d.e+-]+", "", name) for name in names}) == 1


def distinct(index: int) -> LineStyle:
    """Return a colour of its own for each of the first twelve places; dashes tell the others apart."""
    round_ = index // len(COLOURS)
    return LineStyle(COLOURS[index % len(COLOURS)], DASHES[(round_ + index % 2) % len(DASHES)])


def dark_to_light(count: int) -> list[LineStyle]:
    """Return the styles of values in order, dark to light; a single one is black."""
    if count == 1:
        return [LineStyle("#000000")]
    return [LineStyle(to_hex(matplotlib.colormaps[MAP](LIGHTEST * i / (count - 1)))) for i in range(count)]


def shade(color: str, index: int) -> str:
    """Return the colour darker or lighter, for the arms of one scheme; never with too little contrast."""
    amount = SHADES[index % len(SHADES)]
    if color == "#000000":
        amount = -abs(amount)
    target = 0.0 if amount > 0 else 1.0
    red, green, blue = (part + abs(amount) * (target - part) for part in to_rgb(color))
    while contrast(to_hex((red, green, blue))) < CONTRAST:
        red, green, blue = 0.93 * red, 0.93 * green, 0.93 * blue
    return to_hex((red, green, blue))


def contrast(color: str) -> float:
    """Return the contrast with white as WCAG 2.1 defines it, 1 to 21."""
    parts = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color))
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
    return 1.05 / (luminance + 0.05)


def _clashing(schemes: set[str]) -> set[str]:
    """Return the schemes whose colour is near that of another one of them."""
    pairs = combinations(((scheme, of_scheme(scheme).color) for scheme in schemes), 2)
    return {scheme for (one, a), (other, b) in pairs if distance(a, b) < NEAR for scheme in (one, other)}


def distance(one: str, other: str) -> float:
    """Return how far apart two colours look, 0 to 765: the "redmean" approximation of a perceptual distance."""
    (r, g, b), (red, green, blue) = to_rgb(one), to_rgb(other)
    mean = (r + red) / 2
    return 255 * math.sqrt((2 + mean) * (r - red) ** 2 + 4 * (g - green) ** 2 + (3 - mean) * (b - blue) ** 2)
