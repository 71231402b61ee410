"""Claims of papers, an estimand and a region each: check them without a run, judge them with runs."""

from normexp.evidence.claims.check import check_claim
from normexp.evidence.claims.claim import KINDS, Claim
from normexp.evidence.claims.estimands import kind_at
from normexp.evidence.claims.fields import Place
from normexp.evidence.claims.judge import judge
from normexp.evidence.claims.result import NOT_JUDGED, NOT_YET
from normexp.evidence.claims.sequential import still_open
from normexp.evidence.claims.verdict import CONTRADICTED, HOLDS, UNDECIDED, Verdict, entry

__all__ = [
    "CONTRADICTED",
    "HOLDS",
    "KINDS",
    "NOT_JUDGED",
    "NOT_YET",
    "UNDECIDED",
    "Claim",
    "Place",
    "Verdict",
    "check_claim",
    "entry",
    "judge",
    "kind_at",
    "still_open",
]
