"""Claims of papers as predicates over curves: check them without a run, judge them with runs."""

from normexp.claims.check import check_claim
from normexp.claims.claim import PREDICATES, Claim, Place
from normexp.claims.judge import judge
from normexp.claims.verdict import CONTRADICTED, HOLDS, UNDECIDED, Verdict

__all__ = [
    "CONTRADICTED",
    "HOLDS",
    "PREDICATES",
    "UNDECIDED",
    "Claim",
    "Place",
    "Verdict",
    "check_claim",
    "judge",
]
