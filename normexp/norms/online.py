"""Online normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from normexp.norms.base import Norm, at_least_float32
from normexp.norms.kernels.affine import PerChannel
from normexp.norms.kernels.layout import num_positions
from normexp.norms.kernels.moments import less, moments, multiply_add, over_positions, position_sum, scale_shift
from normexp.norms.kernels.passes import Passes
from normexp.norms.kernels.scan import scan
from normexp.norms.kernels.tiles import tiles
from normexp.norms.options import one_of, positive, share

CLAMP = 5.0  # the authors' bound for `control=clamp`
Last = tuple[Tensor, Tensor]  # what two recursions over the examples hold after the last: (C,) each, in float64


class Seen(NamedTuple):
    """Statistics of each example, (N, C) in float32 at least.

    Args:
        mean, rstd: the estimates from before it: mean and 1 / std.
        var: its own biased variance over its positions, over that of the estimates.
    """

    mean: Tensor
    rstd: Tensor
    var: Tensor


class Controlled(torch.autograd.Function):
    """Normalize each example by the statistics of those before it, then `tail`; backward is a control process.

    The gradient g of one example is freed, over time, of what would move the output's scale and mean:
    g' = g - c v y, v += mean(g' y), and g'' = g' / std - c u, u += mean(g''), c being `control_rate`, example by
    example in the order of the batch. v and u are integrals of the two errors, kept in `controls` from batch to batch.
    All of it is linear in the incoming gradient and in x, with factors that follow from the means of the two, of their
    product and of x^2: x is read twice each way and kept alone.
    """

    @staticmethod
    def forward(ctx: Any, layer: Online, x: Tensor, *affine: Tensor) -> Tensor:
        y, mean, seen, last = layer.passes.forward(layer, x)
        layer.leave(layer.estimates, last)
        ctx.layer = layer
        ctx.save_for_backward(x, mean, *seen, *affine)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, *rest = ctx.saved_tensors
        found, of_affine, last = ctx.layer.passes.backward(ctx.layer, grad, x, mean, Seen(*rest[:3]), *rest[3:])
        ctx.layer.leave(ctx.layer.controls, last)
        return None, found, *(each * num_positions(x) for each in of_affine)


def normalized(layer: Online, x: Tensor) -> tuple[Tensor, Tensor, Seen, Last]:
    """Return y, the means of x normalized (N, C), and the statistics of each example and after the last."""
    seen, last = layer.observed(x)
    y, deltas, (weight, bias) = torch.empty_like(x), [], layer.weight_and_bias(seen.mean)
    gain, spread = seen.rstd * weight, seen.var * weight.square()
    for out, part, mean, gain_part, spread_part in tiles(y, x, seen.mean, gain, spread):
        centred = less(part, mean)
        deltas.append(position_mean(centred))
        scale = layer.scale_of(deltas[-1] * gain_part + bias, spread_part)
        centred.mul_(over_positions(gain_part * scale, part))
        store(out, centred, over_positions(bias * scale, part))
        if layer.control == "clamp":
            out.clamp_(-CLAMP, CLAMP)
    return y, torch.cat(deltas) * seen.rstd, seen, last


def controlled(
    layer: Online, grad: Tensor, x: Tensor, mean: Tensor, seen: Seen, *affine: Tensor
) -> tuple[Tensor, tuple[Tensor, ...], Last]:
    """Return the gradient of x, the mean gradients of weight and bias, and the integrals after the last example."""
    products, plain = means(layer, x, grad, seen, *affine)
    (of_g, of_y, constant, *of_affine), last = freed(layer, seen, mean, products, plain, *affine)
    found = torch.empty_like(x)
    parts = tiles(found, x, grad, of_g, of_y * seen.rstd, constant, *seen)
    for out, part, grad_part, scale, by_x, shift, *statistics in parts:
        centred = less(part, statistics[0])
        g = layer.passed(at_least_float32(grad_part), centred, statistics[1], *affine)
        centred.mul_(over_positions(by_x, part)).add_(over_positions(shift, part))
        store(out, centred, g * over_positions(scale, part))
    return found, tuple(of_affine), last


def store(out: Tensor, x: Tensor, y: Tensor) -> None:
    """Write x + y, for the last time that x is needed; straight away unless it has to be rounded, or is compiled."""
    if out.dtype == x.dtype and not torch.compiler.is_compiling():  # torch 2.9's takes no channels_last `out`
        torch.add(x, y, out=out)
    else:
        out.copy_(x.add_(y))


def means(layer: Online, x: Tensor, grad: Tensor, seen: Seen, *affine: Tensor) -> tuple[Tensor, Tensor]:
    """Return the means (N, C) of g y and of g, with y = (x - mean) / std and g what passes through a clamp."""
    found = []
    for part, grad_part, *statistics in tiles(x, grad, *seen):
        centred, rstd = less(part, statistics[0]), statistics[1]
        g = layer.passed(at_least_float32(grad_part), centred, rstd, *affine)
        found.append((position_mean(centred.mul_(g)) * rstd, position_mean(g)))
    products, plain = (torch.cat(each) for each in zip(*found, strict=True))
    return products, plain


def freed(
    layer: Online, seen: Seen, y: Tensor, gy: Tensor, g: Tensor, *affine: Tensor
) -> tuple[tuple[Tensor, ...], Last]:
    """Return how the gradient of x is made of g, y and 1, each (N, C), and the mean gradients of weight and bias.

    Beside them the integrals v and u after the last example.

    Args:
        y, gy, g: the means over the positions of y, of g y and of g.
    """
    yy = seen.var + y.square()
    of_g, of_y, constant, *of_affine = layer.tail_factors(seen, y, yy, gy, g, *affine)
    mean_gy, mean_g = of_g * gy + of_y * yy + constant * y, of_g * g + of_y * y + constant
    scale, shift, last = control(mean_gy.double(), yy.double(), mean_g.double(), y.double(), seen.rstd, layer)
    return (of_g * seen.rstd, of_y * seen.rstd + scale, constant * seen.rstd + shift, *of_affine), last


def control(
    mean_gy: Tensor, mean_yy: Tensor, mean_g: Tensor, mean_y: Tensor, rstd: Tensor, layer: Online
) -> tuple[Tensor, Tensor, Last]:
    """Return what to add to the gradient g rstd of each example, as a multiple of y and a constant: (N, C) each.

    And the integrals v and u after the last example.
    """
    rate, controls = layer.control_rate, layer.controls
    v, last_v = scan(1 - rate * mean_yy, mean_gy, controls[0].double())
    u, last_u = scan(1 - rate, (mean_g - rate * v * mean_y) * rstd.double(), controls[1].double())
    return (-rate * v).to(rstd.dtype) * rstd, (-rate * u).to(rstd.dtype), (last_v, last_u)


def position_mean(x: Tensor) -> Tensor:
    return position_sum(x) / num_positions(x)


class Online(PerChannel):
    """Normalize by statistics of all examples seen before, whatever the batch size."""

    running_mean: Tensor
    running_var: Tensor
    scale_control: Tensor
    mean_control: Tensor
    gains_from_compile = True
    passes = Passes(normalized, controlled)

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

    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling():  # not as a decorator, which imports the compiler wherever this file is read
            return torch.compiler.disable(self.normalize)(x)
        return self.normalize(x)

    def normalize(self, x: Tensor) -> Tensor:
        """Return x normalized; never compiled, for backward writes the controls."""
        affine = self.affine
        if not self.training or not len(x):
            rstd = (self.running_var + self.eps).rsqrt()
            return self.tail(scale_shift(x, rstd, -self.running_mean * rstd), *affine).to(x.dtype)
        return Controlled.apply(self, x, *affine)

    @property
    def estimates(self) -> Last:
        return self.running_mean, self.running_var

    @property
    def controls(self) -> Last:
        return self.scale_control, self.mean_control

    def leave(self, buffers: Last, last: Last) -> None:
        """Keep in two buffers what two recursions hold after the last example."""
        for buffer, value in zip(buffers, last, strict=True):
            buffer.copy_(value)

    def observed(self, x: Tensor) -> tuple[Seen, Last]:
        """Return the statistics of each example, and the estimates after the last."""
        rate = self.momentum
        mean, var = moments(x)
        means, last_mean = scan(1 - rate, rate * mean.double(), self.running_mean.double())
        spread = rate * var.double() + (1 - rate) * rate * (mean.double() - means).square()
        variances, last_var = scan(1 - rate, spread, self.running_var.double())
        rstd = (variances + self.eps).rsqrt().to(mean.dtype)
        return Seen(means.to(mean.dtype), rstd, var * rstd.square()), (last_mean, last_var)

    def tail(self, y: Tensor, *affine: Tensor) -> Tensor:
        """Scale and shift, then bound what an estimate that lags behind lets through."""
        z = multiply_add(y, *affine) if affine else y
        if self.control == "clamp":
            return z.clamp(-CLAMP, CLAMP)
        if self.control == "none":
            return z
        squares = at_least_float32(z).square()  # their sum is infinite in float16, on large maps
        return z * over_positions(self.layer_scale(position_mean(squares)), z)

    def weight_and_bias(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return weight and bias, or ones and zeros: (C,)."""
        weight, bias = self.affine or (torch.ones_like(like[0]), torch.zeros_like(like[0]))
        return weight.detach(), bias.detach()

    def passed(self, grad: Tensor, centred: Tensor, rstd: Tensor, *affine: Tensor) -> Tensor:
        """Return the gradient in front of a clamp."""
        if self.control != "clamp":
            return grad
        weight, bias = affine or self.weight_and_bias(rstd)
        return torch.ops.aten.hardtanh_backward(grad, multiply_add(centred, rstd * weight, bias), -CLAMP, CLAMP)

    def tail_factors(
        self, seen: Seen, y: Tensor, yy: Tensor, gy: Tensor, g: Tensor, *affine: Tensor
    ) -> tuple[Tensor, ...]:
        """Return how the gradient of y is made of g, y and 1, and those of weight and bias, from means (N, C).

        With layer scaling s z / sqrt(mean(z^2) + eps), that of z is s g - along z.
        """
        weight, bias = affine or self.weight_and_bias(y)
        scale = self.scale_of(weight * y + bias, seen.var * weight.square())
        along = torch.zeros_like(scale)
        if self.control == "layer_scaling":
            along = (weight * gy + bias * g).mean(1, keepdim=True) * scale**3
        factors = weight * scale, -along * weight.square(), -along * weight * bias
        if not affine:
            return factors
        of_weight = (scale * gy - along * (weight * yy + bias * y)).sum(0)
        return *factors, of_weight, (scale * g - along * (weight * y + bias)).sum(0)

    def scale_of(self, z: Tensor, spread: Tensor) -> Tensor:
        """Return the layer's scale, or 1, from means and variances of z over the positions: (N, C) -> (N, 1)."""
        return self.layer_scale(spread + z.square()) if self.control == "layer_scaling" else torch.ones_like(z[:, :1])

    def layer_scale(self, squares: Tensor) -> Tensor:
        """Return 1 / sqrt(mean(z^2) + eps) over all features of each sample: (N, 1), from the means of z^2: (N, C)."""
        return (squares.mean(1, keepdim=True) + self.eps).rsqrt()


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
