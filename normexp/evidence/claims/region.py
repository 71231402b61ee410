"""Where a claim says that its number lies: `> 0`, `[LOW, HIGH]` or `within 0.5 of 3.2`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from normexp.config.schema import refusal
from normexp.config.text import is_number, short_repr
from normexp.errors import UserError
from normexp.evidence.stats import Interval, Printed

_BOUND = re.compile(r"(?P<side>[<>])(?P<closed>=?)\s*(?P<end>\S+)")
_NEAR = re.compile(r"within\s+(?P<margin>\S+)\s+of\s+(?P<printed>printed\s+)?(?P<centre>.+)")
ALLOWED = "`> NUMBER`, `< NUMBER`, [LOW, HIGH], `within MARGIN of NUMBER` or `within MARGIN of printed NUMBER`"


@dataclass(frozen=True)
class Region:
    """A set of numbers.

    Args:
        low, high: its ends, either may be infinite. Whether they count as inside no test can tell; a half line is open.
        text: as it is written in the YAML.
        centre: what `within` is to be near, as written; empty for the others.
    """

    low: float
    high: float
    text: str
    centre: str = ""

    @property
    def interval(self) -> Interval:
        return Interval(self.low, self.high)

    @property
    def upward(self) -> bool:
        """Whether it is bounded below only (`> 0`)."""
        return self.high == math.inf

    @property
    def one_sided(self) -> bool:
        return math.isinf(self.low) or math.isinf(self.high)

    def in_words(self, unit: str) -> str:
        """Return where the number is to lie: as it is written, or in percent where people read fractions so."""
        if not unit.startswith("%") or "%" in self.centre:
            return self.centre or self.text
        if self.centre:
            return _percent(float(self.centre))
        if self.one_sided:
            return f"> {_percent(self.low)}" if self.upward else f"< {_percent(self.high)}"
        return f"[{100 * self.low:.10g}, {100 * self.high:.10g}] %"

    def logarithm(self) -> Interval:
        """Return it on the scale of logarithms, as ratios are tested. Raises ValueError unless it is above 0."""
        return Interval(math.log(self.low) if self.low > 0 else -math.inf, math.log(self.high))

    def __str__(self) -> str:
        return self.text


def read_region(given: object) -> Any:
    """Return the region that a YAML value means. Raises PydanticCustomError where it means none."""
    if isinstance(given, Region):
        return given
    try:
        region = _pair(given) if isinstance(given, list) else _text(given) if isinstance(given, str) else None
    except ValueError:  # a number that is none, or ends in the wrong order
        region = None
    except UserError as error:
        raise refusal(error) from None
    if region is None:
        raise refusal(f"{short_repr(given)} is no region; allowed: {ALLOWED}{_hint(given)}")
    return region


def _hint(given: object) -> str:
    """Return what is meant by a pair in quotes, by percent and by a comma in a number, by a number alone."""
    if is_number(given):
        return f"; did you mean `> {given}`?"
    if not isinstance(given, str):
        return ""
    if given.lstrip().startswith("["):
        return "; write it without quotes"
    plain = re.sub(r"(\d),(\d)", r"\1.\2", given)
    plain = re.sub(r"(\d+(?:\.\d+)?)\s*%", lambda percent: f"{float(percent[1]) / 100:g}", plain)
    plain = plain.replace("≥", ">").replace("≤", "<")
    return f"; did you mean `{plain}`?" if plain != given and _is_region(plain) else ""


def _is_region(text: str) -> bool:
    """Tell whether a text means a region."""
    try:
        return _text(text) is not None
    except (ValueError, UserError):
        return False


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.10g} %"


def _pair(given: list[Any]) -> Region | None:
    if len(given) != 2 or not all(map(is_number, given)):
        return None
    interval = Interval(float(given[0]), float(given[1]))
    if interval.low == interval.high:
        raise UserError(f"{given} is one number: no finite number of seeds shows equality; give an end on either side")
    return Region(interval.low, interval.high, f"[{given[0]}, {given[1]}]")


def _text(text: str) -> Region | None:
    if match := _BOUND.fullmatch(text.strip()):
        return _half_line(text, match)
    return _near(text, match) if (match := _NEAR.fullmatch(text.strip())) else None


def _half_line(text: str, match: re.Match[str]) -> Region:
    end = _number(match["end"])
    if match["closed"]:
        raise UserError(
            f"{text!r}: a half line is open, since no number of seeds tells its end from what is next to it; "
            f"write `{match['side']} {match['end']}`"
        )
    return Region(end, math.inf, text) if match["side"] == ">" else Region(-math.inf, end, text)


def _near(text: str, match: re.Match[str]) -> Region:
    """Read `within MARGIN of NUMBER`; a printed number is any that rounds to it."""
    margin = _number(match["margin"])
    if margin < 0 or (margin == 0 and not match["printed"]):
        raise UserError(f"{text!r} needs a margin above 0: no finite number of seeds shows equality")
    if match["printed"]:
        around = Printed.of(match["centre"]).region(margin)
        return Region(around.low, around.high, text, match["centre"])
    centre = _number(match["centre"])
    return Region(centre - margin, centre + margin, text, match["centre"])


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
