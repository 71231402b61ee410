"""How long a run would take: a few real steps and one real evaluation batch, timed, and multiplied out."""

from __future__ import annotations

import time

import torch

from normexp.config import Config
from normexp.data.loading import Loader
from normexp.errors import UserError
from normexp.training.batches import EVALUATION_BATCH, sequential_batches
from normexp.training.build import build, initialize_from_data
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.metrics import evaluate
from normexp.training.process import process_settings

WARM_UP, STEPS, SECONDS = 2, 10, 1.0  # steps not timed, steps timed at most, seconds spent at most


def estimate_seconds(config: Config, loader: Loader | None = None) -> float:
    """Return the estimated seconds of a whole run on this machine as it is now.

    Raises: UserError for a study, whose steps are its own, and as `build` does.
    """
    if config.choices["study"] != "none":
        raise UserError("a study cannot be timed by a few steps; `normexp list experiments` has the times of ours")
    loader = loader or Loader()
    with process_settings(config["compile"], config["precision"]):
        components = build(config, loader.load(config), loader.examples)
        torch.set_num_threads(components.threads)
        initialize_from_data(components)
        evaluations = 1 + -(-components.steps // components.eval_every)
        return components.steps * _step_seconds(components) + evaluations * _evaluation_seconds(components)


def _step_seconds(components: Components) -> float:
    updates = fit(components, stop=WARM_UP + STEPS)
    for _ in range(WARM_UP):
        next(updates)
    began, done = time.perf_counter(), 0
    while done < STEPS and time.perf_counter() - began < SECONDS:
        next(updates)
        done += 1
    return (time.perf_counter() - began) / done


def _evaluation_seconds(components: Components) -> float:
    if not components.evaluated:
        return 0.0
    examples = next(iter(components.evaluated.values()))
    first = [next(sequential_batches(examples, EVALUATION_BATCH))]
    began = time.perf_counter()
    components.before_evaluation()
    prepared = time.perf_counter()
    evaluate(components, first)
    count = sum(len(split) for split in components.evaluated.values())
    return prepared - began + (time.perf_counter() - prepared) * count / len(first[0][1])
