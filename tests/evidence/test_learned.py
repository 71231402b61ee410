"""Words for how runs ended: finite is not learned, a rank is no pair, a printed number has a scale of its own."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from claim_maker import check_claim
from curve_maker import cells, curve, finals

from normexp.evidence.claims import judge
from normexp.evidence.curves import Cell, Curve, Made
from normexp.evidence.learned import chance_bound, learned
from normexp.evidence.reading import value_at
from normexp.report.experiment.columns import Difference, Metric, Row
from normexp.report.experiment.run_columns import Learned
from normexp.report.frames.measured import Measured

TEN = Made(examples={"test": 1000}, chance=0.1)


def ended(accuracy: float, made: Made = TEN, status: str = "done") -> Curve:
    return replace(curve([0.1, 0.5, accuracy], status=status), made=made)


def fitted(learns: str) -> Curve:
    """Return a run that fits its training labels and knows nothing of the test split."""
    run, made = ended(0.1), Made(examples={"train": 50, "test": 1000}, chance=0.1, learns=learns)
    return replace(run, columns={**run.columns, "train/accuracy": np.array([0.1, 0.5, 1.0])}, made=made)


def measured(**arms: dict[int, Curve]) -> Measured:
    return Measured(cells(**arms), (), (), (), (), ())


def test_the_bound_is_chance_and_three_standard_errors() -> None:
    assert chance_bound(0.1, 1000) == pytest.approx(0.1 + 3 * 0.0094868, abs=1e-6)
    assert chance_bound(0.5, 100) == pytest.approx(0.5 + 3 * 0.05)


def test_chance_gets_above_the_bound_in_one_run_of_some_hundred() -> None:
    shares = np.random.default_rng(0).binomial(1000, 0.1, size=20000) / 1000
    assert 0.0005 < np.mean(shares > chance_bound(0.1, 1000)) < 0.004


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (ended(0.2), True),
        (ended(0.1), False),  # finite, at chance, though it was at a half before
        (ended(0.128), False),
        (ended(0.129), True),
        (ended(0.9, status="diverged"), False),
        (ended(0.9, Made(examples={"test": 1000})), None),  # how often is the most frequent class right?
        (ended(0.9, Made(chance=0.1)), None),  # of how many examples?
        (replace(curve([1.0], "test/rmse"), made=TEN), None),
        (fitted("train"), True),  # random labels: it is at chance on test examples, which is no failure to learn
        (fitted("test"), False),
    ],
)
def test_learned_is_above_chance_at_the_end(run: Curve, expected: bool | None) -> None:
    assert learned(run) is expected


def test_a_table_counts_them_beside_the_finite_ones() -> None:
    found = measured(BN={0: ended(0.4), 1: ended(0.1)})
    column = Learned(found)
    assert column.text(Row(Cell("BN"))) == "1/2"
    assert "above 10 %, the most frequent class's share, by more than 3 standard errors" in column.meaning


def claim(**entry: Any) -> Any:
    usual = {"text": "a sentence", "source": "page 1", "of": "BN"}
    return check_claim({**usual, **entry}, ["BN", "plain"], ["test/accuracy"])


def test_stays_finite_says_how_many_learned() -> None:
    finite = claim(compare="count", event="stays finite")
    runs = cells(BN={seed: ended(0.1 if seed else 0.4) for seed in range(5)})
    (verdict,) = judge([finite], runs)
    assert verdict.verdict == "holds"
    assert verdict.remarks == ("1 of 5 runs learned: they ended three standard errors above chance",)


def test_a_difference_by_rank_says_so_in_its_cell() -> None:
    paired_runs = measured(BN=finals([0.5, 0.6, 0.55]), plain=finals([0.4, 0.42, 0.41]))
    diverged = measured(BN=finals([0.5, float("nan"), 0.55]), plain=finals([0.4, 0.42, 0.41]))
    texts = [Difference(Metric(found, "test/accuracy", "last"), "plain").text(Row(Cell("BN")))
             for found in (paired_runs, diverged)]  # fmt: skip
    assert [text.endswith(" by rank") for text in texts] == [False, True]


def test_a_printed_number_is_judged_at_its_own_scale_only() -> None:
    runs = cells(BN=finals([0.5, 0.51, 0.52]), plain=finals([0.1, 0.12, 0.11]))
    printed = claim(compare="value", metric="test/accuracy", printed=True, **{"in": "> 0.9"})
    other = claim(compare="difference", metric="test/accuracy", than="plain", **{"in": "> 0"})
    at_paper, at_cpu = judge([printed, other], runs, "paper"), judge([printed, other], runs, "cpu")
    assert [each.verdict for each in at_paper] == ["contradicted", "holds"]
    assert [each.verdict for each in at_cpu] == ["not judged", "holds"]
    assert at_cpu[0].p is None
    assert at_cpu[1].adjusted is not None
    assert at_cpu[1].adjusted.p == at_cpu[1].p  # alone in its family
    assert at_cpu[0].estimate == pytest.approx(0.51)


def test_range_is_how_far_a_value_moves() -> None:
    run = curve([float("nan"), 0.3, -0.2, 0.1])
    assert value_at(run, "test/accuracy", "range", "lower") == pytest.approx(0.5)
