"""How weights move and grow when the loss does not depend on their length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from normexp.probes.layers import Weight, free_weights
from normexp.studies.base import Number, Outcome, Row, Setup, Study
from normexp.training.build import Parts, initialize_from_data
from normexp.training.loop import make_step, set_groups

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

    A scheme that changes w after the optimizer's step (normalization propagation's projection) does so between
    `cosine`, which is about the step, and `growth_error`, which is about the weight that the next step starts from.

    Source: Salimans & Kingma 2016, arXiv:1602.07868, section 2.2: dw is orthogonal to w, hence ||w + dw|| =
    sqrt(1 + c^2) ||w|| with c = ||dw|| / ||w|| under plain gradient descent.
    """

    only_hidden: bool = False

    def measure(self, setup: Setup) -> Outcome:
        parts = setup.parts
        initialize_from_data(parts, setup.seed)
        parts.model.double()
        if self.only_hidden:
            parts.model.requires_grad_(False)
            for weight in looked_at(parts).values():
                weight.value.requires_grad_()
        rows = list(trained(parts))
        plain = setup.config.choices["optim"] == "sgd" and not setup.config["optim"]["momentum"] and self.only_hidden
        return Outcome(rows, {}, list(sentences(setup, rows[-1])) if plain else [])


def trained(parts: Parts) -> Iterator[Row]:
    """Train, and yield the rows."""
    penalty = partial(parts.norm.penalty, parts.model)
    step = make_step(parts.model, parts.task, parts.optimizer, nullcontext, penalty, clip_norm=parts.clip_norm)
    project = parts.norm.step_hook(parts.model) or (lambda: None)
    first, extremes = copied(parts), Extremes()
    after = first
    for done, (x, y) in zip(range(1, parts.steps + 1), parts.batches.from_step(0), strict=False):
        before, rate = after, parts.rate(done - 1)
        set_groups(parts.optimizer, parts.settings(done - 1))
        loss, _ = step(x.double(), y)
        stepped = copied(parts)
        project()
        after = copied(parts)
        extremes.update(deviations(before, stepped, after))
        last = done == parts.steps or not all(bool(weight.isfinite().all()) for weight in after.values())
        if last or done & (done - 1) == 0:
            sizes = lengths(first, before, stepped, after, rate)
            gradient = {"loss": float(loss.detach()), "gradient_norm": gradient_norm(parts)}
            yield {"step": done, **gradient, **sizes, **extremes.values}
        if last:
            return


def looked_at(parts: Parts) -> dict[str, Weight]:
    """Return the weights of all layers but the last; of a network with one layer, that layer's."""
    found = free_weights(parts.model)
    return dict(list(found.items())[: max(1, len(found) - 1)])


def copied(parts: Parts) -> Weights:
    return {name: weight.units.clone() for name, weight in looked_at(parts).items()}


def gradient_norm(parts: Parts) -> float:
    """Return the norm of the last step's gradient with respect to these weights."""
    gradients = (weight.value.grad for weight in looked_at(parts).values())
    return math.hypot(*(float(each.norm()) for each in gradients if each is not None))


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


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Return the cosine over the last dimension; 0 where one of the two is 0, as at a unit without gradient."""
    sizes = torch.linalg.vector_norm(a, dim=-1) * torch.linalg.vector_norm(b, dim=-1)
    return torch.where(sizes == 0, 0.0, (a * b).sum(-1) / sizes)


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


def sentences(setup: Setup, last: Row) -> Iterator[Number]:
    """Yield the slides' sentences on plain gradient descent, as measured over all steps."""
    orthogonal, grows = (float(str(last[name])) < SAME for name in ("cosine", "growth_error"))
    angle = f"{'orthogonal' if orthogonal else 'not orthogonal'} at every step, to 1e-9"
    growth = f"{'so' if grows else 'not so'} at every step, to 1e-9"
    if setup.config.choices["norm"] == "weight":
        yield Number("S002", SLIDES, "w and its update", "orthogonal", angle, orthogonal)
        yield Number("S002", SLIDES, "norm of the next w", "sqrt(1 + c^2) ||w||", growth, grows)
    if setup.config.choices["norm"] == "normprop":
        projects = setup.config["norm"]["project"]
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
