"""Learning-rate sensitivity: the mean distance from the best over the logarithm of the rate."""

import math

import numpy as np
import pytest

from normexp.evidence.curves import Curve
from normexp.evidence.sensitivity import has_range, sensitivity


def run(last: float, metric: str = "test/loss", start: float = 4.0, status: str = "done") -> Curve:
    return Curve(np.array([0, 10]), {metric: np.array([start, last])}, status, 10 if status == "diverged" else None)


def test_a_tent_over_the_logarithm() -> None:
    losses = {0.01: 3.0, 0.1: 1.0, 1.0: 3.0}
    assert sensitivity({rate: run(loss) for rate, loss in losses.items()}, "test/loss") == pytest.approx(1.0)


def test_an_uneven_grid_is_weighed_by_its_logarithm() -> None:
    line = {rate: run(1.0 + math.log10(rate)) for rate in (1.0, 2.0, 100.0)}
    assert sensitivity(line, "test/loss") == pytest.approx(1.0)  # a line from 0 to 2 behind


def test_equal_results_are_not_sensitive() -> None:
    assert sensitivity({rate: run(2.0) for rate in (0.1, 0.2, 0.7)}, "test/loss") == 0.0


@pytest.mark.parametrize("bad", [run(math.nan, status="diverged"), run(1e9), run(4.0)])
def test_what_diverged_or_got_worse_has_learned_nothing(bad: Curve) -> None:
    assert sensitivity({0.1: run(2.0), 1.0: run(2.0), 10.0: bad}, "test/loss") == pytest.approx(0.5)


def test_of_an_accuracy_more_is_better() -> None:
    runs = {x: run(y, "test/accuracy", 0.1) for x, y in ((1.0, 0.9), (10.0, 0.9), (100.0, 0.05))}
    assert sensitivity(runs, "test/accuracy") == pytest.approx((0.9 - 0.1) / 4)


def test_three_values_above_0_are_a_range() -> None:
    assert has_range([1.0, 2.0, 3.0])
    assert not has_range([1.0, 2.0, 2.0])
    assert not has_range([0.0, 1.0, 2.0])
