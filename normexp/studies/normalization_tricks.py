"""What Zuo's notes "Normalization tricks" say of batch and layer normalization, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from normexp.models.recurrent.lstm import LSTMCell
from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.checks.subject import distance
from normexp.norms.layer import LayerNorm
from normexp.seeding import seeded
from normexp.studies.base import Number, Outcome, Study, StudyContext

SAME = 1e-12  # relative, in float64
EPS = 1e-5
SAMPLES, FEATURES, STEPS = 64, 24, 20
TRIALS = 2000  # batches per size: the ratio of two variances then has a relative standard error of 4 %
SMALL, LARGE = 4, 64
NOISE = 1.1  # step_spread of equal distributions: 4,096 examples know a standard deviation to 1.1 %


@dataclass(frozen=True, kw_only=True)
class NormalizationTricks(Study):
    """Every formula and every sentence of the notes that can be measured without training a network.

    `batch_norm_formula`, `layer_norm_formula` and `lstm_formula` are relative distances, in float64, between the
    notes' formulas and our layers. `mean_variance_ratio` is the variance of a batch's mean with 4 examples over that
    with 64; 16 is 64 / 4. `step_spread` is the largest over the smallest standard deviation of one unit's summed
    input over the time steps of an LSTM at its start, without normalization, median over the units.

    Source: Zuo 2018, "Normalization tricks": algorithm 1, the lists of limitations and properties, the LSTM.
    """

    @torch.no_grad()
    def measure(self, context: StudyContext) -> Outcome:
        with seeded(context.seed, "normalization tricks"):
            x = torch.randn(SAMPLES, FEATURES, dtype=torch.float64) * 3 + 2
            metrics: dict[str, float] = {
                "batch_norm_formula": formula_distance(BatchNorm(eps=EPS), x, 0),
                "layer_norm_formula": formula_distance(LayerNorm(eps=EPS), x, 1),
                "lstm_formula": lstm_distance(),
                "mean_variance_ratio": mean_variance_ratio(),
                "batch_dependence": batch_dependence(x),
                "one_example": one_example_distance(x),
                "own_statistics": own_statistics(x),
                "step_spread": step_spread(),
            }
        return Outcome([{"step": 0, **metrics}], numbers=list(sentences(metrics)))


def normalized(x: Tensor, dim: int) -> Tensor:
    """Return (x - mean) / sqrt(var + eps) over a dimension, as algorithm 1 writes it: divided by n, not n - 1."""
    mean = x.sum(dim, keepdim=True) / x.shape[dim]
    var = ((x - mean) ** 2).sum(dim, keepdim=True) / x.shape[dim]
    return (x - mean) / (var + EPS) ** 0.5


Layer = TypeVar("Layer", bound=nn.Module)


def with_random_affine(layer: Layer) -> Layer:
    """Return the layer in float64 with a random gain and shift, so that a formula without them would be seen."""
    layer = layer.double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


def formula_distance(scheme: Norm, x: Tensor, dim: int) -> float:
    """Return how far our layer's output is from the notes' formula over this dimension."""
    layer = with_random_affine(scheme.normalization(FEATURES))
    return distance(layer(x), affine(layer, normalized(x, dim)))


def lstm_distance() -> float:
    """Return how far our LN-LSTM is from the notes' three equations after some steps."""
    cell = with_random_affine(LSTMCell(5, 7, LayerNorm(eps=EPS), STEPS))
    x, h, c = (torch.randn(3, width, dtype=torch.float64) for width in (5, 7, 7))
    theirs: tuple[Tensor, ...] = (h, c)
    ours: tuple[Tensor, ...] = theirs
    for t in range(3):
        theirs = notes_step(cell, x, theirs[0], theirs[1])
        ours = cell.step(cell.from_inputs(x, [3]), ours, cell.state.get_parameter("weight").T, t)
    return max(distance(a, b) for a, b in zip(ours, theirs, strict=True))


def notes_step(cell: LSTMCell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Return (h_t, c_t) by the notes; their order of gates is f, i, o, g, ours i, f, g, o."""
    summed = (
        _ln(cell.norm_state, h @ cell.state.get_parameter("weight").T)
        + _ln(cell.norm_input, x @ cell.input.get_parameter("weight").T)
        + cell.bias
    )
    i, f, g, o = summed.chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * _ln(cell.norm_memory, c).tanh(), c


def _ln(step: nn.Module, x: Tensor) -> Tensor:
    return affine(step.get_submodule("module"), normalized(x, 1))


def affine(layer: nn.Module, x: Tensor) -> Tensor:
    """Return x times the layer's gain plus its shift."""
    return x * layer.get_parameter("weight") + layer.get_parameter("bias")


def mean_variance_ratio() -> float:
    """Return Var(mean of 4 examples) / Var(mean of 64 examples), each from as many batches."""
    small, large = (torch.randn(TRIALS, size, dtype=torch.float64).mean(1).var() for size in (SMALL, LARGE))
    return float(small / large)


def batch_dependence(x: Tensor) -> float:
    """Return how far layer normalization's output for the first example moves when the others are replaced."""
    layer = with_random_affine(LayerNorm().normalization(FEATURES))
    others = torch.cat([x[:1], torch.randn_like(x[1:]) * 9])
    return float((layer(x)[0] - layer(others)[0]).abs().max())


def one_example_distance(x: Tensor) -> float:
    """Return how far the output of an example alone is from its output in a batch, relative."""
    layer = with_random_affine(LayerNorm().normalization(FEATURES))
    return distance(layer(x[:1]), layer(x)[:1])


def own_statistics(x: Tensor) -> float:
    """Return the largest deviation from mean 0 and variance 1 of one example's units, each example by itself."""
    y = normalized(x * torch.arange(1.0, SAMPLES + 1).double()[:, None], 1)
    return float(torch.stack([y.mean(1).abs().max(), (y.var(1, unbiased=False) - 1).abs().max()]).max())


def step_spread() -> float:
    """Return the median over units of (largest / smallest) standard deviation over the time steps of a new LSTM."""
    lstm = nn.LSTM(5, 32).double()
    hidden, _ = lstm(torch.randn(STEPS, SAMPLES * 64, 5, dtype=torch.float64))
    std = hidden.std(1)
    return float((std.amax(0) / std.amin(0)).median())


def same(distance: float) -> tuple[str, bool]:
    """Return what is said of a formula of the notes whose value is `distance` from ours, and whether they agree."""
    return f"our layer's output is {distance:.1g} of its norm away", distance < SAME


def sentences(found: dict[str, float]) -> Iterator[Number]:
    """Yield the notes' formulas and sentences beside what was measured."""
    for place, quantity, printed, (computed, agrees), remark in (*formulas(found), *remarks(found)):
        yield Number("S000", place, quantity, printed, computed, agrees, remark=remark)


Sentence = tuple[str, str, str, tuple[str, bool], str]  # place, quantity, printed, (computed, agrees), remark


def formulas(found: dict[str, float]) -> Iterator[Sentence]:
    """Yield the three formulas."""
    yield (
        *("algorithm 1", "batch normalization", "gamma (x - mu) / sqrt(var + eps) + beta"),
        *(same(found["batch_norm_formula"]), ""),
    )
    yield (
        *("Layer normalization", "layer normalization", "the same over the features"),
        *(same(found["layer_norm_formula"]), ""),
    )
    yield (
        *("last formulas", "LSTM with layer normalization", "f, i, o, g; c; h"),
        *(same(found["lstm_formula"]), ""),
    )


def remarks(found: dict[str, float]) -> Iterator[Sentence]:
    """Yield the sentences of the two lists."""
    ratio, spread = found["mean_variance_ratio"], found["step_spread"]
    limitation, properties = "Limitation of batch normalization", "Properties"
    yield (
        *(limitation, "variance of the estimates", "small batch size increase variance of estimating statistics"),
        (f"the mean of {SMALL} examples varies {ratio:.3g} times as much as that of {LARGE}", ratio > 1),
        f"In theory {LARGE // SMALL} times.",
    )
    yield (
        *(limitation, "time steps of a recurrent network", "each time step has different statistics"),
        (f"a unit's standard deviation changes {spread:.3g}-fold over {STEPS} steps of a new LSTM", spread > NOISE),
        "Mostly in the first steps, while the state fills.",
    )
    moved, alone, own = found["batch_dependence"], found["one_example"], found["own_statistics"]
    yield (
        *(properties, "dependence on the batch", "Independent of batch size"),
        (
            f"an example's output moves by {moved:.1g} when the others are replaced, by {alone:.1g} when it is alone",
            max(moved, alone) < SAME,
        ),
        "Whether it is then useful with one example is judged among the claims, by training.",
    )
    yield (
        *(properties, "whose statistics", "Each training example has its own; all neurons in a layer share the same"),
        (f"mean and variance of every example's units are within {own:.1g} of 0 and 1", own < EPS),
        "",
    )
