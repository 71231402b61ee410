"""normexp itself: the parts that `normexp run` builds and the loop that it runs, with its duties per step."""

from __future__ import annotations

import time

from normexp.bench.work import Train, Work
from normexp.training.build import build, initialize_from_data
from normexp.training.loop import Window
from normexp.training.loop import train as loop


def train(work: Work) -> Train:
    parts = build(work.config, work.data)
    initialize_from_data(parts, work.seed)
    batches = parts.batches.from_step(0)
    step = parts.step()

    def watch(done: int) -> bool:
        return time.monotonic() < 0  # one look at the clock, as in a run; never stops

    def steps(count: int) -> list[float]:
        window = Window.of(count, parts.device)
        loop(step, parts.task, batches, window, parts.optimizer, parts.settings, 0, count, watch)
        losses: list[float] = window.losses.tolist()
        return losses

    return steps
