"""The four houses against the values of an independent calculation."""

from collections import Counter
from fractions import Fraction

import pytest

from normexp.config import compose
from normexp.errors import UserError
from normexp.evidence.audit import CORRECT, ROUNDED, judged
from normexp.studies.base import Outcome, StudyContext
from normexp.studies.house_prices_example import HousePricesExample
from normexp.studies.house_prices_printed import printed_numbers

HOUSES = ("dataset=house_prices", "dataset.source=lecture", "dataset.standardize_target=false", "model=linear")


def measured(inputs: str, **options) -> Outcome:
    return HousePricesExample(**options).measure(StudyContext(compose([*HOUSES, f"inputs={inputs}"])))


def test_first_update_is_printed_and_then_the_error_overflows():
    outcome = measured("none")
    descent, (row,) = outcome.tables["descent"], outcome.rows
    weights = [descent[1][name] for name in ("w1", "w2", "w3")]
    assert weights == [23560.0, 620.0, 1116000.0]
    assert row["first_update_ratio"] == 1800
    assert row["diverged"] == 1
    assert row["overflow_update"] == descent[-1]["update"] == 24


def test_second_update_in_exact_fractions():
    rate, x, price = Fraction(1, 10), (229, 3, 3000, 1), 2286
    first = [rate * 1550 * value for value in (152, 4, 7200, 1)]
    error = sum(w * value for w, value in zip(first, x, strict=True)) - price
    expected = [float(w - rate * error * value) for w, value in zip(first, x, strict=True)]
    second = measured("none").tables["descent"][2]
    assert [second[name] for name in ("w1", "w2", "w3", "b")] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("inputs", ["standardize", "minmax", "minmax_symmetric", "zca"])
def test_scaled_inputs_are_more_isotropic_and_faster_at_the_same_rate(inputs):
    (row,) = measured(inputs).rows
    assert (row["diverged"], row["more_isotropic"], row["faster"]) == (0, 1, 1)


def test_whitened_inputs_have_circles_for_contours():
    (row,) = measured("zca").rows
    assert row["condition_number"] == pytest.approx(1, abs=1e-3)


def test_printed_verdicts_of_section_two():
    numbers = [number for number in printed_numbers("standardize") if number.document == "S003"]
    entries = [number for number in numbers if number.agrees is None]
    verdicts = Counter(judged(number.printed, str(number.computed)) for number in entries)
    assert verdicts == {CORRECT: 42, ROUNDED: 3}
    assert {number.printed for number in entries if number.remark} == {"4082.50", "-0.717", "1.489"}


def test_first_update_is_printed_rightly():
    assert [number.printed for number in printed_numbers("none") if number.agrees is None] == [
        "155", "23560", "620", "1116000",
    ]  # fmt: skip
    assert all(judged(n.printed, str(n.computed), str(n.agrees or "")) == CORRECT for n in printed_numbers("none"))


@pytest.mark.parametrize("inputs", ["minmax", "minmax_symmetric"])
def test_code_line_maps_dimensions_only_one_at_a_time(inputs):
    whole, single = printed_numbers(inputs)
    assert whole.agrees is False
    assert single.agrees is True
    assert (whole.place, whole.quantity, whole.printed) == (single.place, single.quantity, single.printed)


def test_landscape_of_standardized_inputs_is_round():
    (raw,), (scaled,) = measured("none").rows, measured("standardize").rows
    assert raw["landscape_condition"] == pytest.approx(78.04, rel=1e-3)
    assert scaled["landscape_condition"] == pytest.approx(1, abs=1e-6)


def test_path_ends_at_the_bottom_of_the_landscape():
    outcome = measured("standardize")
    lowest = min(outcome.tables["landscape"], key=lambda row: row["mse"])
    end = outcome.tables["path"][-1]
    assert (end["x"], end["y"]) == pytest.approx((lowest["w"], lowest["b"]), rel=1e-2)


def test_feature_that_does_not_exist():
    with pytest.raises(UserError, match=r"study.feature=4: the data have 3 features"):
        measured("none", feature=4)
