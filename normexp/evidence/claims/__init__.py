"""Claims of papers, an estimand and a region each: check them without a run, judge them with runs."""

from normexp.evidence.claims.claim import KINDS as KINDS
from normexp.evidence.claims.claim import Claim as Claim
from normexp.evidence.claims.judge import judge as judge
from normexp.evidence.claims.result import CONTRADICTED as CONTRADICTED
from normexp.evidence.claims.result import HOLDS as HOLDS
from normexp.evidence.claims.result import NOT_JUDGED as NOT_JUDGED
from normexp.evidence.claims.result import NOT_YET as NOT_YET
from normexp.evidence.claims.result import UNDECIDED as UNDECIDED
from normexp.evidence.claims.sequential import still_open as still_open
from normexp.evidence.claims.verdict import Verdict as Verdict
from normexp.evidence.claims.verdict import entry as entry
