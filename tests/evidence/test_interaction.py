"""`compare: interaction`: a difference of two arms, less that of two others, seed by seed."""

import math
from typing import Any

import pytest
from claim_maker import check_claim
from curve_maker import METRIC, cells, finals
from one_line import one_line_error

from normexp.evidence.claims import Claim, Verdict, judge

ARMS = ("tanh, sgd", "layer, sgd", "tanh, adamw", "layer, adamw")
DATA = {
    "text": "t", "source": "s", "compare": "interaction", "metric": METRIC, "of": ARMS[0], "than": ARMS[1],
    "minus": [ARMS[2], ARMS[3]], "in": "> 0",
}  # fmt: skip
SEEDS = [0.80, 0.84, 0.90, 0.82, 0.88]  # what a seed gives every arm: more than any effect


def claim(**changes: Any) -> Claim:
    return check_claim({**DATA, **changes}, ARMS, (METRIC,), {"depth": [4, 12]})


def verdict(*effects: float, noise: float = 0.0005, **changes: Any) -> Verdict:
    """Judge arms that are `effects` above their seeds, with a little noise of their own."""
    rows = [
        [seed + effect + noise * math.sin(7 * arm + 3 * i) for i, seed in enumerate(SEEDS)]
        for arm, effect in enumerate(effects)
    ]
    curves = cells(**{name: finals(row) for name, row in zip(ARMS, rows, strict=True)})
    return judge([claim(**changes)], curves)[0]


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ((0.05, 0.02, 0.01, 0.0), "holds"),  # .03 and .01
        ((0.02, 0.01, 0.05, 0.02), "contradicted"),
        ((0.05, 0.02, 0.03, 0.0), "undecided"),  # each is ahead, and by the same
    ],
)
def test_it_is_about_how_much_more_two_arms_differ(effects: tuple[float, ...], said: str) -> None:
    assert verdict(*effects).verdict == said


def test_equal_differences_are_equal_to_a_margin_however_large_they_are() -> None:
    found = verdict(0.05, 0.02, 0.03, 0.0, **{"in": "within 0.005 of 0"})
    assert found.verdict == "holds"
    assert "tanh, sgd minus layer, sgd, less that of tanh, adamw minus layer, adamw" in found.evidence
    assert "n=5" in found.evidence
    assert found.estimate == pytest.approx(0.0, abs=0.002)


def test_an_arm_without_runs_leaves_it_undecided() -> None:
    curves = cells(**{name: finals(SEEDS) for name in ARMS[:3]})
    found = judge([claim()], curves)[0]
    assert found.verdict == "undecided"
    assert "no finished run of layer, adamw" in found.evidence


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minus": [ARMS[2]]}, "minus"),
        ({"minus": [ARMS[2], ARMS[2]]}, "tanh, adamw is compared with itself"),
        ({"minus": [ARMS[2], "layer, adam"]}, "did you mean layer, adamw"),
        ({"minus": [ARMS[0], ARMS[3]]}, "tanh, sgd is compared with itself"),
    ],
)
def test_mistakes_are_one_line(changes: dict[str, Any], message: str) -> None:
    with one_line_error(message):
        claim(**changes)


def test_where_is_about_all_four_arms() -> None:
    places = claim(where={"depth": 12}).places()
    assert [dict(place.point) for place in places] == [{"depth": 12}] * 4
