"""`follows` and `leaves`: a law holds, is contradicted and is undecided, to a tolerance that follows from n."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from claim_maker import check_claim
from one_line import one_line_error

from normexp.evidence.claims import Verdict, judge
from normexp.evidence.claims.estimands import kind_at
from normexp.evidence.claims.units import UNNAMED, Named
from normexp.evidence.curves import Cell, Curve, Curves

METRICS = ("angle", "formula", "rest")
RATES = (0.1, 0.2, 0.4)


def runs(rate: float, n: int, noise: float, factor: float = 1.0, seed: int = 0) -> dict[int, Curve]:
    """Return n runs whose angle is the rate's root times a factor, with relative noise; four steps each."""
    source = np.random.default_rng([seed, int(1e6 * rate)])
    steps = np.arange(4)

    def one() -> Curve:
        predicted = np.full(4, math.sqrt(rate))
        measured = factor * predicted * (1 + noise * source.standard_normal(4))
        return Curve(steps, {"angle": measured, "formula": predicted, "rest": 0.02 * predicted}, "done")

    return {k: one() for k in range(n)}


def curves(n: int = 10, noise: float = 0.01, factor: float = 1.0, seed: int = 0) -> Curves:
    return {Cell("BN", (("rate", rate),)): runs(rate, n, noise, factor, seed) for rate in RATES}


def judged(found: Curves, compare: str = "follows", named: Named = UNNAMED, **keys: Any) -> Verdict:
    data = {"text": "a law", "source": "p. 1", "compare": compare, "of": "BN", "metric": "angle", "formula": "formula"}
    claim = check_claim({**data, **keys}, ["BN", "control"], METRICS, {"rate": list(RATES)})
    return judge([claim], found, named=named)[0]


def test_law_holds_where_the_intervals_reach_the_formula_and_are_narrow() -> None:
    assert judged(curves()).verdict == "holds"
    assert judged(curves(), at="every").verdict == "holds"


def test_law_is_contradicted_by_a_shift_that_n_seeds_can_see() -> None:
    assert judged(curves(factor=1.05)).verdict == "contradicted"
    assert "rate=" in judged(curves(factor=1.05)).evidence


def test_tolerance_shrinks_as_seeds_are_added() -> None:
    def width(n: int) -> float:
        place = judged(curves(n, 0.02)).details["places"][0]
        return place["high"] - place["low"]

    assert width(100) < width(25) / 1.5 < width(6) / 2


def test_one_place_that_departs_contradicts_the_law() -> None:
    found = {**curves(), Cell("BN", (("rate", 0.2),)): runs(0.2, 10, 0.01, 1.05)}
    verdict = judged(found)
    assert verdict.verdict == "contradicted"
    assert verdict.details["law"]["where"] == "at rate=0.2"


def test_remainder_allows_what_it_states_and_no_more() -> None:
    assert judged(curves(factor=1.025)).verdict == "contradicted"
    assert judged(curves(factor=1.025), remainder="rest", order="rate").verdict == "holds"
    assert judged(curves(factor=1.10), remainder="rest", order="rate").verdict == "contradicted"


def test_wide_intervals_and_one_seed_show_nothing() -> None:
    assert judged(curves(noise=0.5)).verdict == "undecided"
    one = judged(curves(n=1))
    assert one.verdict == "undecided"
    assert "fewer than two seeds" in one.evidence
    assert judged(curves(noise=0.5), resolution=5.0).verdict == "holds"


def test_control_leaves_the_law_exactly_where_the_law_is_contradicted() -> None:
    verdicts = {factor: judged(curves(factor=factor), "leaves").verdict for factor in (1.0, 1.05)}
    assert verdicts == {1.0: "contradicted", 1.05: "holds"}
    assert judged(curves(noise=0.5), "leaves").verdict == "undecided"


def test_identity_is_held_to_rounding_run_by_run() -> None:
    assert judged(curves(n=1, noise=1e-12), rounding=1e-10).verdict == "holds"
    assert judged(curves(n=1, noise=1e-8), rounding=1e-10).verdict == "contradicted"
    assert judged(curves(n=1, noise=1e-8), "leaves", rounding=1e-10).verdict == "holds"
    opposite = {Cell("BN"): {**runs(0.1, 1, 0, 1 + 1e-6), 1: runs(0.1, 1, 0, 1 - 1e-6)[0]}}
    assert judged(opposite, rounding=1e-7).verdict == "contradicted"  # the mean would be right


def test_rounding_may_be_a_column_of_every_run():
    assert judged(curves(n=1, noise=1e-3), rounding="rest").verdict == "holds"
    assert judged(curves(n=2, factor=1.05), rounding="rest").verdict == "contradicted"
    assert judged(curves(n=2, factor=1.05), "leaves", rounding="rest").verdict == "holds"


def test_step_without_a_prediction_is_no_place() -> None:
    found = curves()
    for by_seed in found.values():
        for run in by_seed.values():
            run.columns["formula"][:2] = math.nan
    assert len(judged(found, at="every").details["places"]) == 2 * len(RATES)


def test_diverged_control_leaves_and_diverged_law_is_contradicted() -> None:
    found: Mapping[Cell, Mapping[int, Curve]] = {
        Cell("BN"): {seed: Curve(run.step, run.columns, "diverged", 2) for seed, run in runs(0.1, 5, 0.01).items()}
    }
    verdict = judged(found, at="step 1")
    assert verdict.verdict in ("contradicted", "undecided")
    assert judged(found, at="last").verdict != "holds"


@pytest.mark.slow
def test_a_true_law_is_rarely_contradicted() -> None:
    wrong = sum(judged(curves(5, 0.02, seed=k)).verdict == "contradicted" for k in range(1, 201))
    assert wrong <= 9  # 99 % simultaneous: 2 expected, more than 9 once in 10,000


def test_kinds() -> None:
    def kind(**keys: Any) -> str:
        data = {"text": "a", "source": "p", "of": "BN", "metric": "angle", "formula": "formula", **keys}
        return kind_at(check_claim(data, ["BN"], METRICS), "paper")

    assert kind(compare="follows") == "full scale"
    assert kind(compare="follows", rounding=1e-9) == "exact"
    assert kind(compare="leaves") == "own"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"formula": "formla"}, "formula"),
        ({"remainder": "rst"}, "rest"),
        ({"rounding": 1e-9, "remainder": "rest"}, "has no remainder"),
        ({"order": "1/n"}, "name its column"),
        ({"rounding": 0.0}, "rounding"),
        ({"rounding": "rst"}, "rest"),
    ],
)
def test_mistakes_are_one_line(keys: dict[str, Any], message: str) -> None:
    with one_line_error(message):
        judged(curves(), **keys)


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1, 2)])
def test_a_place_with_diverged_runs_is_not_passed_over(which: tuple[int, ...]) -> None:
    """Whichever seeds they are: the law is not known to hold there, and a control not known to leave it."""
    found = {cell: dict(each) for cell, each in curves(n=3, noise=0.0).items()}
    cell = next(iter(found))
    for seed in which:
        run = found[cell][seed]
        empty = {name: np.full(4, math.nan) for name in run.columns}
        found[cell][seed] = Curve(run.step, empty, "diverged", 2)
    assert judged(found).verdict != "holds"


def test_the_rounding_of_one_run_is_not_lent_to_another() -> None:
    """On average the runs are within their rounding, one of them is not."""
    run = runs(0.1, 1, 0.0, 1 + 1e-6)[0]
    loose, strict = (Curve(run.step, {**run.columns, "rest": np.full(4, rest)}, "done") for rest in (1e-3, 1e-9))
    assert judged({Cell("BN"): {0: loose, 1: loose}}, rounding="rest").verdict == "holds"
    found = judged({Cell("BN"): {0: loose, 1: strict}}, rounding="rest")
    assert found.verdict == "contradicted"
    assert found.details["law"]["remainder"] == 1e-9
    unknown = Curve(run.step, {**run.columns, "rest": np.full(4, math.nan)}, "done")
    assert judged({Cell("BN"): {0: loose, 1: unknown}}, rounding="rest").verdict == "undecided"


def test_runs_that_all_agree_with_the_formula_to_the_last_bit_but_one_follow_it() -> None:
    def same(measured: float) -> Curves:
        columns = {"angle": np.full(4, measured), "formula": np.full(4, 0.3), "rest": np.zeros(4)}
        return {Cell("BN"): {seed: Curve(np.arange(4), columns, "done") for seed in range(5)}}

    assert judged(same(0.1 + 0.2)).verdict == "holds"
    assert judged(same(0.3 * (1 + 1e-14))).verdict == "contradicted"


def test_a_step_is_called_what_the_study_calls_it() -> None:
    verdict = judged(curves(factor=1.1), named=Named(step="layer {}"), at="every")
    assert " at layer " in verdict.details["law"]["where"]
    assert " at layer " in verdict.evidence
