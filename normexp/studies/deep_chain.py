"""What a signal and its gradient become on the way through many linear layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.config import Config
from normexp.errors import UserError
from normexp.norms.base import set_weight
from normexp.seeding import generator
from normexp.studies.arithmetic.lengths import root_mean_square
from normexp.studies.base import Number, Outcome, Study, StudyContext
from normexp.training.build import build_norm

ROUNDING = 1e-9  # relative, after a hundred float64 products
LARGEST = 150  # decimal exponent of what is squared in float64, which ends at 308


@dataclass(frozen=True, kw_only=True)
class DeepChain(Study):
    """Linear layers of one gain, each followed by the configuration's norm; float64, training mode, no training.

    Args:
        gain: of every layer: its weight is the gain times an orthogonal matrix, or a Gaussian matrix that keeps
            the mean square.
        weights: `orthogonal`, which multiplies every length by exactly the gain, or `gaussian`.
        depth, width: number of layers, and of their units.
        examples: standard normal, in the batch.

    Raises: UserError for a gain of which so many layers make no number whose square float64 holds.

    Step k of the curves: the signal behind layer k, and the gradient k layers below the top, where it is a
    standard normal; both as root mean squares over what they began with.
    """

    gain: float = 0.9
    weights: str = "orthogonal"
    depth: int = 100
    width: int = 64
    examples: int = 256

    def measure(self, context: StudyContext) -> Outcome:
        if abs(self.depth * math.log10(self.gain)) > LARGEST:
            raise UserError(
                f"study.gain={self.gain:g}: to the power of study.depth={self.depth} it must be between "
                f"1e-{LARGEST} and 1e{LARGEST}; give one nearer to 1, or fewer layers"
            )
        layers = list(self._layers(context.config))
        source = generator(context.seed, "chain")
        signals = [torch.randn(self.examples, self.width, dtype=torch.double, generator=source).requires_grad_()]
        for layer in layers:
            signals.append(layer(signals[-1]))
        top = torch.randn(signals[-1].shape, dtype=torch.double, generator=source)
        gradients = torch.autograd.grad(signals[-1], signals, top)[::-1]
        rows = [
            {
                "step": k,
                "power": self.gain**k,
                "signal": root_mean_square(signals[k]) / root_mean_square(signals[0]),
                "gradient": root_mean_square(gradients[k]) / root_mean_square(gradients[0]),
            }
            for k in range(self.depth + 1)
        ]
        plain = context.config.choices["norm"] == "none" and self.weights == "orthogonal"
        return Outcome(rows, numbers=list(self._numbers(rows)) if plain else [])

    def _layers(self, config: Config) -> Iterator[nn.Module]:
        norm = build_norm(config)
        for k in range(self.depth):
            layer = nn.Linear(self.width, self.width, bias=False).double()
            set_weight(
                layer, self.gain * square_matrix(self.weights, self.width, generator(config["seed"], "layer", k))
            )
            yield norm.block(layer).double().train()

    def _numbers(self, rows: Sequence[Mapping[str, float]]) -> Iterator[Number]:
        last = rows[-1]
        yield Number(
            "S001",
            "Batch Normalization",
            f"gradient behind k layers of gain {self.gain:g}",
            f"{self.gain:g}^k",
            f"{self.gain:g}^{self.depth} = {last['power']:.4g}; measured {last['gradient']:.4g}",
            agrees=abs(last["gradient"] / last["power"] - 1) < ROUNDING,
        )


def square_matrix(kind: str, width: int, source: torch.Generator) -> Tensor:
    """Return weights that keep the mean square of a signal: `orthogonal`, uniformly distributed, or `gaussian`."""
    matrix = torch.randn(width, width, dtype=torch.double, generator=source)
    return torch.linalg.qr(matrix).Q if kind == "orthogonal" else matrix / width**0.5
