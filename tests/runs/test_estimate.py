"""How long a run takes, from a few of its steps: each network once, and no longer than it must."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest
import torch

from normexp.config import compose
from normexp.data.loading import Loader
from normexp.runs import estimate
from normexp.runs.estimate import Speed, estimate_seconds
from normexp.training.build import build

SMALL = ["dataset=digits", "model=linear", "threads=1"]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the steps that were trained."""
    steps: list[int] = []
    fit = estimate.fit

    def counted(components, stop):
        for update in fit(components, stop=stop):
            steps.append(update.done)
            yield update

    monkeypatch.setattr(estimate, "fit", counted)
    return steps


def test_seconds_of_a_length_are_those_of_its_steps_and_evaluations():
    speed = Speed(step=0.5, evaluation=3.0, steps_per_epoch=10)
    assert speed.seconds(compose([*SMALL, "steps=20", "eval_every=7"])) == 20 * 0.5 + (1 + 3) * 3.0
    assert speed.seconds(compose([*SMALL, "epochs=2", "evals_per_epoch=2"])) == 20 * 0.5 + (1 + 4) * 3.0


def test_a_network_is_timed_once_for_all_lengths_rates_and_probes(drawn):
    known = {}
    long, short, other = (
        estimate_seconds(compose([*SMALL, *words]), Loader(), known)
        for words in (
            ["steps=2000", "optim.lr=0.1"],
            ["steps=1000", "schedule=cosine", "seed=1", "probe=weight_norm"],
            ["norm=batch"],
        )
    )
    assert len(known) == 2
    assert drawn == [*range(1, 13)] * 2
    assert long > short > 0 < other


def test_slow_steps_are_few(drawn, monkeypatch):
    monkeypatch.setattr(estimate, "SECONDS", 1e-9)
    assert estimate_seconds(compose([*SMALL, "steps=9"]), Loader()) > 0
    assert drawn == [1]


def test_schedule_is_not_asked_for_steps_behind_the_run(drawn, monkeypatch):
    table = [{"lr": 0.1}, {"lr": 0.2}, {"lr": 0.3}, {"lr": 0.4}]  # one for each step, and for the row of the last
    build = estimate.build
    monkeypatch.setattr(estimate, "build", lambda *given: replace(build(*given), schedule=table.__getitem__))
    assert estimate_seconds(compose([*SMALL, "steps=3"]), Loader()) > 0
    assert drawn == [*range(1, 13)]


class Compiled(torch.nn.Module):
    """Stands for what torch.compile makes of a network: the first call of each mode takes long."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model, self.modes = model, set()

    def forward(self, x):
        if self.model.training not in self.modes:
            self.modes.add(self.model.training)
            time.sleep(1.5 * estimate.SECONDS)
        return self.model(x)


def test_what_the_compiler_takes_once_is_not_counted_for_every_step(monkeypatch):
    monkeypatch.setattr(estimate, "SECONDS", 0.2)
    monkeypatch.setattr(
        torch, "compile", lambda given, **_: Compiled(given) if isinstance(given, torch.nn.Module) else given
    )
    speed = estimate._measured(compose([*SMALL, "compile=true"]), Loader())
    assert speed.step < 0.3 > speed.evaluation


def test_a_build_has_the_length_that_is_estimated():
    from normexp.training.build import build
    from normexp.training.length import length_of

    for words in (["epochs=3", "evals_per_epoch=2"], ["steps=50", "eval_every=4"]):
        config = compose([*SMALL, *words])
        components = build(config, Loader().load(config))
        length = length_of(config.values, components.batches.steps_per_epoch)
        assert (components.steps, components.eval_every) == length


def test_one_batch_stands_for_all_examples_of_an_evaluation(monkeypatch):
    config = compose([*SMALL, "steps=3"])
    components = build(config, Loader().load(config))
    ticks = itertools.count()
    monkeypatch.setattr(estimate.time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(estimate, "evaluate", lambda *_: None)
    count = sum(map(len, components.evaluated.values()))
    assert estimate._evaluation_seconds(components, 10, compiles=False) == 1 + count / 10


def test_the_first_steps_are_not_timed(monkeypatch):
    clock = itertools.accumulate(spent for step in range(12) for spent in (0, 9 if step < estimate.WARM_UP else 1))
    monkeypatch.setattr(estimate, "fit", lambda *_, **__: itertools.repeat(None))
    monkeypatch.setattr(estimate, "_with_schedule_at_any_step", lambda given: given)
    monkeypatch.setattr(estimate, "SECONDS", 1e9)
    monkeypatch.setattr(estimate.time, "perf_counter", lambda: next(clock))
    assert estimate._step_seconds(None, compiles=False) == 1
