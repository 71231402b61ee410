"""Learning-rate curves: (step, total) -> factor, and Adam's beta1."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch

from normexp.config import compose, options
from normexp.errors import UserError
from normexp.training import schedules
from normexp.training.build import build_schedule
from normexp.training.fit import set_hyperparameters

TOTAL = 20


def curve(name: str, **keys: object) -> list[float]:
    return [getattr(schedules, name)(step, TOTAL, **keys).factor for step in range(TOTAL)]


def rates(*overrides: str, total: int) -> Callable[[int], float]:
    schedule = build_schedule(compose(overrides), total)
    return lambda step: schedule(step)["lr"]


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


@pytest.mark.parametrize(
    ("fraction", "total", "first"), [(0.55, 100, 55), (0.07, 300, 21), (0.551, 100, 56), (0.143, 9000, 1287)]
)
def test_schedule_falls_at_the_fraction_itself_where_its_product_is_rounded_up(fraction, total, first):
    factors = [schedules.step(n, total, at=[fraction]).factor for n in range(total)]
    betas = [schedules.linear_tail(n, total, start=fraction, beta1=0.5).beta1 for n in range(total)]
    assert (factors.index(0.1), betas.index(0.5)) == (first, first)


def test_schedule_exponential_halves_so_many_times():
    assert curve("exponential") == pytest.approx([0.5 ** (n / TOTAL) for n in range(TOTAL)])
    assert schedules.exponential(TOTAL, TOTAL, halvings=6, times=5).factor == pytest.approx(5 / 64)
    assert curve("exponential", halvings=0, times=30) == [30.0] * TOTAL


def test_schedule_cosine_is_half_a_cosine():
    assert curve("cosine") == pytest.approx([(1 + math.cos(math.pi * n / TOTAL)) / 2 for n in range(TOTAL)])


def test_schedule_cosine_rises_in_the_warmup_then_falls():
    factors = curve("cosine", warmup=0.25)
    assert factors[:6] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    assert all(a > b for a, b in pairwise(factors[5:]))


@pytest.mark.parametrize("total", [1, 2, 3, 1000])
@pytest.mark.parametrize("name", options("schedule"))
def test_schedule_stays_in_0_to_1_for_any_length(name, total):
    rate = rates(f"schedule={name}", "optim.lr=1", total=total)
    assert all(0 < rate(step) <= 1 for step in range(total))
    assert 0 <= rate(total) <= 1  # reported after the last step


@pytest.mark.parametrize("warmup", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("total", [1, 2, 3, 100])
def test_schedule_warmup_is_positive_for_any_length(warmup, total):
    assert all(0 < schedules.cosine(step, total, warmup).factor <= 1 for step in range(total))


def test_schedule_multiplies_the_base_rate():
    rate = rates("schedule=step", "schedule.at=[0.5]", "schedule.factor=0.5", "optim.lr=0.3", total=10)
    assert [rate(4), rate(5)] == pytest.approx([0.3, 0.15])


TAIL = ("optim=adam", "schedule=linear_tail", "schedule.start=0.4", "schedule.beta1=0.5", "optim.betas=[0.8,0.99]")


def test_schedule_linear_tail_lowers_beta1_where_the_rate_falls():
    settings = build_schedule(compose(TAIL), 10)
    assert [settings(step).get("betas") for step in range(10)] == [None] * 4 + [(0.5, 0.99)] * 6
    assert "betas" not in build_schedule(compose(TAIL[:3]), 10)(9)


def test_schedule_beta1_reaches_the_optimizer():
    """One weight under a constant gradient but for its sign at the end: beta1 decides how soon Adam turns."""
    moved = {}
    for overrides in (TAIL, TAIL[:3]):
        weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.double))
        optimizer = torch.optim.Adam([weight], betas=(0.8, 0.99))
        settings, moment = build_schedule(compose(overrides), 10), 0.0
        for done in range(10):
            weight.grad = torch.ones_like(weight) if done < 8 else -torch.ones_like(weight)
            set_hyperparameters(optimizer, settings(done))
            beta1 = optimizer.param_groups[0]["betas"][0]
            moment = beta1 * moment + (1 - beta1) * weight.grad.item()
            optimizer.step()
        assert optimizer.state[weight]["exp_avg"].item() == pytest.approx(moment)
        moved[overrides] = moment
    assert moved[TAIL] < 0 < moved[TAIL[:3]]


def test_schedule_beta1_is_refused_by_an_optimizer_without_one():
    with pytest.raises(UserError, match=r"schedule\.beta1=0\.5 with optim=sgd: .*use optim=adam or optim=adamw"):
        compose(["schedule=linear_tail", "schedule.beta1=0.5"])


def test_schedule_cosine_ends_at_the_share_that_is_asked_for():
    assert schedules.cosine(TOTAL, TOTAL, warmup=0.25, final=0.1).factor == pytest.approx(0.1)
    assert schedules.cosine(10, TOTAL, final=0.1).factor == pytest.approx(0.55)
    assert schedules.cosine(0, TOTAL, final=0.1).factor == 1.0


def test_schedule_warmup_rises_and_stays():
    assert curve("warmed_up", warmup=0.25) == pytest.approx([min(1, (n + 1) / 6) for n in range(TOTAL)])
    assert curve("warmed_up", warmup=0.0) == [1.0] * TOTAL
