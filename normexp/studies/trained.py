"""A network trained to its last step, without records: for studies of what was learned."""

from __future__ import annotations

from normexp.data.base import Data
from normexp.studies.base import StudyContext
from normexp.training.batches import EVALUATION_BATCH, Examples, sequential_batches
from normexp.training.components import Components
from normexp.training.fit import fit
from normexp.training.metrics import evaluate


def trained(context: StudyContext, data: Data | None = None) -> Components:
    """Return the components of a run after its last update, ready to be evaluated; they end as a recorded run does.

    Args:
        data: in place of the configuration's own.
    """
    components = context.build(context.data if data is None else data)
    for _ in fit(components):
        pass
    components.before_evaluation()
    return components


def score(components: Components, examples: Examples) -> float:
    """Return the metric of the task, rmse or accuracy, over the examples."""
    return evaluate(components, sequential_batches(examples, EVALUATION_BATCH))[components.task.metric]


def error(components: Components, examples: Examples) -> float:
    """Return the root mean squared error, or the share of wrong answers."""
    measured = score(components, examples)
    return measured if components.task.metric == "rmse" else 1 - measured
