"""How often two different samples in two batches get the same representation: by construction, and in a trained net."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.norms.base import weight_layers
from normexp.norms.checks.subject import without_eps
from normexp.norms.networks.trial import watched
from normexp.seeding import generator
from normexp.studies.base import Number, Outcome, Row, Study, StudyContext
from normexp.studies.trained import trained
from normexp.training.batches import Examples
from normexp.training.build import build_norm
from normexp.training.components import Components

NEAR, SAME = 1e-3, 1e-9  # distances of standard normal samples in float64: different beyond, equal below
Found = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class BatchCollision(Study):
    """Collisions per batch size, which is the step of the curves.

    Constructed, with the configuration's norm in float64 on standard normal samples, all but without eps: a batch
    that is another one, rescaled and shifted per feature; and the one sample in an unrelated batch that is to
    become what a given sample is in its own batch.

    Measured on the test split, after training: the representation is what enters the network's last layer. Two
    random divisions of the split into batches give every example i two representations, r_i and s_i. The pair
    i, j of different examples nearly collides if |r_i - s_j| < |r_i - s_i|: example j in another batch is nearer
    to i than i itself is there.

    Args:
        sizes: batch sizes, increasing.
        rounds: pairs of random divisions per batch size.
        features: of the constructed samples.
        training: normalize as in training, by the batch; false normalizes as in evaluation.

    Raises: UserError for a data set without classes, and for a batch that is larger than the test split.
    """

    sizes: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256)
    rounds: int = 4
    features: int = 4
    training: bool = True

    def measure(self, context: StudyContext) -> Outcome:
        if context.data.task != "classification":
            raise UserError(f"study=batch_collision: dataset={context.config.choices['dataset']} has no classes")
        if max(self.sizes) > (test := len(context.data.test)):
            raise UserError(f"study.sizes={list(self.sizes)}: the test split has {test} examples; give no larger batch")
        norm = without_eps(build_norm(context.config)).normalization(self.features).double().train(self.training)
        components = trained(context)
        components.model.train(self.training)
        rows: list[Found] = [
            {
                "step": size,
                **constructed(norm, self.features, context.seed, size),
                **self._measured(components, context.seed, size),
            }
            for size in self.sizes
        ]
        audited = context.config.choices["norm"] == "batch" and self.training
        table = example(norm, self.features, context.seed)
        return Outcome(rows, {"construction": table}, list(numbers(rows)) if audited else [])

    def _measured(self, components: Components, seed: int, size: int) -> Found:
        test, source = components.evaluated["test"], generator(seed, "divisions", size)
        found = []
        for _ in range(self.rounds):
            first, second = (represented(components, test, size, source) for _ in range(2))
            found.append(collisions(first, second, test.y))
        return {name: sum(each[name] for each in found) / len(found) for name in found[0]}


def partner(z: Tensor, others: Tensor) -> Tensor:
    """Return the x, (C,), that batch normalization without eps turns into z, (C,), among the others, (N - 1, C).

    With m and v the mean and biased variance of the others, x = m + z sqrt(n v / (n - 1 - z^2)): there always is
    one, since in a batch of n no normalized value is beyond sqrt(n - 1). In a batch of two every x above the
    other one becomes +1; the x returned is at distance 1.
    """
    n = len(others) + 1
    if n == 2:
        return others[0] + z.sign()
    room = n - 1 - z.square()
    return others.mean(0) + z * (n * others.var(0, correction=0) / room).sqrt()


@torch.no_grad()
def constructed(norm: nn.Module, features: int, seed: int, size: int) -> Found:
    """Return how far apart samples are that are to collide, before and after the norm; the largest over samples."""
    source = generator(seed, "constructed", size)
    first, second = (torch.randn(size, features, dtype=torch.double, generator=source) for _ in range(2))
    moved = copy_of(first)
    second[0] = partner(standardized(first)[0], second[1:])
    return {
        "affine_before": distance(first, moved),
        "affine_after": distance(norm(first), norm(moved)),
        "partner_before": distance(first[:1], second[:1]),
        "partner_after": distance(norm(first)[:1], norm(second)[:1]),
    }


def copy_of(batch: Tensor) -> Tensor:
    """Return the batch (N, C), rescaled and shifted by other numbers in every feature: the first is 0.5 x - 2.

    The scales are positive: normalized over the batch both are equal.
    """
    features = batch.shape[1]
    scale, shift = (torch.linspace(low, high, features).to(batch) for low, high in ((0.5, 3), (-2, 2)))
    return batch * scale + shift


@torch.no_grad()
def example(norm: nn.Module, features: int, seed: int) -> list[Row]:
    """Return the first feature of a batch of eight, in order, and of its rescaled copy, before and after the norm."""
    first = torch.randn(8, features, dtype=torch.double, generator=generator(seed, "example"))
    first = first[first[:, 0].argsort()]
    second = copy_of(first)
    batches = {"first": first, "second": second, "first_normalized": norm(first), "second_normalized": norm(second)}
    return [{"sample": i + 1, **{name: float(batch[i, 0]) for name, batch in batches.items()}} for i in range(8)]


@torch.no_grad()
def represented(components: Components, examples: Examples, size: int, source: torch.Generator) -> Tensor:
    """Return what enters the last layer, (N, D), with the examples in random batches; NaN for the incomplete last."""
    order = torch.randperm(len(examples), generator=source).to(examples.y.device)
    found: list[Tensor] = []
    with watched({"last": weight_layers(components.model)[-1]}, lambda _, x: found.append(x.flatten(1))):
        for part in order.split(size):
            if len(part) == size:
                components.model(examples.take(part)[0])
    rows = torch.cat(found).double()
    full = rows.new_full((len(examples), rows.shape[1]), torch.nan)
    full[order[: len(rows)]] = rows
    return full


def collisions(first: Tensor, second: Tensor, labels: Tensor) -> Found:
    """Compare two representations of every example, (N, D) each; NaN where an example was left out."""
    both = ~(first.isnan().any(1) | second.isnan().any(1))
    first, second, labels = first[both], second[both], labels[both]
    own = (first - second).norm(dim=1)
    apart = torch.cdist(first, second)
    nearer = (apart < own[:, None]).fill_diagonal_(False)  # by rounding, nobody is nearer than oneself
    different = labels[:, None] != labels
    pairs = ~torch.eye(len(own), dtype=torch.bool, device=own.device)
    return {
        "near_collisions": share(nearer, pairs),
        "near_collisions_between_classes": share(nearer, different),
        "examples_hit": float(nearer.any(1).double().mean()),
        "wobble": float(own.mean() / apart[pairs].mean()),
    }


def share(found: Tensor, of: Tensor) -> float:
    return float((found & of).sum() / of.sum())


def distance(first: Tensor, second: Tensor) -> float:
    """Return the largest distance between samples of the same place."""
    return float((first - second).detach().norm(dim=1).max())


def standardized(batch: Tensor) -> Tensor:
    return (batch - batch.mean(0)) / batch.std(0, correction=0)


def numbers(rows: Sequence[Found]) -> Iterator[Number]:
    """Yield the slides' sentences on batch normalization, as measured."""
    last, place = rows[-1], "Effects of batch normalization"
    yield Number(
        "S002",
        place,
        "two different samples in two different batches can get the same representation",
        "What if 2 different samples in two different batches get the same representation after BN?",
        f"samples {last['partner_before']:.2g} apart are {last['partner_after']:.1g} apart after it",
        agrees=last["partner_before"] > NEAR and last["partner_after"] < SAME,
        remark="for every sample, every other batch has a place for a different sample that becomes the same",
    )
    yield Number(
        "S002",
        place,
        "a sample's representation depends on its mini-batch",
        "Each sample gets a different representation depending on mini-batch",
        f"in batches of {last['step']:.0f} by {last['wobble']:.2g} of the distance between two samples",
        agrees=all(row["wobble"] > 0 for row in rows),
    )
