"""Numbers as papers print them."""

import math

import pytest

from normexp.errors import UserError
from normexp.evidence.stats import Interval, Printed


@pytest.mark.parametrize(
    ("text", "value", "rounding", "bound"),
    [
        ("7.25", 7.25, 0.005, ""),
        ("7.250", 7.25, 0.0005, ""),
        (".967", 0.967, 0.0005, ""),
        ("72.2%", 0.722, 0.0005, ""),
        ("72.2 %", 0.722, 0.0005, ""),
        ("~.968", 0.968, 0.001, ""),
        ("<= 0.1", 0.1, 0.05, "<="),
        ("≤ 0.1", 0.1, 0.05, "<="),
        ("<= 1/1000", 0.001, 0.0, "<="),
        ("> 99%", 0.99, 0.005, ">="),
        ("31.0e6", 31.0e6, 0.05e6, ""),
        ("31.0·10^6", 31.0e6, 0.05e6, ""),
        ("-85", -85.0, 0.5, ""),
        ("\u221285", -85.0, 0.5, ""),
        ("50,000", 50_000.0, 0.5, ""),
        ("0", 0.0, 0.5, ""),
        ("never", math.inf, 0.0, ""),
    ],
)
def test_printed_number(text: str, value: float, rounding: float, bound: str) -> None:
    number = Printed.of(text)
    assert number.value == pytest.approx(value, rel=1e-15)
    assert number.rounding == pytest.approx(rounding, rel=1e-15)
    assert number.bound == bound
    assert number.text == text


NO_NUMBER = ["", "-", "%", ".", "abc", "1.2.3", "1,00", "7.25 +- 0.1", "nan", "inf", "never ever"]
BEYOND_NUMBERS = ["1/0", "0/0", "1e999", "1e9999999999999999999"]


@pytest.mark.parametrize("text", [*NO_NUMBER, *BEYOND_NUMBERS])
def test_printed_refuses_what_is_no_number(text: str) -> None:
    with pytest.raises(UserError, match="published number"):
        Printed.of(text)


@pytest.mark.parametrize("number", [7.25, 7, None, True])
def test_printed_refuses_a_number_that_lost_its_digits(number: object) -> None:
    with pytest.raises(UserError, match="quoted"):
        Printed.of(number)  # type: ignore[arg-type]


def test_region_is_the_margin_and_the_rounding() -> None:
    region = Printed.of("7.2").region(0.1)
    assert (region.low, region.high) == pytest.approx((7.05, 7.35))
    finer = Printed.of("7.20").region(0.1)
    assert (finer.low, finer.high) == pytest.approx((7.095, 7.305))


def test_region_of_a_bound_is_open_on_one_side() -> None:
    assert Printed.of("<= 0.5").region(0.0) == Interval(-math.inf, 0.55)
    assert Printed.of(">= 0.5").region(0.0) == Interval(0.45, math.inf)
