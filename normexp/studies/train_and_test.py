"""A trained network in training mode and in evaluation mode: how far the outputs differ, and what chance there is."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from normexp.errors import UserError
from normexp.norms.checks.batch_dependence import SAME, train_eval_gap
from normexp.norms.checks.capabilities import ONE_EXAMPLE, YES, capabilities
from normexp.norms.normprop import NormProp
from normexp.norms.weight import WeightNorm
from normexp.seeding import generator
from normexp.studies.arithmetic.lengths import root_mean_square
from normexp.studies.base import Number, Outcome, Study, StudyContext
from normexp.studies.trained import score, trained
from normexp.training.components import Components

SLIDES = {
    "slides on the NormProp ReLU layer": (NormProp(), "for global data normalization"),
    "slides on the weight normalized ReLU layer": (WeightNorm(), ""),
}


@dataclass(frozen=True, kw_only=True)
class TrainAndTest(Study):
    """Train; then show test examples to the network in batches of the training size, in both modes, in float64.

    Outputs are centered over the classes, which changes no probability. Lengths are relative to the outputs' root
    mean square in evaluation mode.

    Args:
        examples: of the test split, at most.
        rounds: random divisions into batches, the same for every scheme with one seed.
    """

    examples: int = 500
    rounds: int = 5

    def measure(self, context: StudyContext) -> Outcome:
        components = trained(context)
        if components.task.metric != "accuracy":
            raise UserError(f"study=train_and_test: dataset={context.config.choices['dataset']} has no classes")
        accuracy = score(components, components.evaluated["test"])
        training, evaluation, y = self._outputs(components, context.seed)
        length = root_mean_square(evaluation)
        metrics = {
            "test_accuracy": accuracy,
            "training_mode_accuracy": float((training.argmax(2) == y).double().mean()),
            "mode_gap": root_mean_square(training - evaluation) / length,
            "batch_noise": float(training.var(0).mean().sqrt()) / length,
        }
        return Outcome([{"step": components.steps, **metrics}], numbers=list(sentences()))

    def _outputs(self, components: Components, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return outputs in training and in evaluation mode, both (rounds, N, C), and the classes (N,)."""
        test, size = components.evaluated["test"], components.batches.batch_size
        count = min(self.examples, len(test)) // size * size  # whole batches only, as in training
        if count == 0:
            raise UserError(f"study.examples={self.examples}: less than one batch of {size}; use {size} or more")
        x, y = test.first(count)
        seen = {mode: torch.stack(list(self._rounds(components, x.double(), seed, mode))) for mode in (True, False)}
        return seen[True], seen[False], y

    @torch.no_grad()
    def _rounds(self, components: Components, x: Tensor, seed: int, training: bool) -> Iterator[Tensor]:
        """Yield the outputs of x, (N, C), for every random division into batches."""
        model = copy.deepcopy(components.model).double().train(training)
        for number in range(self.rounds):
            order = torch.randperm(len(x), generator=generator(seed, "division", number)).to(x.device)
            outputs = torch.cat([model(x[part]) for part in order.split(components.batches.batch_size)])
            yield (outputs - outputs.mean(1, keepdim=True))[order.argsort()]


def sentences() -> Iterator[Number]:
    """Yield what the slides say of one layer's two modes, and of one example, beside what a layer does."""
    for place, (norm, reading) in SLIDES.items():
        gap = train_eval_gap(norm)
        same = "equal outputs in both modes" if gap <= SAME else f"the outputs differ by {gap:.2g} of their norm"
        yield Number("S002", place, "normalization in training and at test", "identical", same, gap <= SAME, reading)
        failed = [answer for answer in capabilities(norm, cases=ONE_EXAMPLE).values() if answer != YES]
        computed = failed[0] if failed else "a vector and an image train alone, output and gradients finite"
        yield Number("S002", place, "batch size 1", "applicable", computed, not failed)
