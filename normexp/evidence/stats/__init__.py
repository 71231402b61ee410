"""Statistics over seeds. The tests and intervals are scipy.stats' own (loaded on first use) where it has them.

Every sample is one number per seed. Fewer than two decide nothing: functions then return None or NaN, never a value
that could pass for a result. A run that diverged enters as -inf or inf, whichever is worse, a target that was never
reached as inf, and what is not known as NaN; none of them is left out.
"""

from normexp.evidence.stats.equivalence import EquivalenceTest as EquivalenceTest
from normexp.evidence.stats.estimates import PointEstimate as PointEstimate
from normexp.evidence.stats.estimates import one_sample as one_sample
from normexp.evidence.stats.estimates import paired as paired
from normexp.evidence.stats.estimates import paired_differences as paired_differences
from normexp.evidence.stats.interval import Interval as Interval
from normexp.evidence.stats.last_bits import without_last_bits as without_last_bits
from normexp.evidence.stats.level import CONFIDENCE as CONFIDENCE
from normexp.evidence.stats.level import LEVEL as LEVEL
from normexp.evidence.stats.level import confidence_of as confidence_of
from normexp.evidence.stats.multiplicity import false_discovery_rate as false_discovery_rate
from normexp.evidence.stats.multiplicity import holm as holm
from normexp.evidence.stats.multiplicity import holm_confidence as holm_confidence
from normexp.evidence.stats.planning import SampleSize as SampleSize
from normexp.evidence.stats.planning import plan as plan
from normexp.evidence.stats.planning import required_sample_size as required_sample_size
from normexp.evidence.stats.printed import Printed as Printed
from normexp.evidence.stats.proportion import proportion_interval as proportion_interval
from normexp.evidence.stats.rank_sum import RankSumTest as RankSumTest
from normexp.evidence.stats.sequential import Design as Design
from normexp.evidence.stats.sign_test import SignTest as SignTest
from normexp.evidence.stats.speed_up import SpeedUp as SpeedUp
from normexp.evidence.stats.speed_up import speed_up as speed_up
from normexp.evidence.stats.steps import Steps as Steps
from normexp.evidence.stats.steps import longest_watched as longest_watched
from normexp.evidence.stats.steps import steps_to_target as steps_to_target
from normexp.evidence.stats.summary import mean as mean
from normexp.evidence.stats.summary import median as median
from normexp.evidence.stats.summary import standard_deviation as standard_deviation
from normexp.evidence.stats.t_test import TTest as TTest
from normexp.evidence.stats.t_test import t_interval as t_interval
