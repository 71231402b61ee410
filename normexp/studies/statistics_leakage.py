"""Input statistics of the training split, or of all data: what becomes of the error on held-out data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from normexp.data.base import Array, Data, Split, empty_like
from normexp.errors import UserError
from normexp.seeding import generator, stream
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.studies.trained import error, trained
from normexp.training.batches import Examples


@dataclass(frozen=True, kw_only=True)
class StatisticsLeakage(Study):
    """Split the data at random, fit `inputs` as `inputs.fit_on` says, train, measure; many times over.

    Every split has three parts: training examples, held-out examples, and new examples that neither training nor
    `inputs.fit_on=all` ever sees. The error on held-out examples is what would be reported; the error on new ones is
    what it stands for. Splits and initial weights are those of the seed, whatever the rest: runs are paired.

    Args:
        train, held_out: numbers of examples; all others are new, of which at most `new` are used.
        splits: number of splits.
        heavy_tailed: number of inputs that have nothing to do with the target and are added to a table, drawn from
            Student's t distribution with two degrees of freedom: their variance is infinite.

    Source: Normalization (notes page), "Common pitfall"; Ferreira 2024, lecture L12, section 2, "Important".
    """

    train: int = 30
    held_out: int = 30
    new: int = 500
    splits: int = 20
    heavy_tailed: int = 0

    def measure(self, context: StudyContext) -> Outcome:
        if "fit_on" not in context.config["inputs"]:
            chosen = context.config.choices["inputs"]
            raise UserError(f"study=statistics_leakage: inputs={chosen} takes no statistics; use inputs=standardize")
        whole = self._whole(context)
        errors: Array = np.array([self._errors(context, whole, i) for i in range(self.splits)])
        held_out, new = np.median(errors, axis=0)  # one split with an outlier would decide about a mean
        with np.errstate(divide="ignore", invalid="ignore"):  # few examples may all be right: infinite, or unknown
            optimism = float(np.log(errors[:, 1] / errors[:, 0]).mean())
        metrics = {"held_out_error": float(held_out), "new_error": float(new), "optimism": optimism}
        return Outcome([{"step": 0, **metrics}])

    def _whole(self, context: StudyContext) -> Data:
        """Return all examples as the training split, with the inputs that are added."""
        data = context.data
        x, y = (np.concatenate([getattr(split, name) for split in data.splits if len(split)]) for name in ("x", "y"))
        if len(x) <= self.train + self.held_out:
            raise UserError(f"study.train={self.train}, study.held_out={self.held_out}: there are {len(x)} examples")
        whole = Split(self._with_more_inputs(x, context), y)
        return replace(data, train=whole, validation=empty_like(whole), test=empty_like(whole))

    def _with_more_inputs(self, x: Array, context: StudyContext) -> Array:
        if not self.heavy_tailed:
            return x
        if x.ndim != 2:
            chosen = context.config.choices["dataset"]
            raise UserError(f"study.heavy_tailed={self.heavy_tailed}: dataset={chosen} is no table; use 0")
        rng = np.random.default_rng(stream(context.seed, "heavy-tailed inputs"))
        return np.concatenate([x, rng.standard_t(2, (len(x), self.heavy_tailed))], axis=1, dtype=np.float32)

    def _errors(self, context: StudyContext, whole: Data, number: int) -> tuple[float, float]:
        """Return the error on held-out and on new examples of one split."""
        order = torch.randperm(len(whole.train), generator=generator(context.seed, "split", number)).numpy()
        seen = self.train + self.held_out
        train, held_out, new = (
            whole.train.take(index)
            for index in (order[: self.train], order[self.train : seen], order[seen:][: self.new])
        )
        parts = trained(context, replace(whole, train=train, test=held_out))
        unseen = Examples(new.x, new.y, parts.batches.examples.transform, parts.device)
        return error(parts, parts.evaluated["test"]), error(parts, unseen)
