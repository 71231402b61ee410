"""What a deep stack of layers makes of normal inputs on the way up, and of gradients on the way down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from normexp.config.instantiate import instantiate
from normexp.errors import UserError
from normexp.models.activations import activation
from normexp.norms.base import Norm
from normexp.norms.checks.batch_dependence import depends_on_batch
from normexp.norms.normprop import NormProp
from normexp.probes.jacobian import pull_back
from normexp.seeding import generator
from normexp.studies.base import Number, Outcome, Row, Study, StudyContext
from normexp.studies.normprop_constants import activation_name
from normexp.training.build import build_norm

NEAR = 0.1  # relative
ROUNDING = 1e-12  # relative to the largest singular value


@dataclass(frozen=True, kw_only=True)
class Depth(Study):
    """Activations and the Jacobian J = d output / d input after 1, 2, ... blocks, at initialization.

    Blocks of `width` inputs and units with the configuration's scheme, `init` and `model.activation`, on inputs
    N(0, I), in float64; a row per depth. Mean and variance are over all units and examples of a block's output.
    `jacobian_mean_square`, the mean squared singular value of J from the input up to that depth, is an estimate
    without bias: ||J t||^2 / width over all examples, with one random direction t ~ N(0, I) for each.

    Singular values one by one are those of the first block, which the rows repeat; the table `spectrum` has those
    of one example by rank.

    Args:
        depth: number of blocks.
        width: inputs and units of every block.
        examples: for activations and `jacobian_mean_square`.
        jacobians: how many of them have the first block's Jacobian computed in full.

    Raises: UserError for a scheme that mixes the examples of a batch (one example has no Jacobian of its own), and
        for a network without the option `activation`.

    Source: Arpit et al. 2016, arXiv:1603.01431 [from the first author's slides]: singular values near 1 prevent
    gradient problems; Saxe, McClelland & Ganguli 2014, arXiv:1312.6120.
    """

    depth: int = 20
    width: int = 128
    examples: int = 500
    jacobians: int = 4

    def measure(self, context: StudyContext) -> Outcome:
        norm, name = build_norm(context.config), activation_name(context.config)
        if depends_on_batch(norm, training=True):
            given = context.config.choices["norm"]
            raise UserError(f"study=depth needs a scheme that treats examples one by one, unlike norm={given}")
        source = generator(context.seed, "depth")
        size = (self.examples, self.width)
        x, t = (torch.randn(size, dtype=torch.float64, generator=source) for _ in range(2))
        blocks, init = self._blocks(norm, name), instantiate(context.config["init"])
        init.apply(blocks, context.seed)
        init.fit(blocks.double(), x)
        norm.initialize(blocks, x)
        blocks.eval()
        values = singular_values(blocks[0], x[: self.jacobians])
        rows: list[Row] = [{**row, **summary(values)} for row in along(blocks, x, t)]
        published = isinstance(norm, NormProp) and norm.jacobian == "none" and name == "relu"
        numbers = [singular_values_number(rows[0])] if published else []
        return Outcome(rows, {"spectrum": list(ranked(values[0]))}, numbers)

    def _blocks(self, norm: Norm, name: str) -> nn.Sequential:
        layers = (nn.Linear(self.width, self.width) for _ in range(self.depth))
        return nn.Sequential(*(norm.block(layer, activation(name)) for layer in layers))


def along(blocks: nn.Sequential, x: Tensor, t: Tensor) -> Iterator[Row]:
    """Yield a row per depth; x and a direction t for each example, both (examples, width), go up together."""
    for depth, block in enumerate(blocks, start=1):
        x, t = torch.autograd.functional.jvp(block, x, t)
        square = float(t.square().mean())
        yield {"step": depth, "mean": float(x.mean()), "variance": float(x.var()), "jacobian_mean_square": square}


@torch.no_grad()
def singular_values(block: nn.Module, x: Tensor) -> Tensor:
    """Return the singular values of a block's Jacobian at each example (examples, width), largest first.

    What is only rounding is 0.
    """
    directions = torch.eye(x.shape[1], dtype=x.dtype)
    values = torch.linalg.svdvals(torch.stack([pull_back(block, each, directions) for each in x]))
    return torch.where(values < ROUNDING * values.amax(1, keepdim=True), 0.0, values)


def summary(values: Tensor) -> dict[str, float]:
    root = values.square().mean().sqrt()
    return {
        "layer_root_mean_square": float(root),
        "layer_smallest": float(values.min()),
        "layer_median": float(values.quantile(0.5)),
        "layer_largest": float(values.max()),
        "layer_near": float(((values / root - 1).abs() < NEAR).double().mean()),
    }


def ranked(values: Tensor) -> Iterator[Row]:
    """Yield singular values, largest first, by the share of all that are at least as large."""
    for rank, value in enumerate(values.tolist(), start=1):
        yield {"share": rank / len(values), "singular_value": value}


def singular_values_number(row: Row) -> Number:
    """Judge the step from E[J J^T] to the singular values by the share of them near their root mean square."""
    near = float(str(row["layer_near"])) > 0.5
    return Number(
        document="S002",
        place='slide "Analysis"',
        quantity="E[J J^T] = 1.47 I makes the singular values of J 1.2",
        printed="implies",
        computed=f"{'most' if near else 'less than half'} of them are within 10 % of their root mean square",
        agrees=near,
        remark="The root mean square is 1.21. The values themselves spread from near 0 to twice that with Gaussian "
        "weights; with orthogonal ones they are 0 (unit off) or 1/c1 = 1.71 (unit on).",
    )
