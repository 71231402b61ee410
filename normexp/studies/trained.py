"""A network trained to its last step, without records: for studies of what was learned."""

from __future__ import annotations

from normexp.batches import Examples, in_order
from normexp.build import Parts, build, initialize_from_data
from normexp.config import Config
from normexp.data.base import Data
from normexp.seeding import seeded
from normexp.train import Window, evaluate, make_step, train

EVALUATION_BATCH = 256


def trained(config: Config, data: Data) -> Parts:
    """Return the parts of a run after its last update; they end as a recorded run of these data does."""
    parts = build(config, data)
    initialize_from_data(parts, config["seed"])
    step = make_step(
        parts.forward,
        parts.task,
        parts.optimizer,
        parts.autocast,
        penalty=lambda: parts.norm.penalty(parts.model),
        after=parts.norm.after_step(parts.model),
    )
    window, batches = Window.of(parts.steps, parts.device), parts.batches.from_step(0)
    with seeded(config["seed"], "noise"):
        train(step, parts.task, batches, window, parts.optimizer, parts.rate, 0, parts.steps, lambda done: False)
    return parts


def score(parts: Parts, examples: Examples) -> float:
    """Return the score of the task, rmse or accuracy, over the examples."""
    measured = evaluate(parts.forward, parts.task, in_order(examples, EVALUATION_BATCH), parts.autocast)
    return measured[parts.task.score]
