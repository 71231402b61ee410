"""Claims of papers as predicates over curves: check them without a run, judge them with runs."""

from normexp.evidence.claims.check import check_claim
from normexp.evidence.claims.claim import PREDICATES, Claim, Place
from normexp.evidence.claims.judge import judge
from normexp.evidence.claims.verdict import CONTRADICTED, HOLDS, UNDECIDED, Verdict

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
