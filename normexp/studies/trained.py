"""A network trained to its last step, without records: for studies of what was learned."""

from __future__ import annotations

from normexp.config import Config
from normexp.data.base import Data
from normexp.seeding import seeded
from normexp.training.batches import EVALUATION_BATCH, Examples, in_order
from normexp.training.build import Parts, build, initialize_from_data
from normexp.training.loop import Window, evaluate, train


def trained(config: Config, data: Data) -> Parts:
    """Return the parts of a run after its last update, ready to be evaluated; they end as a recorded run does."""
    parts = build(config, data)
    initialize_from_data(parts, config["seed"])
    step = parts.step()
    window, batches = Window.of(parts.steps, parts.device), parts.batches.from_step(0)
    with seeded(config["seed"], "noise"):
        train(step, parts.task, batches, window, parts.optimizer, parts.settings, 0, parts.steps, lambda done: False)
    parts.before_evaluation()
    return parts


def score(parts: Parts, examples: Examples) -> float:
    """Return the score of the task, rmse or accuracy, over the examples."""
    measured = evaluate(parts.forward, parts.task, in_order(examples, EVALUATION_BATCH), parts.autocast)
    return measured[parts.task.score]
