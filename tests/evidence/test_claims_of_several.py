"""A claim of several comparisons, and the claims of a table together."""

import json
from dataclasses import replace

import numpy as np
import pytest
from curve_maker import cells, finals
from judged_claims import ARMS, BAD, GOOD, NAN, WILD, claim, verdict

from normexp.evidence.claims import entry, judge
from normexp.evidence.claims.judge import _wider
from normexp.evidence.claims.result import TestResult
from normexp.evidence.claims.verdict import Adjusted
from normexp.evidence.stats import EquivalenceTest, Interval

# Several comparisons


def test_only_a_test_by_ranks_is_said_to_have_ties() -> None:
    """That of a metric called stable_rank was, whatever its test."""
    above, interval = claim("higher", than="LN"), Interval(-1.0, 1.0)
    found = TestResult("stable_rank of BN minus LN (paired t)", 5, 0.5, lambda _: interval, EquivalenceTest(0.01, 1.0))
    for method, remarks in (("paired t", 0), ("unpaired rank-sum", 1)):
        result = replace(found, method=method)
        assert len(list(_wider(above, result, "holds", Adjusted(0.01, 0.95, interval)))) == remarks


def test_the_interval_of_what_contradicts_allows_for_all_comparisons() -> None:
    ours = finals([0.90, 0.91, 0.905, 0.915, 0.90])
    curves = cells(BN=ours, LN=finals([0.913, 0.922, 0.921, 0.925, 0.914]), plain=finals([0.5] * 5))
    found, alone = verdict(curves, "highest", arms=["LN", "plain"]), verdict(curves, "higher", than="LN")
    assert found.p == pytest.approx(2 * alone.p)  # type: ignore[operator]
    assert found.interval.high > alone.interval.high  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_adjusted_interval_decides_where_the_verdict_does() -> None:
    """Of the least favourable of several comparisons, whichever side it is on."""
    source, decided = np.random.default_rng(1), dict.fromkeys(("holds", "contradicted", "undecided"), 0)
    for _ in range(200):
        shift = source.choice([-1.0, 0.0, 1.0])
        draw = {arm: list(0.5 + (arm == "BN") * shift + source.standard_normal(5)) for arm in ARMS}
        found = verdict(cells(**{arm: finals(values) for arm, values in draw.items()}), "highest", arms=["LN", "plain"])
        assert found.adjusted is not None
        ends = found.adjusted.interval
        assert ends is not None
        by_interval = "holds" if ends.low > 0 else "contradicted" if ends.high < 0 else "undecided"
        assert by_interval == found.verdict
        decided[found.verdict] += 1
    assert min(decided.values()) > 5


def test_seeds_are_planned_for_all_comparisons() -> None:
    one, two = ({"LN": finals(WILD)}, {"LN": finals(WILD), "plain": finals([v - 0.2 for v in WILD])})
    ours = finals([v + e for v, e in zip(WILD, (-0.05, 0.02, -0.06, 0.03, -0.05), strict=True)])
    alone = verdict(cells(BN=ours, **one), "higher", than="LN").fresh_seeds
    among = verdict(cells(BN=ours, **two), "highest", arms=["LN", "plain"]).fresh_seeds
    assert alone is not None
    assert among is not None
    assert among.observed is not None
    assert alone.observed is not None
    assert among.observed > alone.observed


def test_an_equivalence_takes_more_seeds_than_one_of_its_ends() -> None:
    curves = cells(BN=finals([0.9, 0.93, 0.91, 0.94, 0.92]), LN=finals([0.91, 0.92, 0.92, 0.93, 0.92]))
    both = verdict(curves, "within", than="LN", margin=0.012).fresh_seeds
    one = verdict(curves, "higher", than="LN", margin=-0.012).fresh_seeds
    assert both is not None
    assert one is not None
    assert both.observed is not None
    assert one.observed is not None
    assert both.observed > one.observed


# The correction


def test_holm_is_over_all_tested_claims() -> None:
    weak = [v + d for v, d in zip(BAD, (0.004, 0.001, 0.003, 0.0005, 0.0035), strict=True)]
    curves = cells(BN=finals(weak), LN=finals(BAD), plain=finals(WILD))
    alone = claim("higher", than="LN")
    first = judge([alone], curves)[0]
    assert first.verdict == "holds"
    assert first.p is not None
    others = [claim("higher", than="plain"), claim("higher", of="LN", than="plain")]
    together = judge([alone, *others, claim("converges"), claim("higher", than="LN", at="step 99")], curves)
    assert together[0].p == first.p
    assert together[0].adjusted is not None
    assert together[0].adjusted.p == pytest.approx(3 * first.p)
    assert together[0].verdict == "undecided"
    assert together[3].p is None
    assert together[3].verdict == "holds"
    assert together[4].verdict == "undecided"


def test_seeds_are_planned_at_the_level_that_the_correction_leaves() -> None:
    """Of claims without a test, which take no part in it, there may be any number."""
    ours = [v + e for v, e in zip(WILD, (-0.05, 0.02, -0.06, 0.03, -0.05), strict=True)]
    curves = cells(BN=finals(ours), LN=finals(WILD))
    open_claim, counted = claim("higher", than="LN"), claim("converges")
    alone, untested, twice = (
        judge([open_claim, *others], curves)[0].fresh_seeds for others in ([], [counted], [open_claim])
    )
    assert alone == untested
    assert alone is not None
    assert twice is not None
    assert alone.observed is not None
    assert twice.observed is not None
    assert alone.observed < twice.observed


def test_verdicts_are_in_the_order_of_the_claims_and_json() -> None:
    curves = cells(BN=finals(GOOD), plain=finals([NAN] * 5))
    claims = [claim("diverges", of="plain"), claim("higher", than="plain"), claim("diverges")]
    verdicts = judge(claims, curves)
    assert [each.verdict for each in verdicts] == ["holds", "holds", "contradicted"]
    entries = [entry(each, found, "paper", "cpu") for each, found in zip(claims, verdicts, strict=True)]
    text = json.dumps(entries, allow_nan=False)
    assert json.loads(text)[1]["estimate"] == "inf"


def test_no_claims() -> None:
    assert judge([], {}) == []
