"""How long a run would take: a few real steps and one real evaluation batch, timed, and multiplied out."""

from __future__ import annotations

import time
from collections.abc import Callable

from normexp.config import Config
from normexp.data.base import Data
from normexp.data.loading import load
from normexp.errors import UserError
from normexp.training.batches import EVALUATION_BATCH, in_order
from normexp.training.build import Parts, build, initialize_from_data
from normexp.training.loop import evaluate

WARM_UP, STEPS, SECONDS = 2, 10, 1.0  # steps not timed, steps timed at most, seconds spent at most


def seconds_of(config: Config, load: Callable[[Config], Data] = load) -> float:
    """Return the estimated seconds of a whole run on this machine as it is now.

    Raises: UserError for a study, whose steps are its own, and as `build` does.
    """
    if config.choices["study"] != "none":
        raise UserError("a study cannot be timed by a few steps; it takes seconds")
    parts = build(config, load(config))
    initialize_from_data(parts, config["seed"])
    evaluations = 1 + -(-parts.steps // parts.eval_every)
    return parts.steps * _step_seconds(parts) + evaluations * _evaluation_seconds(parts)


def _step_seconds(parts: Parts) -> float:
    step, batches = parts.step(), parts.batches.from_step(0)
    for _ in range(WARM_UP):
        step(*next(batches))
    began, done = time.perf_counter(), 0
    while done < STEPS and time.perf_counter() - began < SECONDS:
        step(*next(batches))
        done += 1
    return (time.perf_counter() - began) / done


def _evaluation_seconds(parts: Parts) -> float:
    if not parts.evaluated:
        return 0.0
    examples = next(iter(parts.evaluated.values()))
    first = [next(in_order(examples, EVALUATION_BATCH))]
    began = time.perf_counter()
    parts.before_evaluation()
    prepared = time.perf_counter()
    evaluate(parts.forward, parts.task, first, parts.autocast)
    count = sum(len(split) for split in parts.evaluated.values())
    return prepared - began + (time.perf_counter() - prepared) * count / len(first[0][1])
