"""How far weights turn per update, and how long they are, when weight decay and gradient balance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from normexp.probes.equilibrium import angle, equilibrium_angle
from normexp.probes.scale_free import check_scale_free
from normexp.seeding import generator
from normexp.studies.arithmetic.logarithms import log
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.studies.normalized_mlp import CLASSES, FEATURES, normalized_mlp
from normexp.training.build import build_norm, build_optimizer
from normexp.training.fit import descend

WINDOW = 100  # updates that a point of the table `windows` averages over


@dataclass
class Layer:
    """What is added up of one weight over the second half of the updates, and over a window."""

    square_angle: float = 0.0
    norm4: float = 0.0
    gradient: float = 0.0
    first: float = 0.0
    last: float = 0.0
    window: list[float] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Equilibrium(Study):
    """Train an MLP with the configuration's norm behind every weight on labels that are drawn anew for every update.

    Step k is layer k. `angle` is the root mean square over the second half of the updates of the angle by which the
    weight turns, in radians; `formula` is `normexp.probes.equilibrium.equilibrium_angle`, which derives it. Under SGD
    `norm` is the weight's length, fourth powers averaged, and `norm_formula` the fourth root of
    lr ||g||^2 / (2 wd (1 - m)), g being the gradient at length 1; under AdamW both are empty. The remainders are the
    next order, lr wd / (1 - m); half the `drift`, by how much of what decay takes off per update the length still
    changes, since angle^2 is (1 + drift) times that at rest; and 1 / sqrt(updates) for the finite average, which is
    chosen and not derived: how far averages scatter, seeds show. The table `windows` has the angle over time.

    Random labels make gradients independent from step to step, as the derivation assumes; data to learn from would not.

    Args:
        widths: hidden units; with the output layer that is one weight more.
        last: `normalized`, as the law needs it, or `plain`.
        updates, batch: of training.
        control: measure also where the law does not apply.

    Raises: UserError, unless `control`, for a network with a parameter whose scale changes the outputs; without weight
        decay; for an optimizer whose equilibrium is not known.

    Source: van Laarhoven 2017, arXiv:1706.05350; Wan et al. 2020, arXiv:2006.08419; Kosson, Messmer & Jaggi 2024,
    arXiv:2305.17212 [formulas as in the authors' code, epfml/REQ].
    """

    widths: Sequence[int] = (64, 64)
    last: str = "normalized"
    updates: int = 4000
    batch: int = 64
    control: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        model = normalized_mlp(build_norm(context.config), context.seed, self.widths, self.last)
        optimizer = build_optimizer(context.config, model, torch.device("cpu"))
        group, source = optimizer.param_groups[0], generator(context.seed, "examples")
        if not self.control:
            check_scale_free(model, self._examples(source)[0], "study=equilibrium")
        formula = equilibrium_angle(group)
        weights = [each for each in model.parameters() if each.dim() > 1]
        layers, windows = [Layer() for _ in weights], []
        for step in range(self.updates):
            before = [w.detach().clone() for w in weights]
            x, y = self._examples(source)
            descend(optimizer, F.cross_entropy(model(x), y))
            for layer, old, new in zip(layers, before, weights, strict=True):
                _add(layer, old, new, step >= self.updates // 2)
            if (step + 1) % WINDOW == 0:
                windows += [{"updates": step + 1, "layer": k + 1, **_window(layer, formula)}
                            for k, layer in enumerate(layers)]  # fmt: skip
        half = self.updates - self.updates // 2
        rows = [self._row(k, layer, half, group, formula) for k, layer in enumerate(layers)]
        return Outcome(rows, {"windows": windows} if windows else {})

    def _row(self, k: int, layer: Layer, half: int, group: dict[str, float], formula: float) -> Row:
        sgd = "momentum" in group
        inertia = 1 - (group["momentum"] if sgd else group["betas"][0])  # type: ignore[index]
        shrinking = group["lr"] * group["weight_decay"] / (inertia if sgd else 1.0)  # of the length, per update
        drift = log(layer.last / layer.first) / half if layer.first else math.nan
        order = group["lr"] * group["weight_decay"] / inertia + half**-0.5 + abs(drift) / (2 * shrinking)
        norm = (layer.norm4 / half) ** 0.25 if sgd else math.nan
        square = group["lr"] * layer.gradient / half / (2 * group["weight_decay"] * inertia)
        norm_formula = square**0.25 if sgd else math.nan
        return {
            "step": k + 1,
            "angle": math.sqrt(layer.square_angle / half),
            "formula": formula,
            "remainder": order * formula,
            "drift": drift / shrinking,
            "norm": norm,
            "norm_formula": norm_formula,
            "norm_remainder": order * norm_formula,
        }

    def _examples(self, source: torch.Generator) -> tuple[Tensor, Tensor]:
        x = torch.randn(self.batch, FEATURES, generator=source)
        return x, torch.randint(CLASSES, (self.batch,), generator=source)


def _add(layer: Layer, old: Tensor, new: Tensor, counts: bool) -> None:
    square = angle(old, new) ** 2
    layer.window.append(square)
    if counts:
        assert new.grad is not None
        length = float(old.norm())
        layer.first = layer.first or length
        layer.last = float(new.detach().norm())
        layer.square_angle += square
        layer.norm4 += length**4
        layer.gradient += float(new.grad.norm()) ** 2 * length**2  # at length 1 the gradient is length times as large


def _window(layer: Layer, formula: float) -> Row:
    mean = math.sqrt(sum(layer.window) / len(layer.window))
    layer.window.clear()
    return {"angle": mean, "formula": formula}
