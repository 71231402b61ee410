"""Printed numbers of documents, judged digit by digit against what follows from the documents' own inputs.

correct           the computed value, rounded to the printed digits, is the printed number
rounded wrongly   less than one unit of the last printed digit away: truncated, or rounded to the wrong side
depends on the reading
                  right under one of the ways to read the document, wrong under another
its own scheme    the document defines a scheme, and says nothing of the program that it is set beside here; the study's
                  option names such quantities under `_own_schemes_`, beside `_metrics_`
wrong             anything else; the entry says what it should be and why
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from normexp.errors import UserError
from normexp.evidence.stats import Printed, without_last_bits

NUMBERS = "numbers.csv"
CORRECT, ROUNDED, OWN, WRONG = "correct", "rounded wrongly", "its own scheme", "wrong"
EXACT = 12  # places
DEPENDS = "depends on the reading"
BEST_FIRST = (CORRECT, DEPENDS, OWN, ROUNDED, WRONG)
DOCUMENTS = {
    "S000": "Xingdong Zuo, Normalization tricks (notes, 5 November 2018)",
    "S001": "Normalization (page of a public collection of machine learning notes)",
    "S002": "Devansh Arpit, Normalization Techniques (slides)",
    "S003": "Lucas N. Ferreira, INF721 Deep Learning, L12: Normalization (lecture notes, 2024/2)",
    "S004": "Batch Normalization (notes with links to the papers)",
}
CITED = {
    "S000": "Zuo 2018",
    "S001": "Normalization (notes page)",
    "S002": "Arpit's slides",
    "S003": "Ferreira 2024",
    "S004": "Batch Normalization (notes)",
}
"""How a document is called in a sentence; records have its number."""


def cited(text: str) -> str:
    """Return a text in which documents have names instead of their numbers."""
    for number, name in CITED.items():
        text = text.replace(number, name)
    return text


@dataclass(frozen=True)
class Audited:
    """One printed number with its verdict."""

    document: str
    place: str
    quantity: str
    printed: str
    computed: str
    verdict: str
    reading: str
    remark: str

    @property
    def shown(self) -> str:
        """The computed value with two digits more than were printed."""
        try:
            value = Decimal(self.computed)
            return str(round(value, places(self.printed) + 2).normalize() + 0) if value.is_finite() else self.computed
        except (ArithmeticError, UserError):  # a sentence, or a number beside one
            return self.computed


def audited(row: Mapping[str, str], own_schemes: Collection[str]) -> Audited:
    """Judge one row of numbers.csv; `own_schemes` are the quantities that the document defines for itself."""
    verdict = judged(row["printed"], row["computed"], row["agrees"])
    if verdict == WRONG and row["quantity"] in own_schemes:
        verdict = OWN
    facts = {key: row[key] for key in ("document", "place", "quantity", "printed", "computed", "reading", "remark")}
    return Audited(**facts, verdict=verdict)


def judged(printed: str, computed: str, agrees: str = "") -> str:
    """Return the verdict on a printed text; `agrees` (True, False) decides about sentences."""
    if agrees:
        return CORRECT if agrees == "True" else WRONG
    number, exact = Printed.of(printed), digits(float(computed))
    value = digits(number.value)
    if not number.rounding:  # a fraction is exact
        return CORRECT if exact == value else WRONG
    unit = Decimal(1).scaleb(-places(printed))
    if not exact.is_finite() or abs(exact - value) >= unit:
        return WRONG
    right = any(exact.quantize(unit, way) == value for way in (ROUND_HALF_EVEN, ROUND_HALF_UP))
    return CORRECT if right else ROUNDED


def digits(value: float) -> Decimal:
    """Return the decimal digits of a value, without its last bits."""
    return Decimal(repr(without_last_bits(value)))


def counted(verdicts: Iterable[str]) -> str:
    """Return `3 correct, 1 wrong`, best first."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in BEST_FIRST if counts[verdict])


def places(printed: str) -> int:
    """Return how many decimal places of the value are printed: 3 of 72.2%, which is 0.722, and -5 of 31.0e6.

    Of a fraction, which is exact, they are those that are compared.
    """
    rounding = Printed.of(printed).rounding  # half a unit of the last place, a whole one after "~": below a place
    return round(-math.log10(2 * rounding)) if rounding else EXACT
