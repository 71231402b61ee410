"""Verdicts on published numbers."""

import math

import pytest

from normexp.evidence.verdicts import PublishedVerdict, published_verdict

INF = math.inf


def judge(values: list[float], printed: str, margin: float, scale: str = "paper") -> PublishedVerdict:
    return published_verdict(dict(enumerate(values)), printed, margin, scale)


def test_reproduced_where_the_interval_lies_inside_the_margin() -> None:
    verdict = judge([0.721, 0.722, 0.723, 0.722], "72.2%", 0.005)
    assert verdict.verdict == str(verdict) == "reproduced"


@pytest.mark.parametrize("shift", [-0.02, 0.02])
def test_not_reproduced_on_either_side(shift: float) -> None:
    verdict = judge([0.721 + shift, 0.722 + shift, 0.723 + shift], "72.2%", 0.005)
    assert str(verdict) == "not reproduced"


def test_undecided_says_how_many_more_seeds() -> None:
    verdict = judge([0.84, 0.60, 0.86], ".85", 0.02)
    assert verdict.verdict == "undecided"
    assert verdict.more_seeds is not None
    assert verdict.more_seeds > 3
    assert str(verdict) == f"undecided (about {verdict.more_seeds} more seeds)"


@pytest.mark.parametrize("values", [[], [0.722], [0.1], [math.nan], [-INF]])
def test_fewer_than_two_runs_decide_nothing(values: list[float]) -> None:
    verdict = judge(values, "72.2%", 0.005)
    assert verdict.verdict == "undecided"


@pytest.mark.parametrize("scale", ["smoke", "cpu"])
def test_other_scales_are_scaled(scale: str) -> None:
    verdict = judge([0.721, 0.722, 0.723, 0.722], "72.2%", 0.005, scale)
    assert str(verdict) == "scaled"


def test_rounding_of_the_printed_number_widens_the_margin() -> None:
    values = [7.288, 7.290, 7.292]
    assert judge(values, "7.2", 0.06).verdict == "reproduced"
    assert judge(values, "7.20", 0.06).verdict == "not reproduced"
    assert judge(values, "~7.2", 0.0).verdict == "reproduced"


def test_bound_is_one_sided() -> None:
    assert judge([0.0009, 0.0010, 0.00095], "<= 1/1000", 0.0002).verdict == "reproduced"
    assert judge([0.09, 0.10, 0.11], "<= 1/1000", 0.0002).verdict == "not reproduced"


def test_a_diverged_run_counts() -> None:
    verdict = judge([0.721, 0.722, 0.723, 0.722, -INF], "72.2%", 0.005)
    assert verdict.verdict == "undecided"
    assert verdict.more_seeds is None
    assert judge([-INF, math.nan], "72.2%", 0.005).verdict == "not reproduced"
    assert judge([-INF, -INF], "<= 0.1", 0.005).verdict == "not reproduced"


def test_never_is_a_published_value() -> None:
    assert judge([INF, INF], "never", 0.0).verdict == "reproduced"
    assert judge([100.0, 120.0, 110.0], "never", 0.0).verdict == "not reproduced"
    assert judge([100.0, INF, 110.0], "never", 0.0).verdict == "undecided"
    assert judge([INF, INF], "13.3e6", 1e6).verdict == "not reproduced"


@pytest.mark.parametrize(("scale", "words"), [("paper", "not judged (no margin)"), ("cpu", "scaled")])
def test_without_a_margin_nothing_is_judged(scale: str, words: str) -> None:
    for values in ([0.1, 0.2, 0.1], [0.1, 0.1], [math.nan]):
        assert str(published_verdict(dict(enumerate(values)), "0.1", None, scale)) == words


def test_seeds_do_not_depend_on_their_order() -> None:
    forward = published_verdict({0: 0.721, 1: 0.722, 2: 0.724}, "72.2%", 0.01, "paper")
    assert published_verdict({2: 0.724, 0: 0.721, 1: 0.722}, "72.2%", 0.01, "paper") == forward
