"""What a printed number should be."""

import pytest

from normexp.studies.arithmetic.numbers import explained
from normexp.studies.base import Number


@pytest.mark.parametrize(
    ("printed", "computed", "remark"),
    [
        ("1.09", 1.0897, ""),
        ("4082.50", 4082.50842, "It is 4082.5084, which rounds to 4082.51; it was cut off."),
        ("-0.717", -0.716471, "It is -0.71647, which rounds to -0.716."),
        ("72.2%", 0.7229, "It is 0.7229, which rounds to 0.723; it was cut off."),
        ("0.02", 0.00296875, "It is 0.003. Some reason."),
        ("-1.05", 0.0, "It is 0. Some reason."),
    ],
)
def test_remark_says_what_it_should_be(printed, computed, remark):
    assert explained(Number("S003", "here", "x", printed, computed), wrong="Some reason.").remark == remark


def test_remark_names_the_reading():
    number = Number("S003", "here", "x", "0.4", 0.0, reading="Z = W X")
    assert explained(number).remark == "Z = W X gives 0."
