"""The verdict on a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from normexp.evidence.claims.finding import CONTRADICTED, HOLDS, UNDECIDED
from normexp.evidence.stats import Interval

__all__ = ["CONTRADICTED", "HOLDS", "UNDECIDED", "Verdict"]


@dataclass(frozen=True)
class Verdict:
    """What our runs say of one claim.

    Args:
        verdict: holds, contradicted or undecided.
        evidence: one line, complete in itself.
        estimate, interval: of the difference, value, ratio or share of runs that decides; 95 %, not corrected.
        n: number of seeds.
        p, p_holm: two-sided, and corrected over the experiment's claims; None where nothing was tested.
        more_seeds: how many more would probably decide; None where that cannot be told or nothing is open.
    """

    verdict: str
    evidence: str
    estimate: float | None = None
    interval: Interval | None = None
    n: int = 0
    p: float | None = None
    p_holm: float | None = None
    more_seeds: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, which has no infinity: inf, -inf and NaN become texts."""
        ends = [_plain(self.interval.low), _plain(self.interval.high)] if self.interval else None
        return {
            "verdict": self.verdict,
            "evidence": self.evidence,
            "estimate": _plain(self.estimate),
            "interval": ends,
            "n": self.n,
            "p": _plain(self.p),
            "p_holm": _plain(self.p_holm),
            "more_seeds": self.more_seeds,
        }


def _plain(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)
