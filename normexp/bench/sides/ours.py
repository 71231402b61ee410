"""normexp itself: the components that `normexp run` builds and the loop that it runs, with its duties per step."""

from __future__ import annotations

import sys
import time
from itertools import islice

import torch

from normexp.bench.work import Train, Work
from normexp.training.build import build, initialize_from_data
from normexp.training.fit import fit
from normexp.training.metrics import MetricAccumulator


def train(work: Work) -> Train:
    components = build(work.config, work.data)
    torch.set_num_threads(components.threads)
    initialize_from_data(components)
    updates = fit(components, stop=sys.maxsize)

    def steps(count: int) -> list[float]:
        accumulator = MetricAccumulator(components.task, count, components.device)
        for update in islice(updates, count):
            accumulator.add(update)
            time.monotonic()  # one look at the clock, as in a run
        losses: list[float] = accumulator.losses.tolist()
        return losses

    return steps
