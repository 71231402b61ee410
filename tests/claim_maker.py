"""Claims without an experiment: checked as its YAML's are, and by a word each what tests ask most often of an arm."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from normexp.config.schema import first_problem
from normexp.config.text import dotted
from normexp.errors import UserError
from normexp.evidence.claims import Claim
from normexp.evidence.claims.check import Axes, check_names
from normexp.evidence.claims.estimands import AnyClaim

ABOVE = {"highest", "higher", "increasing_in"}
BELOW = {"lowest", "lower", "decreasing_in"}
COMPARE = {
    "highest": "difference", "higher": "difference", "lowest": "difference", "lower": "difference",
    "within": "difference", "equals": "equals", "ratio_at_least": "ratio", "reaches_before": "steps",
    "never_reaches": "count", "flat_in": "trend", "increasing_in": "trend", "decreasing_in": "trend",
    "diverges": "count", "converges": "count",
}  # fmt: skip
CLAIM: TypeAdapter[Claim] = TypeAdapter(AnyClaim)
EVENTS = {"never_reaches": "never reaches", "diverges": "diverges", "converges": "stays finite"}


def check_claim(
    data: Mapping[str, Any], arms: Sequence[str], metrics: Sequence[str], axes: Axes | None = None
) -> Claim:
    """Return the claim of a YAML entry, checked. Raises UserError."""
    return check_names(read_claim(data), arms, metrics, axes or {})


def read_claim(data: Mapping[str, Any]) -> Claim:
    """Return the claim of a YAML entry, its names unchecked. Raises UserError."""
    try:
        return CLAIM.validate_python(data)
    except ValidationError as error:
        path, problem = first_problem(error, data)
        raise UserError(": ".join(filter(None, (dotted(path), problem)))) from None


def claim_data(word: str, **keys: Any) -> dict[str, Any]:
    """Return a claim's entry in the YAML: `higher` than, `within` margin of value, `never_reaches` a target, ..."""
    data: dict[str, Any] = {"text": "a sentence", "source": "page 1", "compare": COMPARE[word], "of": "BN"}
    margin, value, arms = (keys.pop(key, None) for key in ("margin", "value", "arms"))
    if word in ABOVE | BELOW:
        sign, end = (">", margin or 0) if word in ABOVE else ("<", -(margin or 0))
        data["in"] = f"{sign} {end}"
    if word in ("highest", "lowest"):
        data["than"] = arms or "the others"
    if word in ("within", "flat_in"):
        centre = 0 if value is None else f"printed {value}" if isinstance(value, str) else value
        data |= {"in": f"within {margin} of {centre}"} | ({} if value is None else {"compare": "value"})
    if word == "equals":
        data |= {"tolerance": margin} | ({} if value is None else {"value": value})
    if word == "ratio_at_least":
        data |= {"in": f"> {value}"} | ({"compare": "steps"} if "target" in keys else {})
    if word == "reaches_before":
        data["in"] = "> 1"
    if word in EVENTS:
        data["event"] = EVENTS[word]
    return {**data, **keys}
