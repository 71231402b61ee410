"""The networks of stacked runs, layer by layer: what a multilayer perceptron is made of, written out for many runs.

`torch.vmap` has a rule for every operator; those for linear layers and batch statistics copy what they read and what
they return, and every rule costs time in Python. Layers that are not written out here are called under vmap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from normexp.models import MLP, Linear
from normexp.models.activations import ACTIVATIONS
from normexp.norms.kernels.batched import AnyRankBatchNorm, as_biased, check_batch

Tensors = dict[str, Tensor]  # by their name in the network, the runs first
CHAINS = (Linear, MLP)  # they flatten their input and call their children in order
ELEMENTWISE = tuple(ACTIVATIONS.values())


class Layer(NamedTuple):
    """One layer with its parameters and buffers of all runs, under the names that they have in it."""

    module: nn.Module
    parameters: Tensors
    buffers: Tensors


def chain(model: nn.Module, parameters: Tensors, buffers: Tensors) -> list[Layer] | None:
    """Return the layers that a network calls one after the other on its flattened input, None where it is no chain."""
    if type(model) not in CHAINS:
        return None
    return [Layer(module, _below(prefix, parameters), _below(prefix, buffers)) for prefix, module in _layers(model, "")]


def _below(prefix: str, tensors: Tensors) -> Tensors:
    return {name.removeprefix(prefix): each for name, each in tensors.items() if name.startswith(prefix)}


def _layers(parent: nn.Module, prefix: str) -> Iterator[tuple[str, nn.Module]]:
    for name, module in parent.named_children():
        if type(module) is nn.Sequential:
            yield from _layers(module, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}.", module


def call(layers: list[Layer], x: Tensor) -> Tensor:
    """Return the outputs (K, N, *) of K runs for x: (K, N, *)."""
    x = x.flatten(2)
    for layer in layers:
        x = _layer(*layer, x)
    return x


def _layer(layer: nn.Module, parameters: Tensors, buffers: Tensors, x: Tensor) -> Tensor:
    if type(layer) is nn.Linear:
        return LinearOfRows.apply(x, parameters["weight"], parameters.get("bias"))
    if type(layer) in ELEMENTWISE:
        return layer(x)
    if type(layer) is AnyRankBatchNorm and layer.training and layer.momentum is not None:
        check_batch(x[0], "batch normalization")
        buffers["num_batches_tracked"].add_(1)
        weight, eps, estimates = parameters.get("weight"), layer.eps, (buffers["running_mean"], buffers["running_var"])
        if layer.unbiased:
            weight, eps = as_biased(weight, eps, x.shape[1], like=estimates[0])
        return BatchNormOfRows.apply(x, weight, parameters.get("bias"), *estimates, layer.momentum, eps)
    if type(layer) is AnyRankBatchNorm and not layer.training and layer.affine and layer.track_running_stats:
        scale = parameters["weight"] * (buffers["running_var"] + layer.eps).rsqrt()
        shift = parameters["bias"] - buffers["running_mean"] * scale
        return torch.addcmul(shift.unsqueeze(1), x, scale.unsqueeze(1))

    def alone(parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(layer, (parameters, buffers), (x,))

    return vmap(alone)(parameters, buffers, x)


class LinearOfRows(torch.autograd.Function):
    """x: (K, N, I), weight: (K, O, I), bias: (K, O) or None -> (K, N, O).

    The gradient of a weight is computed in the weight's own layout: autograd's is its transpose, which is then copied.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight.mT) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight.mT)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,), (x, weight), wanted = grads, ctx.saved_tensors, ctx.needs_input_grad
        return (
            torch.bmm(grad, weight) if wanted[0] else None,
            torch.bmm(grad.mT, x) if wanted[1] else None,
            grad.sum(1) if wanted[2] else None,
        )


class BatchNormOfRows(torch.autograd.Function):
    """x: (K, N, C) -> weight (x - mean) / sqrt(var + eps) + bias, with every run's own statistics over N.

    weight and bias are (K, C) or None. Moves the running estimates (K, C) as torch's batch normalization does. The
    variance is that of centered values, so that no offset costs accuracy.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, *others: Any) -> Tensor:
        running_mean, running_var, momentum, eps = others
        mean, count = x.mean(1, keepdim=True), x.shape[1]
        centered = x - mean
        var = centered.square().mean(1, keepdim=True)
        running_mean.lerp_(mean.squeeze(1), momentum)
        running_var.lerp_(var.squeeze(1) * (count / (count - 1)), momentum)
        rstd = (var + eps).rsqrt()
        scale = rstd if weight is None else rstd * weight.unsqueeze(1)
        ctx.save_for_backward(centered, rstd, scale)
        return centered * scale if bias is None else torch.addcmul(bias.unsqueeze(1), centered, scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,), (centered, rstd, scale) = grads, ctx.saved_tensors
        count, shift, along = grad.shape[1], grad.sum(1, keepdim=True), (grad * centered).sum(1, keepdim=True)
        # scale (grad - mean of grad - normalized (mean of grad normalized)), in two passes
        slope = scale * rstd.square() * along / -count
        x = torch.addcmul(scale * shift / -count, centered, slope).addcmul_(grad, scale)
        weight, bias = (along * rstd).squeeze(1), shift.squeeze(1)
        wanted = ctx.needs_input_grad
        return x, weight if wanted[1] else None, bias if wanted[2] else None, None, None, None, None
