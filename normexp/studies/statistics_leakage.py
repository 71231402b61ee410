"""Input statistics of the training split, or of all data: what becomes of the error on held-out data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from normexp.config.instantiate import instantiate
from normexp.data.base import Array, Data, Split, empty_like
from normexp.data.inputs import InputNorm
from normexp.errors import UserError
from normexp.seeding import generator, stream
from normexp.studies.base import Outcome, Setup, Study
from normexp.studies.trained import score, trained
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

    Source: S001, "Common pitfall"; Ferreira 2024, lecture L12, section 2, "Important".
    """

    train: int = 30
    held_out: int = 30
    new: int = 500
    splits: int = 20
    heavy_tailed: int = 0

    def measure(self, setup: Setup) -> Outcome:
        if "fit_on" not in setup.config["inputs"]:
            chosen = setup.config.choices["inputs"]
            raise UserError(f"study=statistics_leakage: inputs={chosen} takes no statistics; use inputs=standardize")
        whole = self._whole(setup)
        errors: Array = np.array([self._errors(setup, whole, i) for i in range(self.splits)])
        held_out, new = np.median(errors, axis=0)  # one split with an outlier would decide about a mean
        metrics = {
            "held_out_error": float(held_out),
            "new_error": float(new),
            "optimism": float(np.log(errors[:, 1] / errors[:, 0]).mean()),
        }
        return Outcome([{"step": 0, **metrics}])

    def _whole(self, setup: Setup) -> Data:
        """Return all examples as the training split, with the inputs that are added."""
        data = setup.data
        splits = [split for split in (data.train, data.validation, data.test) if len(split)]
        x, y = (np.concatenate([getattr(split, name) for split in splits]) for name in ("x", "y"))
        if len(x) <= self.train + self.held_out:
            raise UserError(f"study.train={self.train}, study.held_out={self.held_out}: there are {len(x)} examples")
        whole = Split(self._with_more_inputs(x, setup), y)
        return Data(whole, empty_like(whole), empty_like(whole), data.task, data.classes, data.note, data.target_scale)

    def _with_more_inputs(self, x: Array, setup: Setup) -> Array:
        if not self.heavy_tailed:
            return x
        if x.ndim != 2:
            chosen = setup.config.choices["dataset"]
            raise UserError(f"study.heavy_tailed={self.heavy_tailed}: dataset={chosen} is no table; use 0")
        rng = np.random.default_rng(stream(setup.seed, "heavy-tailed inputs"))
        return np.concatenate([x, rng.standard_t(2, (len(x), self.heavy_tailed))], axis=1, dtype=np.float32)

    def _errors(self, setup: Setup, whole: Data, number: int) -> tuple[float, float]:
        """Return the error on held-out and on new examples of one split."""
        order = torch.randperm(len(whole.train), generator=generator(setup.seed, "split", number)).numpy()
        seen = self.train + self.held_out
        train, held_out, new = (
            whole.train.take(index)
            for index in (order[: self.train], order[self.train : seen], order[seen:][: self.new])
        )
        data = Data(train, empty_like(train), held_out, whole.task, whole.classes, target_scale=whole.target_scale)
        parts = trained(setup.config, data)
        inputs: InputNorm = instantiate(setup.config["inputs"])
        everything = np.concatenate([train.x, held_out.x])
        transform = inputs.fit({"train": train.x, "all": everything}[setup.config["inputs"]["fit_on"]])
        held_out_error, new_error = (
            _error(whole, score(parts, Examples(split.x, split.y, transform, parts.device)))
            for split in (held_out, new)
        )
        return held_out_error, new_error


def _error(data: Data, measured: float) -> float:
    """Return the root mean squared error, or the share of wrong answers."""
    return measured if data.task == "regression" else 1 - measured
