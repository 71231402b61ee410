"""Train on sequences of some lengths, test on sequences of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normexp.config.instantiate import instantiate
from normexp.errors import UserError
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.studies.trained import error, trained
from normexp.training.batches import Examples
from normexp.training.components import Components

LENGTHS = ("test_length", "test_delay")  # what data sets call the length of their test sequences


@dataclass(frozen=True, kw_only=True)
class SequenceLength(Study):
    """Train the network once, then test it on new sequences, all of one length, for one length after another.

    A row per length, and `step` is that length: `dataset.test_length`, or `dataset.test_delay` where a data set counts
    delays. The error is the root mean squared one in the target's own units, or the share of wrong answers.

    Args:
        lengths: of the test sequences; `growth` is relative to the shortest.

    Raises: UserError for a data set whose test sequences have no length of their own.

    Source: Zuo 2018, "Layer normalization", properties: useful for recurrent networks with varied sequence length.
    """

    lengths: Sequence[int] = (50, 100, 200)

    def measure(self, context: StudyContext) -> Outcome:
        key = length_key(context)
        components = trained(context)
        errors = {length: self._error(context, components, key, length) for length in sorted(set(self.lengths))}
        first = next(iter(errors.values()))
        return Outcome(
            [{"step": length, "error": error, "growth": ratio(error, first)} for length, error in errors.items()]
        )

    def _error(self, context: StudyContext, components: Components, key: str, length: int) -> float:
        test = instantiate({**context.config["dataset"], key: length}).load(context.seed).test
        transform = components.batches.examples.transform
        return error(components, Examples(test.x, test.y, transform, components.device))


def ratio(error: float, first: float) -> float:
    """Return error / first; of two perfect scores 1."""
    return error / first if first else math.inf if error else 1.0


def length_key(context: StudyContext) -> str:
    """Return the key of `dataset` that sets the length of its test sequences. Raises UserError where none does."""
    found = next((key for key in LENGTHS if key in context.config["dataset"]), None)
    if found is None:
        chosen = context.config.choices["dataset"]
        raise UserError(f"study=sequence_length: dataset={chosen} has one length only; use dataset=adding or copy")
    return found
