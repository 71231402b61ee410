"""Re-parametrized batch normalization, which a transformer can fold into its next layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.batched import AnyRankBatchNorm
from normexp.norms.kernels.grouped import group_norm
from normexp.norms.kernels.tiles import kept_by_others, tiles
from normexp.norms.options import at_least, positive, share


class PlusInput(torch.autograd.Function):
    """y, x, alpha -> y + alpha x in one operator, which keeps x alone and rounds once."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, x: Tensor, alpha: Tensor) -> Tensor:
        ctx.save_for_backward(x, alpha)
        return torch.add(y, x, alpha=float(alpha))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        x, alpha = ctx.saved_tensors
        products = ((at_least_float32(grad) * part).sum() for part, grad in tiles(x, grads[0]))
        return grads[0], grads[0] * alpha, torch.stack(list(products)).sum()


class ReparametrizedBatchNorm(AnyRankBatchNorm):
    """Batch normalization plus `alpha` times its input; a map per channel in evaluation, which `fold` folds."""

    def __init__(self, num_features: int, eps: float, momentum: float) -> None:
        super().__init__(num_features, eps, momentum)
        self.alpha = nn.Parameter(torch.tensor(1.0))

    def forward(self, input: Tensor) -> Tensor:
        y = super().forward(input)
        if input.is_cpu and not kept_by_others():
            with_input: Tensor = PlusInput.apply(y, input, self.alpha)
            return with_input
        return (y + self.alpha * at_least_float32(input)).to(input.dtype)


class ProgressiveBatchNorm(ReparametrizedBatchNorm):
    """Layer normalization that becomes `ReparametrizedBatchNorm` in `layer_steps` steps, in equal parts."""

    steps_left: Tensor

    def __init__(self, num_features: int, eps: float, momentum: float, layer_steps: int) -> None:
        super().__init__(num_features, eps, momentum)
        self.layer_steps = layer_steps
        self.layer_weight = nn.Parameter(torch.ones(num_features))
        self.layer_bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("steps_left", torch.tensor(layer_steps))

    def forward(self, input: Tensor) -> Tensor:
        layer = group_norm(input, 1, self.layer_weight, self.layer_bias, self.eps)
        dtype = torch.promote_types(self.layer_weight.dtype, torch.float32)  # float16 ends at 65,504 steps
        part = self.steps_left.to(dtype) / self.layer_steps
        return (part * layer + (1 - part) * super().forward(input)).to(input.dtype)

    @torch.no_grad()
    def step(self) -> None:
        """Take one part from layer normalization, as long as it has any."""
        self.steps_left.sub_(1).clamp_(min=0)

    def extra_repr(self) -> str:
        return f"layer_steps={self.layer_steps}, {super().extra_repr()}"


@dataclass(frozen=True, kw_only=True)
class RepBatchNorm(Norm):
    """Batch normalization with a path of its input beside it, reached by way of layer normalization.

    y = weight (x - mean) / sqrt(var + eps) + bias + alpha x, one alpha from 1 for the whole layer; mean and biased
    variance of each channel over the batch and all positions. During the first `layer_steps` optimizer steps the result
    is lam LN(x) + (1 - lam) y, where LN is layer normalization with a scale and a shift of its own and
    lam = 1 - step / layer_steps.
    Training uses the batch's statistics, and moves running estimates as batch normalization does; evaluation uses the
    estimates: once lam is 0 it is a fixed affine map per channel, which the layer before or behind it can take in.

    Args:
        layer_steps: optimizer steps until nothing of layer normalization is left; 0 is `y` from the start.
        momentum: weight of the new batch in the running estimates.
        placement: `pre` normalizes what enters the nonlinearity, `post` what leaves it.

    Shape: (N, C, *) -> (N, C, *).

    Raises:
        ValueError: in training, if the batch holds one value per channel.

    Source: Guo, Chen, Tang & Wang 2024 (SLAB), arXiv:2405.11582.
    Differs: evaluation while lam > 0 is the same mixture as training.
    """

    layer_steps: int = at_least(0, 0)
    eps: float = positive(1e-5)
    momentum: float = share(0.1)

    def normalization(self, num_features: int) -> nn.Module:
        if self.layer_steps:
            return ProgressiveBatchNorm(num_features, self.eps, self.momentum, self.layer_steps)
        return ReparametrizedBatchNorm(num_features, self.eps, self.momentum)

    def step_hook(self, model: nn.Module) -> Callable[[], None] | None:
        layers = [module for module in model.modules() if isinstance(module, ProgressiveBatchNorm)]

        def step() -> None:
            for layer in layers:
                layer.step()

        return step if layers else None
