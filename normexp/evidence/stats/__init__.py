"""Statistics over seeds: NumPy, and SciPy's special functions where a distribution is needed (loaded on first use).

Every sample is one number per seed. Fewer than two decide nothing: functions then return None or NaN, never a value
that could pass for a result. A run that diverged enters as -inf or inf, whichever is worse, a target that was never
reached as inf, and what is not known as NaN; none of them is left out.
"""

from normexp.evidence.stats.bootstrap import bootstrap_interval
from normexp.evidence.stats.estimates import Estimate, one_sample, paired, paired_differences
from normexp.evidence.stats.holm import holm
from normexp.evidence.stats.interval import EVERYTHING, Interval
from normexp.evidence.stats.planning import seeds_to_decide
from normexp.evidence.stats.printed import Printed
from normexp.evidence.stats.proportion import proportion_interval
from normexp.evidence.stats.rank_sum import RankSum
from normexp.evidence.stats.region import Decision, decide
from normexp.evidence.stats.sign import Sign
from normexp.evidence.stats.speed_up import SpeedUp, speed_up
from normexp.evidence.stats.steps import NEVER, Steps, steps_to_target
from normexp.evidence.stats.student import Student, t_interval
from normexp.evidence.stats.summary import mean, median, standard_deviation

__all__ = [
    "EVERYTHING",
    "NEVER",
    "Decision",
    "Estimate",
    "Interval",
    "Printed",
    "RankSum",
    "Sign",
    "SpeedUp",
    "Steps",
    "Student",
    "bootstrap_interval",
    "decide",
    "holm",
    "mean",
    "median",
    "one_sample",
    "paired",
    "paired_differences",
    "proportion_interval",
    "seeds_to_decide",
    "speed_up",
    "standard_deviation",
    "steps_to_target",
    "t_interval",
]
