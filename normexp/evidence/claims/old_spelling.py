"""The fourteen predicates that claims once had, as an estimand and a region."""

from __future__ import annotations

from typing import Any

from normexp.config.schema import refusal
from normexp.errors import UserError, unknown
from normexp.evidence.stats import Printed

_TAKEN = ("predicate", "margin", "value", "arms")


def modern(given: Any) -> Any:
    """Return a claim with an old predicate in today's keys; anything else as it is."""
    if not isinstance(given, dict) or "predicate" not in given or "compare" in given:
        return given
    predicate = given["predicate"]
    if predicate not in _SPELLINGS:
        raise refusal(unknown("predicate", str(predicate), _SPELLINGS), "predicate")
    kept = {key: value for key, value in given.items() if key not in _TAKEN}
    return {**kept, **_SPELLINGS[predicate](given)}


def _above(given: dict[str, Any]) -> str:
    return f"> {_margin(given, 0)!r}"


def _below(given: dict[str, Any]) -> str:
    margin = _margin(given, 0)
    return f"< {-margin if margin else 0!r}"


def _margin(given: dict[str, Any], usual: float | None = None) -> float:
    margin = given.get("margin", usual)
    if margin is None:
        raise refusal(f"{given['predicate']} needs a margin")
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not margin >= 0:
        raise refusal(f"{margin!r} is not a number of at least 0", "margin")
    return margin


def _plain(value: Any) -> Any:
    """Return the number that a printed text says."""
    try:
        return Printed.of(value).value if isinstance(value, str) else value
    except UserError as error:
        raise refusal(error, "value") from None


def _near_zero(given: dict[str, Any]) -> str:
    return f"within {_margin(given)!r} of 0"


def _within(given: dict[str, Any]) -> dict[str, Any]:
    if ("value" in given) == ("than" in given):
        raise refusal("give either value or than")
    if "than" in given:
        return {"compare": "difference", "in": _near_zero(given)}
    value = given["value"]
    centre = f"printed {value}" if isinstance(value, str) else repr(float(value))
    return {"compare": "value", "in": f"within {_margin(given)!r} of {centre}"}


def _equals(given: dict[str, Any]) -> dict[str, Any]:
    value = {"value": _plain(given["value"])} if "value" in given else {}
    return {"compare": "equals", **value, "tolerance": _margin(given)}


def _at_least(given: dict[str, Any]) -> dict[str, Any]:
    return {"compare": "steps" if "target" in given else "ratio", "in": f"> {_plain(given.get('value'))!r}"}


_SPELLINGS: dict[str, Any] = {
    "highest": lambda given: {"compare": "difference", "than": given.get("arms", "the others"), "in": _above(given)},
    "lowest": lambda given: {"compare": "difference", "than": given.get("arms", "the others"), "in": _below(given)},
    "higher": lambda given: {"compare": "difference", "in": _above(given)},
    "lower": lambda given: {"compare": "difference", "in": _below(given)},
    "within": _within,
    "equals": _equals,
    "ratio_at_least": _at_least,
    "reaches_before": lambda _: {"compare": "steps", "in": "> 1"},
    "never_reaches": lambda _: {"compare": "count", "event": "never reaches"},
    "flat_in": lambda given: {"compare": "trend", "in": _near_zero(given)},
    "increasing_in": lambda given: {"compare": "trend", "in": _above(given)},
    "decreasing_in": lambda given: {"compare": "trend", "in": _below(given)},
    "diverges": lambda _: {"compare": "count", "event": "diverges"},
    "converges": lambda _: {"compare": "count", "event": "stays finite"},
}
