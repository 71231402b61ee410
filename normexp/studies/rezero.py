"""A deep fully connected net in four versions: its Jacobian at the start, and what Adagrad makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normexp.data.base import Data
from normexp.errors import UserError
from normexp.probes.jacobian import pull_back
from normexp.seeding import generator
from normexp.studies.arithmetic.logarithms import log10
from normexp.studies.base import Outcome, Row, Study, StudyContext
from normexp.training.fit import descend

CLASSES = 10
GAINS = {"plain": 2.0, "residual": 0.25, "layer_norm": 2.0, "rezero": 2.0}  # weights have this variance / width
LOST = 1 - 1 / math.pi  # variance of a rectified normal over its mean square
SCALE = 127.5  # pixels to [-1, 1]


@dataclass(frozen=True, kw_only=True)
class ReZero(Study):
    """Train `depth` layers of x -> f(W x + b), f = ReLU, between a first and a last linear layer, and see what they
    do to the Jacobian from inputs to outputs at standard normal inputs.

    Versions: `plain` f(h), `residual` x + f(h), `layer_norm` N(f(h)) with one N for all layers, `rezero`
    x + a f(h) with a learned a per layer that begins at `start`.

    `mean_square` is the mean squared singular value of the Jacobian, `log10_growth` the logarithm of how many times it
    is that of the first and last layer alone. At step 0, before training, the formula for it is 0 (rezero, plain,
    residual) or depth log10(pi / (pi - 1)) (layer_norm). `loss` is the mean training loss of an epoch.

    Derived: a = 0 makes all layers the identity, so nothing is left to average. W of variance 2 / n (n the width) and
    ReLU, which lets half of the gradient through, multiply a squared gradient by X = 2 (sum of d g^2 / sum of g^2)
    chi2(n) / n: of mean 1, variance 3 / n + 2 / n, and E ln X = -5/2 / n. Layer norm divides by the deviation of
    rectified normals, whose mean square is 1 and whose variance 1 - 1/pi: X is pi / (pi - 1) times as large, its mean
    (1 + 2.3 / n) times: -1.5 / n for what the norm takes off (its output's mean and size), -1 / n for the direction of
    the inputs, which gets nothing, +1 / n and 4.4 / n for the mean of one over the variance of n units, -0.5 / n as
    that variance is larger where more units let a gradient through; E ln X has half of the 4.4, nothing of the last,
    and -5/2 / n as above: -1.8 / n. The logarithm of an average over examples lies between the two (Jensen), after
    `depth` layers depth times as far. `remainder` is wider, 5 depth / n, in both directions. No formula
    is known to us for the residual version, whose branches correlate with the stream: it has that of rezero.

    Args:
        version: of the layers.
        depth, width: number of layers and of their units.
        start: what a is at first.
        epochs: of Adagrad with rate `lr` on the training split, in batches of `batch`.
        features: inputs, where nothing is trained.
        examples: standard normal inputs for the Jacobian.

    Source: Bachlechner et al. 2020, arXiv:2003.04887, and the authors' notebook ReZero-Deep_Fast_NeuralNetwork
    (tbachlechner/ReZero-examples), whose set-up the defaults are. The formulas are ours.
    """

    version: str = "rezero"
    depth: int = 64
    width: int = 256
    start: float = 0.0
    epochs: int = 0
    lr: float = 0.01
    batch: int = 100
    features: int = 3072
    examples: int = 100

    def measure(self, context: StudyContext) -> Outcome:
        if not self.epochs:
            return Outcome([self._row(DeepNet(self, self.features, context.seed), context.seed, 0, math.nan)])
        data = context.data
        if data.task != "classification" or len(data.classes) != CLASSES:
            raise UserError(
                f"study=rezero: needs {CLASSES} classes; dataset={context.config.choices['dataset']} does not"
            )
        return Outcome(list(self._train(data, context.seed)))

    def _train(self, data: Data, seed: int) -> Iterator[Row]:
        x = torch.from_numpy(data.train.x.reshape(len(data.train), -1).copy())
        y = torch.tensor(data.train.y)  # a copy: data from the cache cannot be written
        net = DeepNet(self, x.shape[1], seed)
        optimizer = torch.optim.Adagrad(net.parameters(), lr=self.lr)
        yield self._row(net, seed, 0, math.nan)
        for epoch in range(self.epochs):
            order = torch.randperm(len(x), generator=generator(seed, "order", epoch))
            losses = []
            for chosen in order.split(self.batch):
                loss = F.cross_entropy(net(x[chosen].float() / SCALE - 1), y[chosen])
                descend(optimizer, loss)
                losses.append(loss.detach())
            yield self._row(net, seed, (epoch + 1) * len(losses), float(torch.stack(losses).mean()))

    def _row(self, net: DeepNet, seed: int, step: int, loss: float) -> Row:
        x = torch.randn(self.examples, net.first.in_features, generator=generator(seed, "gaussian inputs"))
        ends = nn.Sequential(net.first, nn.ReLU(), net.last)
        whole, alone = (mean_square(each, x) for each in (net, ends))
        formula = -self.depth * math.log10(LOST) if self.version == "layer_norm" else 0.0
        return {
            "step": step,
            "loss": loss,
            "mean_square": whole,
            "log10_growth": log10(whole / alone) if alone > 0 else math.nan,  # of dead ends nothing is a multiple
            "log10_formula": math.nan if step else formula,
            "remainder": 5 * self.depth / self.width / math.log(10),
        }


class DeepNet(nn.Module):
    """A linear layer and ReLU, the layers of one version, a linear layer. Shape: (N, D) -> (N, CLASSES)."""

    def __init__(self, study: ReZero, features: int, seed: int) -> None:
        super().__init__()
        self.version = study.version
        sizes = [(features, study.width), *[(study.width, study.width)] * study.depth, (study.width, CLASSES)]
        first, *layers, last = [linear(d_in, d_out, seed, k) for k, (d_in, d_out) in enumerate(sizes)]
        self.first, self.layers, self.last = first, nn.ModuleList(layers), last
        for k, layer in enumerate([first, *layers]):
            variance = 2 / features if k == 0 else GAINS[study.version] / study.width
            nn.init.normal_(layer.weight, 0, math.sqrt(variance), generator=generator(seed, "weight", k))
        self.norm = nn.LayerNorm(study.width) if study.version == "layer_norm" else None
        self.a = nn.Parameter(torch.full((study.depth,), study.start)) if study.version == "rezero" else None

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.first(x))
        for k, layer in enumerate(self.layers):
            inside = F.relu(layer(x))
            if self.norm is not None:
                x = self.norm(inside)
            elif self.version == "plain":
                x = inside
            else:
                x = x + (inside if self.a is None else self.a[k] * inside)
        out: Tensor = self.last(x)
        return out


def linear(inputs: int, units: int, seed: int, k: int) -> nn.Linear:
    """Return a layer with torch's own initial weights and biases, drawn from a stream of its own."""
    layer = nn.Linear(inputs, units)
    for name, parameter in layer.named_parameters():
        nn.init.uniform_(parameter, -(inputs**-0.5), inputs**-0.5, generator=generator(seed, "torch", k, name))
    return layer


def mean_square(net: nn.Module, x: Tensor) -> float:
    """Return the mean squared singular value of the Jacobians at the examples (N, D), CLASSES of them each."""
    rows = torch.eye(CLASSES)
    return sum(float(pull_back(net, each, rows).double().square().sum()) for each in x) / (len(x) * CLASSES)
