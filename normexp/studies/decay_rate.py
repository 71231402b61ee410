"""Weight decay at a constant rate is no decay at a rate that grows exponentially, if all weights are normalized."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.probes.scale_free import check_scale_free
from normexp.seeding import generator
from normexp.studies.arithmetic.doubling import is_doubling
from normexp.studies.arithmetic.lengths import length_together
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.studies.normalized_mlp import CLASSES, FEATURES, normalized_mlp
from normexp.training.build import build_norm
from normexp.training.fit import descend

ULP = 2.0**-52


@dataclass(frozen=True, kw_only=True)
class DecayRate(Study):
    """Train twice from the same weights on the same batches: with weight decay, and without at the equivalent rate.

    An MLP with the configuration's norm behind every weight learns random labels of Gaussian inputs by gradient
    descent with momentum g, in float64. The first run has rate lr and weight decay wd. The second has no decay and
    rate lr a^(-2t-1) at update t, a being the larger root of a^2 - (1 + g - lr wd) a + g = 0, and begins as if its
    weights had been a w(0) before, w(0) being the first run's. Step k is behind k updates: the next batch's loss in
    both runs, the length of all weights of the first over that of the second, which has to be a^k, and the same loss
    after the first weights were disturbed by one unit in the last place, which is what rounding grows to.

    Derived: the first run is w(t+1) = (1 + g - lr wd) w(t) - g w(t-1) - lr G(w(t)). With w(t) = a^t u(t) and
    G(a^t u) = a^-t G(u), dividing by a^(t+1) and using 1 + g - lr wd = a + g/a gives
    u(t+1) = u(t) + (g / a^2) (u(t) - u(t-1)) - lr a^(-2t-1) G(u(t)); a^-2 is the ratio of two rates: momentum g.

    Args:
        lr, weight_decay, momentum: of the first run.
        widths: hidden units.
        last: `normalized`, as the law needs it, or `plain`, the output layer without norm.
        updates: of both runs.
        examples, batch: in all, and of an update.
        control: measure also where the law does not apply.

    Raises: UserError for a decay that is too strong for a positive a, lr wd from (1 - sqrt(g))^2 up; unless `control`,
        for a network with a weight whose scale changes the outputs.

    Source: Li & Arora 2020, arXiv:1910.07454; the formula is derived above.
    """

    lr: float = 0.1
    weight_decay: float = 0.005
    momentum: float = 0.0
    widths: Sequence[int] = (64, 64)
    last: str = "normalized"
    updates: int = 512
    examples: int = 512
    batch: int = 128
    control: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        self._check_root()
        norm = build_norm(context.config)
        source = generator(context.seed, "examples")
        x = torch.randn(self.examples, FEATURES, dtype=torch.double, generator=source)
        y = torch.randint(CLASSES, (self.examples,), generator=source)
        if not self.control:
            model = normalized_mlp(norm, context.seed, self.widths, self.last).double()
            check_scale_free(model, x, "study=decay_rate")
        decayed, plain, disturbed = (self._run(norm, context.seed, x, y, way) for way in ("decay", "rate", "disturbed"))
        rows, rounding = [], 0.0
        for step, (one, other, third) in enumerate(zip(decayed, plain, disturbed, strict=True)):
            rounding = max(rounding, abs(third[0] / one[0] - 1), ULP)
            if is_doubling(step):
                rows.append(self._row(step, one, other, rounding))
        return Outcome(rows)

    def _check_root(self) -> None:
        most = (1 - math.sqrt(self.momentum)) ** 2
        if self.lr * self.weight_decay >= most:
            raise UserError(
                f"study.weight_decay={self.weight_decay:g} at study.lr={self.lr:g}: the law has no rate that does the "
                f"same; their product must be below (1 - sqrt(study.momentum))^2, {most:.3g}"
            )

    @property
    def root(self) -> float:
        """The larger root a."""
        b = 1 + self.momentum - self.lr * self.weight_decay
        return (b + math.sqrt(b * b - 4 * self.momentum)) / 2

    def _row(self, step: int, one: tuple[float, float], other: tuple[float, float], rounding: float) -> Row:
        return {
            "step": step,
            "loss": one[0],
            "loss_at_rate": other[0],
            "difference": abs(one[0] / other[0] - 1),
            "rounding": 1000 * rounding * other[0],
            "length_ratio": one[1] / other[1],
            "power": self.root**step,
            "power_rounding": 1000 * rounding * self.root**step,
        }

    def _run(self, norm: Norm, seed: int, x: Tensor, y: Tensor, way: str) -> Iterator[tuple[float, float]]:
        """Yield the next batch's loss and the length of all weights, before every update and after the last."""
        model = normalized_mlp(norm, seed, self.widths, self.last).double()
        order = generator(seed, "order")
        weights = [each for each in model.parameters() if each.requires_grad]
        decay = 0.0 if way == "rate" else self.weight_decay
        optimizer = torch.optim.SGD(weights, self.lr, momentum=self.momentum, weight_decay=decay)
        if way == "disturbed":
            weights[0].data *= 1 + ULP
        if way == "rate" and self.momentum:
            for w in weights:
                velocity = (self.root - 1) / (self.lr * self.root) * w.detach()
                optimizer.state[w]["momentum_buffer"] = velocity
        for step in range(self.updates + 1):
            chosen = torch.randint(self.examples, (self.batch,), generator=order)
            loss = F.cross_entropy(model(x[chosen]), y[chosen])
            yield float(loss.detach()), length_together(w.detach() for w in weights)
            if way == "rate":
                optimizer.param_groups[0]["lr"] = self.lr * self.root ** (-2 * step - 1)
            descend(optimizer, loss)
