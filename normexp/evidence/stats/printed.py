"""A number as a paper prints it. It stays text, so that its precision is known."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

from normexp.errors import UserError
from normexp.evidence.stats.interval import Interval

_NUMBER = re.compile(
    r"(?P<about>~|≈)?\s*(?P<bound><=|>=|<|>|≤|≥)?\s*(?P<about2>~|≈)?\s*"
    r"(?P<digits>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?)"
    r"(?:/(?P<divisor>\d+)|(?:e|[x*·\u00d7]\s*10\^?)(?P<exponent>[+-]?\d+))?\s*(?P<percent>%)?"
)
_BOUNDS = {"<": "<=", "≤": "<=", "<=": "<=", ">": ">=", "≥": ">=", ">=": ">="}


@dataclass(frozen=True)
class Printed:
    """A published number.

    Args:
        text: as printed: "7.25", ".967", "72.2%", "~.968", "<= 0.1", "<= 1/1000", "31.0e6", "never".
        value: what it says; a percentage as a fraction; inf for never.
        rounding: half a unit of the last printed digit, a whole one after "~"; 0 for a fraction like 1/1000.
        bound: "", "<=" or ">=".
    """

    text: str
    value: float
    rounding: float
    bound: str

    @staticmethod
    def of(text: str) -> Printed:
        """Read it. Raises UserError where it is not a number; a number that is no text has lost its precision."""
        if not isinstance(text, str):
            raise UserError(f"published number {text!r} must be quoted: how many digits are printed is part of it")
        plain = text.strip().replace("\u2212", "-")  # the minus sign of typesetters
        if plain == "never":
            return Printed(text, math.inf, 0.0, "")
        match = _NUMBER.fullmatch(plain)
        value, rounding = _value(match) if match else (math.nan, math.nan)
        if match is None or not math.isfinite(value):
            raise UserError(f'published number {text!r} is not a number; write it like "7.25", "~72.2%" or "never"')
        about = match["about"] or match["about2"]
        return Printed(text, value, 2 * rounding if about else rounding, _BOUNDS.get(match["bound"], ""))

    def region(self, margin: float) -> Interval:
        """Return the values that count as this number: within the margin of some number that is printed so."""
        reach = margin + self.rounding
        low = -math.inf if self.bound == "<=" else self.value - reach
        return Interval(low, math.inf if self.bound == ">=" else self.value + reach)


def _value(match: re.Match[str]) -> tuple[float, float]:
    """Return the value and half a unit of its last digit; of what is no number (no digit, 1/0, 1e999) nan or inf."""
    scale = Decimal("0.01") if match["percent"] else Decimal(1)
    try:
        digits = Decimal(match["digits"].replace(",", ""))
        if match["divisor"]:
            return float(digits / Decimal(match["divisor"]) * scale), 0.0
        scale *= Decimal(10) ** int(match["exponent"] or 0)
    except ArithmeticError:
        return math.nan, math.nan
    places = -len(match["digits"].partition(".")[2])
    return float(digits * scale), float(Decimal(5) * Decimal(10) ** (places - 1) * scale)
