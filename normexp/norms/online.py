"""Online normalization."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import channel_sum, moments, multiply_add, over_positions, position_sum, scale_shift
from normexp.norms.kernels.tiles import tiled, tiles
from normexp.norms.options import one_of, positive, share

CLAMP = 5.0  # the authors' bound for `control=clamp`
BLOCK = 128  # steps that one matrix of powers spans


def scan(decay: Tensor, increment: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Solve state[n + 1] = decay[n] state[n] + increment[n] over the first dimension, from `start`.

    Returns all states before their step, and the state after the last. Steps are composed in pairs, then pairs of
    pairs (two linear maps in a row are one), in log2(N) rounds over (N, C): products and sums only, as in a loop
    over examples, so nothing is divided by a product that may be 0.
    """
    reach = 1
    while reach < len(increment):
        late = increment[reach:] + decay[reach:] * increment[:-reach]
        increment = torch.cat([increment[:reach], late])
        decay = torch.cat([decay[:reach], decay[reach:] * decay[:-reach]])
        reach *= 2
    after = decay * start + increment
    return torch.cat([start.unsqueeze(0), after[:-1]]), after[-1]


def steady_scan(decay: float, increment: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Solve the same with one decay for all steps: a product with a triangle of its powers for every block of steps."""
    states = []
    for block in increment.split(BLOCK):
        from_start = powers(decay, len(block) + 1, increment.device) @ torch.cat([start.unsqueeze(0), block])
        states.append(from_start[:-1])
        start = from_start[-1]
    return torch.cat(states), start


@lru_cache(maxsize=64)
def powers(decay: float, size: int, device: torch.device) -> Tensor:
    """Return the triangle decay^(n - k) for k up to n, and 0 beyond, in float64."""
    steps = torch.arange(size, dtype=torch.float64, device=device)
    return (decay ** (steps.unsqueeze(1) - steps).clamp(min=0)).tril()


class Controlled(torch.autograd.Function):
    """Normalize each example by the statistics of those before it, then `tail`; backward is a control process.

    The gradient g of one example is freed, over time, of what would move the output's scale and mean:
    g' = g - (1 - d) v y, v += mean(g' y), and g'' = g' / std - (1 - d) u, u += mean(g''), example by example in
    the order of the batch. v and u are integrals of the two errors, kept in `controls` from batch to batch.
    """

    @staticmethod
    def forward(ctx: Any, layer: Online, x: Tensor, mean: Tensor, rstd: Tensor, *affine: Tensor) -> Tensor:
        ctx.layer = layer
        ctx.save_for_backward(x, mean, rstd, *affine)
        return tiled(lambda *inputs: layer.tail(standardized(*inputs), *affine), x, mean, rstd)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, rstd, *affine = ctx.saved_tensors
        # Twice through x: the controls of an example need the means of all before it, so g has to be kept between.
        g = torch.empty_like(x, dtype=mean.dtype)
        means, rest = [], []
        for g_part, x_part, grad_part, *statistics in tiles(g, x, grad, mean, rstd):
            y = standardized(at_least_float32(x_part), *statistics)
            g_y, *of_affine = ctx.layer.tail_gradient(at_least_float32(grad_part), y, *affine)
            g_part.copy_(g_y)
            means.append(tuple(position_mean(each) for each in (g_y * y, y.square(), g_y, y)))
            rest.append(of_affine)
        mean_gy, mean_yy, mean_g, mean_y = (torch.cat(each).double() for each in zip(*means, strict=True))
        scale, shift = control(mean_gy, mean_yy, mean_g, mean_y, rstd, ctx.layer)
        grad_x = tiled(freed, x, mean, rstd, g, scale, shift)
        return None, grad_x, None, None, *(torch.stack(each).sum(0) for each in zip(*rest, strict=True))


def standardized(x: Tensor, mean: Tensor, rstd: Tensor) -> Tensor:
    """Return (x - mean) rstd."""
    return (x - over_positions(mean, x)).mul_(over_positions(rstd, x))


def freed(x: Tensor, mean: Tensor, rstd: Tensor, g: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Return g rstd + y scale + shift."""
    return multiply_add(standardized(x, mean, rstd), scale, shift).add_(g * over_positions(rstd, g))


def control(
    mean_gy: Tensor, mean_yy: Tensor, mean_g: Tensor, mean_y: Tensor, rstd: Tensor, layer: Online
) -> tuple[Tensor, Tensor]:
    """Return what to add to the gradient g rstd of each example, as a multiple of y and a constant: (N, C) each.

    Leaves the integrals v and u after the last example in the layer.
    """
    rate, controls = layer.control_rate, (layer.scale_control, layer.mean_control)
    v, last_v = scan(1 - rate * mean_yy, mean_gy, controls[0].double())
    u, last_u = steady_scan(1 - rate, (mean_g - rate * v * mean_y) * rstd.double(), controls[1].double())
    controls[0].copy_(last_v)
    controls[1].copy_(last_u)
    return (-rate * v).to(rstd.dtype) * rstd, (-rate * u).to(rstd.dtype)


def position_mean(x: Tensor) -> Tensor:
    return position_sum(x) / num_positions(x)


class Online(PerChannel):
    """Normalize by statistics of all examples seen before, whatever the batch size."""

    running_mean: Tensor
    running_var: Tensor
    scale_control: Tensor
    mean_control: Tensor

    def __init__(
        self, num_features: int, eps: float, momentum: float, control_rate: float, control: str, affine: bool
    ) -> None:
        super().__init__(num_features)
        self.eps, self.momentum = eps, momentum
        self.control_rate, self.control = control_rate, control
        self.learn(affine, affine)
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        self.register_buffer("scale_control", torch.zeros(num_features))
        self.register_buffer("mean_control", torch.zeros(num_features))

    @torch.compiler.disable  # type: ignore[untyped-decorator]  # backward writes the controls
    def forward(self, x: Tensor) -> Tensor:
        affine = self.affine
        if not self.training or not len(x):
            rstd = (self.running_var + self.eps).rsqrt()
            return self.tail(scale_shift(x, rstd, -self.running_mean * rstd), *affine).to(x.dtype)
        mean, rstd = self.observe(x)
        return Controlled.apply(self, x, mean, rstd, *affine)

    @torch.no_grad()
    def observe(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and 1 / std before each example, (N, C), and leave those after the last in the buffers."""
        rate = self.momentum
        mean, var = moments(x)
        means, last_mean = steady_scan(1 - rate, rate * mean.double(), self.running_mean.double())
        spread = rate * var.double() + (1 - rate) * rate * (mean.double() - means).square()
        variances, last_var = steady_scan(1 - rate, spread, self.running_var.double())
        self.running_mean.copy_(last_mean)
        self.running_var.copy_(last_var)
        return means.to(mean.dtype), (variances + self.eps).rsqrt().to(mean.dtype)

    def tail(self, y: Tensor, *affine: Tensor) -> Tensor:
        """Scale and shift, then bound what an estimate that lags behind lets through."""
        z = multiply_add(y, *affine) if affine else y
        if self.control == "clamp":
            return z.clamp(-CLAMP, CLAMP)
        return z if self.control == "none" else z * over_positions(self.layer_scale(z), z)

    def tail_gradient(self, grad: Tensor, y: Tensor, *affine: Tensor) -> tuple[Tensor, ...]:
        """Return the gradient of y and of what scales and shifts it."""
        z = multiply_add(y, *affine) if affine else y
        if self.control == "clamp":
            grad = torch.ops.aten.hardtanh_backward(grad, z, -CLAMP, CLAMP)
        if self.control == "layer_scaling":
            scale = self.layer_scale(z)
            along = position_mean(grad * z).mean(1, keepdim=True) * scale**3
            grad = (grad * over_positions(scale, z)).sub_(z * over_positions(along, z))
        if not affine:
            return (grad,)
        return grad * over_positions(affine[0], y), channel_sum(grad * y), channel_sum(grad)

    def layer_scale(self, z: Tensor) -> Tensor:
        """Return 1 / sqrt(mean(z^2) + eps) over all features of each sample: (N, 1)."""
        return (position_mean(z.square()).mean(1, keepdim=True) + self.eps).rsqrt()


@dataclass(frozen=True, kw_only=True)
class OnlineNorm(Norm):
    """Running statistics of the examples seen before, in training too; works with a batch of one.

    y = (x - mean) / sqrt(var + eps) with mean and var from before this example, then, with a = 1 - momentum and
    m, s2 the example's own mean and biased variance over its positions, var <- a var + (1 - a) s2 +
    a (1 - a) (m - mean)^2 and mean <- a mean + (1 - a) m: example by example in the order of the batch. Then
    z = weight y + bias, and layer scaling z / sqrt(mean(z^2) + eps) over all features of the sample.
    Evaluation uses the estimates as they are.
    Backward is a control process instead of the derivative, which no running average has: see `Controlled`.
    So a finite difference does not give the gradient, and there is no second derivative.
    The recursions are linear, and solved for a whole batch at once in float64: equal, up to rounding, to a loop.

    Args:
        eps: added to the variance inside the root, and to the mean square of layer scaling.
        momentum: weight of a new example in the running estimates (1 - alpha_f of the paper).
        control_rate: weight of the integrals in the gradient (1 - alpha_b of the paper).
        control: `layer_scaling` as in the paper, `clamp` to [-5, 5] as in its code, or `none`.

    Shape: (N, C, *) -> (N, C, *).

    Source: Chiley et al. 2019, arXiv:1905.05894, and its authors' NumPy code.
    Differs: nothing known.
    """

    eps: float = positive(1e-5)
    momentum: float = share(0.001)
    control_rate: float = share(0.01)
    control: str = one_of("layer_scaling", "clamp", "none")
    affine: bool = True

    def normalization(self, num_features: int) -> nn.Module:
        return Online(num_features, self.eps, self.momentum, self.control_rate, self.control, self.affine)
