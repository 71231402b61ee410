"""What the names of metrics tell."""

import math

import pytest

from normexp.evidence.metrics import MEASURES, SCORES, extremes, is_share
from normexp.training.task import Classification, LanguageModel, Regression

EXTREMES = {
    "test/accuracy": (0, 1),
    "test/error": (0, 1),
    "growth_error": (0, math.inf),
    "validation/mse": (0, math.inf),
    "test/bits_per_byte": (0, math.inf),
    "test/perplexity": (1, math.inf),
    "nll": (-math.inf, math.inf),
    "probe/logits/std": (0, math.inf),
    "probe/all/log_variance": (-math.inf, math.inf),
    "gain": (-math.inf, math.inf),
}


@pytest.mark.parametrize(("metric", "ends"), EXTREMES.items(), ids=EXTREMES)
def test_ends_of_a_metric_follow_from_its_name(metric, ends):
    assert extremes(metric) == ends
    assert is_share(metric) is (ends == (0, 1))


def test_every_task_has_its_score_and_runs_are_chosen_by_it():
    tasks = {"classification": Classification, "regression": Regression, "language": LanguageModel}
    assert {name: task.metric for name, task in tasks.items()} == SCORES
    assert (*(f"validation/{task.metric}" for task in tasks.values()), "validation/loss") == MEASURES
