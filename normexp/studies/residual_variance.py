"""What the stream of a deep residual net grows to on its way up, at initialization."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.errors import UserError
from normexp.norms.base import Norm
from normexp.seeding import generator
from normexp.studies.arithmetic.doubling import is_doubling
from normexp.studies.base import Outcome, Study, StudyContext
from normexp.training.build import build_norm

WAY_OUT = "use norm=batch, norm=none with study.growth=geometric, or measure a control with study.control=true"


@dataclass(frozen=True, kw_only=True)
class ResidualVariance(Study):
    """Mean square of the stream x(l+1) = x(l) + gain W f(N(x(l) / size(l))), by block, with f = ReLU; float64.

    Rows are at l = 1, 2, 4, ... and at the top. `log10_square` is the logarithm of the stream's mean square
    `square`. A `formula` above 1e308 is infinite, `log10_formula` is not.

    Derived: W has mean 0 and is independent of what it multiplies, so squares add. With batch norm in the branch
    E f(N(x))^2 = 1/2 exactly (every channel's square is 1 over the batch and its sign is symmetric); He weights of
    variance 2 / width make it 1, and the stream 1 + gain^2 l. Scaled weight standardization makes Var f(x) = 1 of its
    own if x / size(l) has the square 1, size(l)^2 = 1 + gain^2 l. Without a norm E f(x)^2 = E x^2 / 2, and the
    stream is (1 + gain^2)^l on average, which no single net of finite width shows once l exceeds the width.

    Args:
        blocks: of one layer each, with identity skips.
        width, batch: channels and examples.
        gain: of every branch: 1; 0, as SkipInit begins; or 1 / sqrt(blocks).
        downscaled: divide the branch's input by size(l), as normalization-free networks do.
        growth: which formula the row has: `linear` or `geometric`.
        control: measure also where the formula does not apply.

    Raises: UserError, unless `control`, for a scheme under which a branch adds something else to a stream of mean
        square 1 or 4 than the formula says. norm=none, which has no scheme, is a control of its own.

    Source: De & Smith 2020, arXiv:2002.10444; Brock, De & Smith 2021, arXiv:2101.08692; derived above.
    """

    blocks: int = 600
    width: int = 256
    batch: int = 64
    gain: float = 1.0
    downscaled: bool = False
    growth: str = "linear"
    control: bool = False

    def measure(self, context: StudyContext) -> Outcome:
        norm = build_norm(context.config)
        if self.gain and not self.control and type(norm) is not Norm:
            self._check(norm, context.config.choices["norm"])
        squares = list(self._squares(norm, context.seed))
        shown = [k for k in range(1, self.blocks + 1) if is_doubling(k) or k == self.blocks]
        return Outcome([self._row(k, squares[k] / squares[0]) for k in shown])

    def _row(self, k: int, square: float) -> dict[str, float]:
        gain = self.gain**2
        log_formula = math.log10(1 + gain * k) if self.growth == "linear" else k * math.log10(1 + gain)
        formula = 10**log_formula if log_formula <= sys.float_info.max_10_exp else math.inf
        return {
            "step": k,
            "square": square,
            "formula": formula,
            "log10_square": math.log10(square),
            "log10_formula": log_formula,
            "remainder": formula / self.width,
        }

    @torch.no_grad()
    def _squares(self, norm: Norm, seed: int) -> Iterator[float]:
        x = torch.randn(self.batch, self.width, dtype=torch.double, generator=generator(seed, "inputs"))
        yield float(x.square().mean())
        for k in range(self.blocks):
            x = x + self.gain * self._branch(norm, generator(seed, "block", k), x, k)
            yield float(x.square().mean())

    @torch.no_grad()
    def _check(self, norm: Norm, chosen: str) -> None:
        """Raise UserError unless the first branch adds the square of the formula, but for 5 standard deviations."""
        x = torch.randn(self.batch, self.width, dtype=torch.double, generator=generator(0, "trial"))
        for length in (1.0,) if self.downscaled else (1.0, 2.0):
            added = float(self._branch(norm, generator(0, "trial", "weights"), length * x, 0).square().mean())
            wanted = length**2 if self.growth == "geometric" else 1.0
            if abs(added - wanted) > 5 * math.sqrt(2 / self.width) * wanted:
                raise UserError(
                    f"study=residual_variance norm={chosen}: the law does not apply: with study.growth={self.growth} "
                    f"block 1 should add a mean square of {wanted:g} to a stream of {length**2:g}, "
                    f"and adds {added:.2g}; {WAY_OUT}"
                )

    def _branch(self, norm: Norm, source: torch.Generator, x: Tensor, k: int) -> Tensor:
        layer = nn.Linear(self.width, self.width, bias=False).double()
        layer.weight.normal_(0, math.sqrt(2 / self.width), generator=source)
        own = norm.parametrize(layer)
        normalization = norm.normalization(self.width).double().train()
        size = math.sqrt(1 + self.gain**2 * k) if self.downscaled else 1.0
        out: Tensor = own(norm.nonlinearity(nn.ReLU())(normalization(x / size)))
        return out
