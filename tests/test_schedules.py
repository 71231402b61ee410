"""Learning-rate curves: (step, total) -> factor."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from normexp import schedules
from normexp.build import build_rate
from normexp.config import compose, options

TOTAL = 20


def curve(name: str, **keys: object) -> list[float]:
    return [getattr(schedules, name)(step, TOTAL, **keys) for step in range(TOTAL)]


def test_schedule_constant_is_1():
    assert curve("constant") == [1.0] * TOTAL


def test_schedule_linear_tail_falls_evenly_after_the_start():
    factors = curve("linear_tail")
    assert factors[:11] == [1.0] * 11
    assert factors[10:] == pytest.approx([1 - n / 10 for n in range(10)])


def test_schedule_linear_tail_may_start_at_once():
    assert curve("linear_tail", start=0.0) == pytest.approx([1 - n / TOTAL for n in range(TOTAL)])


def test_schedule_step_falls_at_each_fraction():
    assert curve("step", at=(0.5, 0.75)) == pytest.approx([1.0] * 10 + [0.1] * 5 + [0.01] * 5)


def test_schedule_cosine_is_half_a_cosine():
    assert curve("cosine") == pytest.approx([(1 + math.cos(math.pi * n / TOTAL)) / 2 for n in range(TOTAL)])


def test_schedule_cosine_rises_in_the_warmup_then_falls():
    factors = curve("cosine", warmup=0.25)
    assert factors[:6] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    assert all(a > b for a, b in pairwise(factors[5:]))


@pytest.mark.parametrize("total", [1, 2, 3, 1000])
@pytest.mark.parametrize("name", options("schedule"))
def test_schedule_stays_in_0_to_1_for_any_length(name, total):
    rate = build_rate(compose([f"schedule={name}", "optim.lr=1"]), total)
    assert all(0 < rate(step) <= 1 for step in range(total))
    assert 0 <= rate(total) <= 1  # reported after the last step


@pytest.mark.parametrize("warmup", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("total", [1, 2, 3, 100])
def test_schedule_warmup_is_positive_for_any_length(warmup, total):
    assert all(0 < schedules.cosine(step, total, warmup) <= 1 for step in range(total))


def test_schedule_multiplies_the_base_rate():
    rate = build_rate(compose(["schedule=step", "schedule.at=[0.5]", "schedule.factor=0.5", "optim.lr=0.3"]), 10)
    assert [rate(4), rate(5)] == pytest.approx([0.3, 0.15])
