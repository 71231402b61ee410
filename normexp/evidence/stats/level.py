"""The level of all tests, and the confidence of the intervals that belong to it."""

from __future__ import annotations

LEVEL = 0.05  # of all tests: of a family by Holm's correction, of the ledger as a rate of false discoveries
CONFIDENCE = 1 - LEVEL


def confidence_of(share: float) -> float:
    """Return the confidence of an interval that spends a share of the level: of one look, of one claim of several."""
    return 1 - LEVEL * share
