"""How weights move and grow when the loss does not depend on their length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from torch import Tensor, nn

from normexp.probes.layers import Weight, free_weights
from normexp.probes.update_angle import cosine
from normexp.studies.arithmetic.doubling import is_doubling
from normexp.studies.arithmetic.lengths import length_together
from normexp.studies.base import Number, Outcome, Row, Study, StudyContext
from normexp.training.components import Components
from normexp.training.fit import after_update, fit

SAME = 1e-9  # in float64
SLIDES = 'slides "Effect of backpropagating through normalization"'
Weights = Mapping[str, Tensor]  # layer -> (units, inputs), float64


@dataclass
class Extremes:
    """The largest deviations so far; a number that is not finite counts as infinite."""

    values: dict[str, float] = field(default_factory=dict)

    def update(self, found: Mapping[str, float]) -> None:
        for name, value in found.items():
            self.values[name] = max(self.values.get(name, 0.0), value if math.isfinite(value) else math.inf)


@dataclass(frozen=True, kw_only=True)
class WeightDynamics(Study):
    """Train step by step in float64: the angle between weights and their update, and what it does to their length.

    The weights w are those that the optimizer moves (v under weight normalization) of every Linear and Conv layer
    but the last, the output layer, which networks leave without normalization. Numbers are those of a layer's
    whole weight, averaged over the layers, and come at steps 1, 2, 4, 8, ... and the last; `cosine`, `unit_cosine`
    and `growth_error` are the largest of all steps so far. Training ends early where w stops being finite.

    Args:
        only_hidden: train these weights alone; gains, biases and the output layer stay as they are. At high learning
            rates it is they that diverge.

    A scheme or a placement that changes w after the optimizer's step (normalization propagation, nGPT) does so between
    `cosine`, which is about the step, and `growth_error`, which is about the weight that the next step starts from.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 2: dw is orthogonal to w, hence ||w + dw|| =
    sqrt(1 + c^2) ||w|| with c = ||dw|| / ||w|| under plain gradient descent.
    """

    only_hidden: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        components = context.components
        in_float64(components.model)
        if self.only_hidden:
            components.model.requires_grad_(False)
            for weight in looked_at(components).values():
                weight.value.requires_grad_()
        rows = list(rows_of_training(components))
        plain = (
            context.config.choices["optim"] == "sgd" and not context.config["optim"]["momentum"] and self.only_hidden
        )
        return Outcome(rows, {}, list(sentences(context, rows[-1])) if plain else [])


def in_float64(model: nn.Module) -> None:
    """Have the model compute in float64, whatever the inputs are."""
    model.double()
    model.register_forward_pre_hook(lambda _, inputs: tuple(x.double() for x in inputs))


def rows_of_training(components: Components) -> Iterator[Row]:
    project = after_update(components) or (lambda: None)
    first, extremes = copied(components), Extremes()
    after = stepped = first

    def look_then_project() -> None:
        nonlocal stepped
        stepped = copied(components)
        project()

    exact = replace(components, autocast=nullcontext, compiled=None, after_update=look_then_project)
    for done, loss, *_ in fit(exact):
        before, after = after, copied(components)
        extremes.update(deviations(before, stepped, after))
        last = done == components.steps or not all(bool(weight.isfinite().all()) for weight in after.values())
        if last or is_doubling(done):
            sizes = lengths(first, before, stepped, after, components.lr(done - 1))
            gradient = {"loss": float(loss), "gradient_norm": gradient_norm(components)}
            yield {"step": done, **gradient, **sizes, **extremes.values}
        if last:
            return


def looked_at(components: Components) -> dict[str, Weight]:
    """Return the weights of all layers but the last; of a network with one layer, that layer's."""
    found = free_weights(components.model)
    return dict(list(found.items())[: max(1, len(found) - 1)])


def copied(components: Components) -> Weights:
    return {name: weight.units.clone() for name, weight in looked_at(components).items()}


def gradient_norm(components: Components) -> float:
    """Return the norm of the last step's gradient with respect to these weights."""
    gradients = (weight.value.grad for weight in looked_at(components).values())
    return length_together(each for each in gradients if each is not None)


def deviations(before: Weights, stepped: Weights, after: Weights) -> dict[str, float]:
    """Return how far one update is from being orthogonal, and from growing by sqrt(1 + c^2); the worst layer."""
    found = [_deviations(before[name], stepped[name] - before[name], after[name]) for name in before]
    return {key: max(each[key] for each in found) for key in found[0]}


def _deviations(w: Tensor, dw: Tensor, new: Tensor) -> dict[str, float]:
    c = dw.norm() / w.norm()
    return {
        "cosine": float(cosine(w.flatten(), dw.flatten()).abs()),
        "unit_cosine": float(cosine(w, dw).abs().max()),
        "growth_error": float((new.norm() / (w.norm() * (1 + c.square()).sqrt()) - 1).abs()),
    }


def lengths(first: Weights, before: Weights, stepped: Weights, after: Weights, rate: float) -> dict[str, float]:
    """Return growth since the start, length of the update, and rate / ||w||^2 in units of the first ||w||."""
    growth = [float(after[name].norm() / first[name].norm()) for name in first]
    relative = [float((stepped[name] - before[name]).norm() / before[name].norm()) for name in first]
    effective = [rate / each**2 if each else math.inf for each in growth]
    return {
        "norm_growth": sum(growth) / len(growth),
        "relative_update": sum(relative) / len(relative),
        "effective_rate": sum(effective) / len(effective),
    }


def sentences(context: StudyContext, last: Row) -> Iterator[Number]:
    """Yield the slides' sentences on plain gradient descent, as measured over all steps."""
    orthogonal, grows = (float(str(last[name])) < SAME for name in ("cosine", "growth_error"))
    angle = f"{'orthogonal' if orthogonal else 'not orthogonal'} at every step, to 1e-9"
    growth = f"{'so' if grows else 'not so'} at every step, to 1e-9"
    if context.config.choices["norm"] == "weight":
        yield Number("S002", SLIDES, "w and its update", "orthogonal", angle, orthogonal)
        yield Number("S002", SLIDES, "norm of the next w", "sqrt(1 + c^2) ||w||", growth, grows)
    if context.config.choices["norm"] == "normprop":
        projects = context.config["norm"]["project"]
        reading = (
            "weights set to length 1 after every step" if projects else "weights left as the optimizer leaves them"
        )
        remark = (
            "The slides do not print this step of the published algorithm. It takes back what the norm has grown, so "
            "that the step size does not adapt; the orthogonality holds."
        )
        yield Number(
            document="S002",
            place=SLIDES,
            quantity="the analysis applies to NormProp",
            printed="applies as well",
            computed=f"{angle}; norm {growth}",
            agrees=orthogonal and grows,
            reading=reading,
            remark=remark if projects else "",
        )
