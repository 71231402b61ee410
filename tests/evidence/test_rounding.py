"""How numbers are written: everywhere the same, never with more digits than the deviation bears."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normexp.evidence.claims.words import Estimated
from normexp.evidence.rounding import mean_and_deviation, number, ratio, with_interval
from normexp.evidence.stats import Interval
from normexp.report.figures.scales import short

WRITTEN = {
    (33.09, 2.41): "33.1 ± 2.4",
    (44.36, 0.651): "44.36 ± 0.65",
    (9.99, 0.996): "10.0 ± 1.0",
    (123.4, 99.6): "120 ± 100",
    (12345, 250): "12340 ± 250",
    (0.0281, 0.0034): "0.0281 ± 0.0034",
    (3.326e-15, 5.4e-15): "(3.3 ± 5.4)e-15",
    (1.356e7, 5e5): "(1.356 ± 0.050)e+07",
    (2, 4.2e-8): "2",
    (13780.612, 1.6e-12): "13781",
    (1.5, 2.94e-6): "1.5000000 ± 0.0000029",
    (14, 0): "14",
    (1.000021, 0): "1.000",
    (6.999853, 4.5e-6): "7.000",
    (2.83e301, 3.12e301): "(2.8 ± 3.1)e+301",
    (1e305, 3.1e303): "(1.000 ± 0.031)e+305",
}


@pytest.mark.parametrize(("values", "text"), WRITTEN.items(), ids=WRITTEN.values())
def test_deviation_has_two_digits_and_the_mean_ends_where_it_does(values: tuple[float, float], text: str) -> None:
    assert mean_and_deviation(*values) == text


def test_equal_percentages_have_two_decimals() -> None:
    assert mean_and_deviation(10.0, 0.0, percent=True) == "10.00"
    assert number(97.3, percent=True) == "97.30"


@given(st.floats(-1e9, 1e9, allow_subnormal=False), st.floats(1e-9, 1e9))
def test_what_is_written_reads_back_to_the_same_digits(mean: float, deviation: float) -> None:
    text = mean_and_deviation(mean, deviation)
    if "±" not in text:
        assert deviation <= 1e-6 * abs(mean)
        return
    inside, _, power = text.strip("(").partition(")")
    first, second = (float(part) * 10 ** int(power[1:] or 0) for part in inside.split(" ± "))
    digit = 10.0 ** (math.floor(math.log10(deviation)) - 1)
    assert abs(second - deviation) <= 0.5001 * digit
    assert abs(first - mean) <= max(0.5001 * digit * 10, abs(mean) * 1e-6)


def test_intervals_end_where_their_half_width_does() -> None:
    assert with_interval(13.12, -31.66, 57.9) == "+13 [-32, +58]"
    assert with_interval(0.57, 0.33, 0.81) == "+0.57 [+0.33, +0.81]"
    assert with_interval(-1.05, -10.96, math.inf) == "-1.1 [-11.0, +∞]"
    assert with_interval(1.2e-5, -0.4e-5, 2.8e-5) == "(+1.2 [-0.4, +2.8])e-05"  # of all three, the value too


def test_of_an_arm_that_diverged_in_every_run_no_end_is_a_number() -> None:
    assert with_interval(math.inf, math.inf, math.inf) == "+∞ [+∞, +∞]"
    assert with_interval(math.nan, -math.inf, math.inf) == "? [-∞, +∞]"


FINITE, ARRIVE = "(some runs have no finite value)", "some runs never arrive"
WORDS = {  # estimate, low, high, unit, estimand, limits of the claim
    (0.1540167, 0.13838984, 0.16964349, "points"): "15.4 points, 95% [13.8, 17.0]",
    (2.391, 1.714, 5.151, "times"): "2.4 times, 95% [1.7, 5.2]",
    (3.801, 2.024, 118.4, "times"): "3.8 times, 95% [2.0, 118]",
    (27.3, 3.7, 203.7, "times"): "27 times, 95% [3.7, 204]",
    (1494.2, 743.3, 3004, "times"): "1490 times, 95% [743, 3000]",
    (2e-5, 7.9e-8, 0.0081, "times"): "2.0e-05 times, 95% [7.9e-08, 0.0081]",
    (0.3636, 0.3183, 0.4089, "nats"): "0.364 nats, 95% [0.318, 0.409]",
    (-0.00445, -0.00556, -0.00334, "seconds"): "-0.0044 seconds, 95% [-0.0056, -0.0033]",
    (5e-5, -7e-5, 1.7e-4, "nats"): "(0.5, 95% [-0.7, 1.7])e-04 nats",
    (1024, 1024, 1024, "times"): "1024 times",
    (1, 1, 1, "times"): "1.0 times",
    (2.1197, 1.9161, 2.3233, "nats", "value", (1.92, 2.12)): "2.120 nats, 95% [1.916, 2.323]",
    (0.98, 0.9001, 0.9996, "times", "ratio", (1.0,)): "0.980 times, 95% [0.900, 0.9996]",
    (math.nan, 1.0918, math.inf, "times", "steps"): f"95%: at least 1.09 times (no estimate: {ARRIVE})",
    (math.nan, 0.0, 1.2073, "times", "steps"): f"95%: at most 1.21 times (no estimate: {ARRIVE})",
    (math.nan, 0.0, 0.99917, "times", "steps", (1.0,)): f"95%: at most 0.999 times (no estimate: {ARRIVE})",
    (math.nan, 0.0, math.inf, "times", "steps"): f"nothing is known ({ARRIVE})",
    (math.nan, 0.1287, 0.7452, ""): f"95%: between 0.13 and 0.75 (no estimate: {FINITE[1:]}",
    (-math.inf, -math.inf, -math.inf, "steps"): f"less than any number, 95%: the same {FINITE}",
    (-math.inf, -math.inf, math.inf, "steps"): f"no finite estimate {FINITE}, 95%: without ends",
    (-math.inf, -math.inf, -20.0, "steps"): f"no finite estimate {FINITE}, 95%: at most -20.0",
    (-0.03, -math.inf, -0.0154, "points"): "-3.00 points, 95%: at most -1.54",
    (1.0, -math.inf, math.inf, "%"): "100 %, 95%: without ends",
}


@pytest.mark.parametrize(("result", "words"), WORDS.items(), ids=WORDS.values())
def test_an_estimate_is_written_in_its_unit_with_the_digits_of_its_interval(result: Any, words: str) -> None:
    estimate, low, high, *more = result
    assert Estimated(estimate, Interval(low, high), *more).in_words() == words


ADJUSTED = {  # estimate, low, high, unit, estimand, limits; the adjusted interval
    ((0.0105, 0.001, 0.02, "points"), (-0.0014, 0.0224)): "adjusted [-0.14, 2.24]",
    ((0.24, -0.02, math.inf, "points"), (-0.05, math.inf)): "adjusted: at least -5",
    ((math.nan, 0.0, 0.98, "times", "steps", (1.0,)), (0.0, 0.99917)): "adjusted: at most 0.999",
    ((1024, 1024, 1024, "times"), (1024, 1024)): "",
    ((-51.69, -51.69, -51.69, ""), (-51.7, -51.69)): "adjusted [-51.7000, -51.6900]",
    ((5e-5, -7e-5, 1.7e-4, "nats"), (-0.0001, 0.0002)): "adjusted [-1.0, 2.0]e-04",
}


@pytest.mark.parametrize(("results", "words"), ADJUSTED.items(), ids=ADJUSTED.values())
def test_the_adjusted_interval_has_the_digits_of_the_other(results: Any, words: str) -> None:
    (estimate, low, high, *more), adjusted = results
    assert Estimated(estimate, Interval(low, high), *more).adjusted(Interval(*adjusted)) == words


def test_just_below_a_switch_of_notation_the_rounded_number_is_written_as_the_one_above() -> None:
    assert (ratio(999.7), ratio(999.4), ratio(-999.7)) == ("1000", "999", "-1000")
    assert (number(9999.7), number(9999.4), number(-9999.7)) == ("10000", "9999", "-10000")
    assert number(999999.7) == number(1e6) == "1e+06"


def test_ratios_have_three_digits() -> None:
    assert [ratio(value) for value in (4.4, 14.8, 443.2, 1234.0, math.inf, math.nan)] == [
        "4.40", "14.8", "443", "1234", "∞", "?"
    ]  # fmt: skip


def test_zero_has_no_sign_of_its_own() -> None:
    assert mean_and_deviation(-3, 0) == "-3"
    assert with_interval(-0.001, -0.4, 0.4) == "+0.00 [-0.40, +0.40]"
    assert (number(-0.0), number(-0.001, percent=True), ratio(-0.0)) == ("0", "0.00", "0.00")
    assert (short(-0.0), short(-0.5)) == ("0", "\N{MINUS SIGN}0.5")
