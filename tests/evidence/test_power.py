"""Whether a family of claims can be decided with so many seeds."""

import itertools

import pytest
from claim_maker import read_claim
from scipy.stats import mannwhitneyu

from normexp.evidence.claims.claim import Claim
from normexp.evidence.claims.estimands import is_tested
from normexp.evidence.claims.power import smallest_adjusted_p, smallest_rank_p


def family(steps: int, differences: int = 0, counts: int = 0) -> list[Claim]:
    about = {"text": "t", "source": "s", "of": "BN"}
    two = {**about, "metric": "test/accuracy", "than": "plain"}
    return [
        *itertools.repeat(read_claim({**two, "compare": "steps", "target": 0.9, "in": "> 1"}), steps),
        *itertools.repeat(read_claim({**two, "compare": "difference", "in": "> 0"}), differences),
        *itertools.repeat(read_claim({**about, "compare": "count", "event": "stays finite"}), counts),
    ]


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_least_p_of_ranks_is_that_of_two_samples_that_do_not_overlap(n: int) -> None:
    separated = mannwhitneyu(range(n), range(n, 2 * n), alternative="two-sided", method="exact").pvalue
    assert smallest_rank_p(n) == pytest.approx(separated)


def test_seven_claims_with_five_seeds_cannot_be_decided_by_ranks_but_with_six_they_can() -> None:
    assert smallest_adjusted_p(family(3, 4), 5) == pytest.approx(7 * 2 / 252)
    assert smallest_adjusted_p(family(3, 4), 5) > 0.05 > smallest_adjusted_p(family(3, 4), 6)
    assert smallest_adjusted_p(family(3, 3), 5) < 0.05


def test_counts_are_no_part_of_the_family_and_differences_have_no_least_p() -> None:
    assert [is_tested(claim, "cpu") for claim in family(1, 1, counts=1)] == [True, True, False]
    assert smallest_adjusted_p(family(0, 20), 3) == 0.0


def test_a_printed_number_is_part_of_the_family_at_scale_paper_alone() -> None:
    (claim,) = family(1)
    printed = claim.model_copy(update={"printed": True})
    assert [is_tested(printed, scale) for scale in ("cpu", "paper")] == [False, True]


def test_one_seed_decides_nothing() -> None:
    assert smallest_adjusted_p(family(0, 1), 1) == 1.0
