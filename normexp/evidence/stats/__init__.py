"""Statistics over seeds. The tests and intervals are scipy.stats' own (loaded on first use) where it has them.

Every sample is one number per seed. Fewer than two decide nothing: functions then return None or NaN, never a value
that could pass for a result. A run that diverged enters as -inf or inf, whichever is worse, a target that was never
reached as inf, and what is not known as NaN; none of them is left out.
"""

from normexp.evidence.stats.equivalence import EquivalenceTest
from normexp.evidence.stats.estimates import PointEstimate, one_sample, paired, paired_differences
from normexp.evidence.stats.interval import EVERYTHING, Interval
from normexp.evidence.stats.multiplicity import false_discovery_rate, holm, holm_confidence
from normexp.evidence.stats.planning import SampleSize, plan, required_sample_size
from normexp.evidence.stats.printed import Printed
from normexp.evidence.stats.proportion import proportion_interval
from normexp.evidence.stats.rank_sum import RankSumTest
from normexp.evidence.stats.sequential import Design
from normexp.evidence.stats.sign_test import SignTest
from normexp.evidence.stats.speed_up import SpeedUp, speed_up
from normexp.evidence.stats.steps import NEVER, Steps, steps_to_target
from normexp.evidence.stats.summary import mean, median, standard_deviation
from normexp.evidence.stats.t_test import TTest, t_interval

__all__ = [
    "EVERYTHING",
    "NEVER",
    "Design",
    "EquivalenceTest",
    "Interval",
    "PointEstimate",
    "Printed",
    "RankSumTest",
    "SampleSize",
    "SignTest",
    "SpeedUp",
    "Steps",
    "TTest",
    "false_discovery_rate",
    "holm",
    "holm_confidence",
    "mean",
    "median",
    "one_sample",
    "paired",
    "paired_differences",
    "plan",
    "proportion_interval",
    "required_sample_size",
    "speed_up",
    "standard_deviation",
    "steps_to_target",
    "t_interval",
]
