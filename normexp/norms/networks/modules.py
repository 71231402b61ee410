"""What a module of somebody else's network is: found by its exact type, or by calling it, never by its name alone."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normexp.norms.base import num_outputs
from normexp.norms.kernels.batched import AnyRankBatchNorm

BATCH_OR_INSTANCE = nn.modules.batchnorm._NormBase
NORMS = (BATCH_OR_INSTANCE, nn.GroupNorm)
LAYERS = (nn.Linear, nn.modules.conv._ConvNd)
TORCHS = (
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.GroupNorm,
)  # fmt: skip
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
GRID = torch.linspace(-8, 8, 161, dtype=torch.double, device="cpu")  # wherever this is imported first
SIZES = ((6, 5), (), (7,), (3, 2, 2))  # of maps, vectors, sequences and volumes, behind their channels
CLOSE = 1e-9


def has_layers(module: nn.Module) -> bool:
    """Tell whether there is something in a module that a scheme would change."""
    return any(isinstance(part, (*LAYERS, *NORMS)) for part in module.modules())


def touched(module: nn.Module) -> bool:
    """Tell whether hooks, or methods of its own, were put on this one module, whatever its type does."""
    own = any(callable(value) and hasattr(type(module), name) for name, value in vars(module).items())
    return own or any(getattr(module, name) for name in HOOKS)


def is_shared(parameter: object, model: nn.Module) -> bool:
    """Tell whether a parameter stands in more than one place of a network."""
    return sum(parameter is value for module in model.modules() for value in module._parameters.values()) > 1


def lost_with(module: nn.Module, model: nn.Module) -> str:
    """Return what another module in the place of this one would not have, whatever it computes."""
    if touched(module):
        return "has hooks, or a forward that was put on it, which would be lost"
    shared = any(is_shared(parameter, model) for parameter in module.parameters())
    return "shares its weight with another module, which would have one of its own" if shared else ""


@torch.no_grad()
def is_linear_in_weight(layer: Any) -> bool:
    """Tell whether the layer's output is linear in its weight: it uses that as it is, whatever else it does.

    A layer that standardizes its weight itself does not, one that pads its input its own way does.
    """
    if type(layer).__module__.startswith("torch.nn.modules."):
        return True
    exact: Any = on_cpu(layer).eval()
    exact.bias = None
    x, source = example(layer), torch.Generator().manual_seed(1)
    first, second = (torch.randn(exact.weight.shape, dtype=torch.double, generator=source) for _ in range(2))
    outputs = []
    for weight in (first, second, first + second):
        exact.weight.copy_(weight)
        outputs.append(exact(x))
    return torch.allclose(outputs[0] + outputs[1], outputs[2], rtol=CLOSE, atol=CLOSE)


@torch.no_grad()
def adds_bias(layer: Any) -> bool:
    """Tell whether a bias is what the layer adds to every channel, so that it can be given one or do without.

    A layer whose own forward leaves the bias out, or adds it twice, does not; nor one that computes its bias.
    """
    computed = list(layer.parametrizations) if parametrize.is_parametrized(layer) else []
    kind = type(layer).__bases__[0] if computed else type(layer)
    if "bias" in computed or kind.__module__.startswith("torch.nn.modules."):
        return "bias" not in computed and "bias" in layer._parameters  # a pruned one is computed before every call
    x, bias = example(layer), torch.arange(1.0, num_outputs(layer) + 1, dtype=torch.double)
    try:
        exact: Any = on_cpu(layer).eval()
        exact.bias = None
        without = exact(x)
        exact.bias = nn.Parameter(bias)
        added = exact(x) - without
    except Exception:  # a forward of its own may need a bias, or another input
        return False
    by_channel = bias if isinstance(layer, nn.Linear) else bias.view(-1, *[1] * (without.dim() - 2))
    return torch.allclose(added, by_channel.expand_as(added), rtol=CLOSE, atol=CLOSE)


def example(layer: Any) -> Tensor:
    """Return two examples of what a Linear or Conv layer takes, in float64, larger than its kernel."""
    source = torch.Generator().manual_seed(0)
    if isinstance(layer, nn.Linear):
        return torch.randn(2, layer.in_features, dtype=torch.double, generator=source)
    sizes = [d * (k - 1) + 5 for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
    return torch.randn(2, layer.in_channels, *sizes, dtype=torch.double, generator=source)


def fused_tail(norm: nn.Module) -> list[nn.Module] | None:
    """Return what a normalization applies after normalizing: [] for a plain one, its drop and act for a fused one.

    None if it computes something else than torch's normalization followed by its children in order.
    """
    if type(norm) in (*TORCHS, AnyRankBatchNorm):
        return []
    tail = list(norm.children())
    exact: Any = on_cpu(norm)
    for shape in ((4, width(norm), 3, 2), (4, width(norm), 3), (4, width(norm), 3, 2, 2)):
        x = torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(0))
        try:
            same = all(agrees(exact.train(mode), x) for mode in (False, True))
        except (ValueError, RuntimeError, IndexError, TypeError, AttributeError):
            continue  # takes other ranks
        return tail if same else None
    return None


def agrees(exact: Any, x: Tensor) -> bool:
    """Tell whether the module's output is that of torch's normalization followed by its children in order."""
    first, second = copy.deepcopy(exact), copy.deepcopy(exact)
    if isinstance(exact, nn.GroupNorm):
        y = nn.functional.group_norm(x, exact.num_groups, exact.weight, exact.bias, exact.eps)
    elif isinstance(exact, nn.modules.instancenorm._InstanceNorm):
        y = nn.modules.instancenorm._InstanceNorm.forward(second, x)
    else:
        y = nn.modules.batchnorm._BatchNorm.forward(second, x)
    for child in second.children():
        y = child(y)
    found: Tensor = first(x)
    return found.shape == y.shape and torch.allclose(found, y, rtol=CLOSE, atol=CLOSE)


@torch.no_grad()
def on_cpu(module: nn.Module) -> nn.Module:
    """Return a copy in float64 on the CPU with parameters and estimates that no term of a formula hides behind."""
    made = copy.deepcopy(module).to_empty(device="cpu").double()
    source = torch.Generator().manual_seed(1)
    for value in [*made.parameters(), *made.buffers()]:
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape, generator=source, dtype=torch.double) + 0.5)
        else:
            value.zero_()
    return made


@torch.no_grad()
def ignores_scale(module: nn.Module) -> bool:
    """Tell whether twice the input gives the same output, as behind a normalization without parameters."""
    exact: Any = on_cpu(module).eval()
    x = torch.randn(2, 8, 3, 3, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    try:
        return torch.allclose(exact(x), exact(2 * x), rtol=1e-3)
    except Exception:  # takes other inputs, or is no function of tensors at all
        return False


@torch.no_grad()
def standardizes(module: nn.Module) -> bool:
    """Tell whether a class of somebody's own normalizes in training, whatever its name: twice the input is as good.

    Another input does, and the output has its shape. What treats every value alone (a sign) is no normalization. Its
    channels are the sizes of the vectors that it keeps.
    """
    if type(module).__module__.startswith("torch.nn.") or has_layers(module) or curve(module) is not None:
        return False
    kept = [value.shape for value in [*module.parameters(), *module.buffers()] if value.numel() > 1]
    channels = {max(shape) for shape in kept if max(shape) == shape.numel()} or {8}
    return any(_ignores_scale_in_training(module, (4, c, *sizes)) for c in channels for sizes in SIZES)


def _ignores_scale_in_training(module: nn.Module, shape: tuple[int, ...]) -> bool:
    x, other = torch.randn(2, *shape, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    exact: Any = on_cpu(module).train()
    try:
        y, twice, changed = (copy.deepcopy(exact)(each) for each in (x, 2 * x, other))
    except Exception:  # takes other inputs, or is no function of tensors at all
        return False
    same = isinstance(y, Tensor) and y.shape == shape and torch.allclose(y, twice, rtol=1e-3, atol=1e-3)
    return same and not torch.allclose(y, changed, rtol=1e-3, atol=1e-3)


def width(norm: nn.Module) -> int:
    """Return C of a normalization layer."""
    channels = norm.num_channels if isinstance(norm, nn.GroupNorm) else norm.num_features
    return int(channels)  # type: ignore[arg-type]


def curve(module: nn.Module) -> Tensor | None:
    """Return the module's values on `GRID` in evaluation if it is a function of each value alone; else None."""
    if any(True for _ in module.children()) or isinstance(module, (*LAYERS, *NORMS)):
        return None
    order = torch.randperm(len(GRID), generator=torch.Generator().manual_seed(0), device="cpu")
    try:
        learns = any(True for _ in module.parameters())
        exact: Any = (on_cpu(module) if learns else copy.deepcopy(module)).eval()
        plain, mixed = (exact(x.clone().view(1, -1, 1, 1)) for x in (GRID, GRID[order]))
    except Exception:  # takes other inputs, or is no function of tensors at all
        return None
    if not isinstance(plain, Tensor) or plain.shape != (1, len(GRID), 1, 1):
        return None
    return plain.detach().flatten() if torch.equal(plain.flatten()[order], mixed.flatten()) else None


def is_identity(module: nn.Module) -> bool:
    """Tell whether the module passes every value on in evaluation: nn.Identity, dropout, stochastic depth."""
    values = curve(module)
    return values is not None and torch.equal(values.to(GRID.dtype), GRID)


def is_nonlinearity(module: nn.Module) -> bool:
    """Tell whether the module is an activation function: of each value alone, not affine, and no gate."""
    if isinstance(module, nn.PReLU):
        return True  # also one with a slope for every channel, which is no function of the value alone
    values = curve(module)
    return values is not None and not is_affine(values) and not is_gate(values)


def is_affine(values: Tensor) -> bool:
    return bool(values.diff(n=2).abs().max() < CLOSE)


def is_gate(values: Tensor) -> bool:
    """Tell whether the values rise from 0 to 1, as a sigmoid's, which multiplies something else."""
    return bool(values.min() >= 0 and values.max() <= 1 and values[0] < 0.01 and values[-1] > 0.99)
