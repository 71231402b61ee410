"""A network is tried on a few examples before a run begins; a scheme that needs more of them is tried on a batch."""

import pytest

from normexp.config import compose
from normexp.data.loading import Loader
from normexp.errors import UserError
from normexp.training.build import TRIAL_EXAMPLES, build

WHITENING = ["model=mlp", "dataset=digits", "norm=decorrelated", "norm.group_size=50", "threads=1"]


def tried(*overrides: str) -> int:
    """Build a run; return its updates."""
    config = compose([*WHITENING, *overrides])
    return build(config, Loader().load(config)).steps


def test_a_batch_that_is_large_enough_is_taken_though_few_examples_are_not() -> None:
    assert TRIAL_EXAMPLES < 50
    assert tried("batch_size=128", "steps=3") == 3


def test_a_batch_that_is_too_small_is_refused_with_its_own_size() -> None:
    with pytest.raises(UserError, match=r"needs more than 50 values per channel, .* input has shape \(40, 100\)$"):
        tried("batch_size=40")
