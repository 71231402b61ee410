"""What must hold of a network that `convert` or `fold` has changed, found by running it before and after."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from networks import build, shape
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.utils._python_dispatch import TorchDispatchMode

from normexp.norms.base import Norm, num_outputs, weight_layers
from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.fold import Folded, fold
from normexp.norms.networks.modules import LAYERS, NORMS, is_identity, is_nonlinearity, width
from normexp.norms.networks.neighbours import PLAIN_LAYERS, pairs, readings
from normexp.norms.networks.trial import hooked

NONLINEAR = {
    "relu", "relu_", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "elu", "elu_", "gelu", "silu", "silu_",
    "mish", "hardswish", "hardswish_", "hardsigmoid", "hardsigmoid_", "sigmoid", "sigmoid_", "tanh", "tanh_",
    "softplus", "_prelu_kernel", "threshold", "clamp", "clamp_", "clamp_min", "clamp_min_", "maximum",
}  # fmt: skip
EXACT = 1e-12
BATCH = 4


@dataclass(frozen=True)
class Original:
    """An untrained network whose scales, shifts and estimates have moved from where they start, and what it does.

    Args:
        unread: parameters that get no gradient: nothing reads them.
        zero: parameters whose gradient is zero in every element.
        units: how many nonlinear functions it calls in one forward pass.
        curvature: how far from an affine map it is.
    """

    network: str
    model: nn.Module
    images: Tensor
    unread: int
    zero: int
    units: int
    curvature: float
    outputs: Tensor

    @staticmethod
    def of(network: str) -> Original:
        torch.manual_seed(0)
        model, images = build(network), torch.randn(BATCH, *shape(network))
        move(model, images)
        unread, zero = gradients(copy.deepcopy(model), images)
        outputs, units, _ = call(exactly(model), corners(images))
        return Original(network, model, images, unread, zero, units, curvature(outputs), outputs)


@torch.no_grad()
def move(model: nn.Module, images: Tensor) -> None:
    """Give normalizations values that no initialization has, and no gain a start at 0, that a deep network bears."""
    for name, parameter in model.named_parameters():
        if not name.endswith("bias") and not parameter.any():
            parameter.fill_(0.2)  # a gain that keeps every gradient behind it at zero
    for module in model.modules():
        if isinstance(module, NORMS) and isinstance(module.weight, Tensor):
            module.weight.uniform_(0.8, 1.2)
            module.bias.uniform_(-0.2, 0.2)  # type: ignore[union-attr, operator]
    model(images)


def exactly(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).double().eval()


def check_pair(original: Original, norm: Norm) -> tuple[str, dict[str, Any]]:
    """Convert the network to the scheme; return why that is refused, or nothing, and what was counted.

    A scheme whose first batch is refused gets images of twice the size.

    Raises: AssertionError for a network that is neither what it was nor left alone.
    """
    model = copy.deepcopy(original.model)
    before = fingerprint(model)
    if why := refusal(convert, model, norm):
        assert "\n" not in why, "the refusal has several lines"
        assert fingerprint(model) == before, "refused, but changed"
        return why, {}
    check_parameters(original.model, model, norm)
    images = original.images
    if refusal(check_gradients, model, norm, original, images):
        images = torch.randn(BATCH, 3, *(2 * side for side in images.shape[2:]))
        if why := refusal(check_gradients, model, norm, original, images):
            return f"first batch: {why}", {}
    model.zero_grad(set_to_none=True)
    model, points = model.double().eval(), corners(images)
    outputs, units, brought = call(model, points)
    check_units(original.units, units, brought, norm)
    if original.curvature > 1e-3:
        found = curvature(outputs)
        assert found > 1e-4, f"the network is affine: {found:.1e} from it, where it was {original.curvature:.1e}"
    counts = {"parameters": numel(model), "units": units, "brought": brought}
    return "", counts | check_fold(model, points, outputs)


def refusal(step: Callable[..., Any], *arguments: Any) -> str:
    try:
        step(*arguments)
    except ValueError as error:
        return str(error)
    return ""


def fingerprint(model: nn.Module) -> tuple[list[Any], list[Any]]:
    """Return every module with its type and mode, and every tensor with how often it was written to."""
    modules = [(name, type(module), module.training) for name, module in model.named_modules()]
    return modules, [(key, value.data_ptr(), value._version) for key, value in model.state_dict().items()]


# --- parameters


def check_parameters(before: nn.Module, after: nn.Module, norm: Norm) -> None:
    """Every parameter is that of a layer, of the scheme, or of something that convert has nothing to do with."""
    layers = weight_layers(before)
    assert [layer.weight.shape for layer in weight_layers(after)] == [layer.weight.shape for layer in layers]
    normalizations = {name: module for name, module in before.named_modules() if isinstance(module, NORMS)}
    normalizes = not isinstance(norm.normalization(64), nn.Identity)
    expected = others(before)
    for layer, converted in zip(layers, weight_layers(after), strict=True):
        hidden = layer is not layers[-1]
        expected += numel(norm.parametrize(copy.deepcopy(layer)) if hidden else layer)
        expected += change_of_bias(layer, converted, norm, adds=bool(normalizations) and not normalizes)
    for name, module in normalizations.items():
        expected += at_place(after.get_submodule(name), 0, width(module), norm)
    if not normalizations and normalizes:
        inner = [(name, layer) for name, layer in before.named_modules() if layer in layers[:-1]]
        convolutions = [(name, layer) for name, layer in inner if not isinstance(layer, nn.Linear)]
        for name, layer in convolutions or inner:
            expected += at_place(after.get_submodule(name), 1, num_outputs(layer), norm)
    assert numel(after) == expected, f"{numel(after)} parameters, of which {expected} are explained"


def others(model: nn.Module) -> int:
    """Return the number of parameters outside layers and normalizations."""
    owned = {
        id(value)
        for module in model.modules()
        if isinstance(module, (*LAYERS, *NORMS))
        for value in module._parameters.values()
    }
    return sum(value.numel() for value in model.parameters() if id(value) not in owned)


def numel(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def change_of_bias(before: Any, after: Any, norm: Norm, adds: bool) -> int:
    """Return how many biases a layer has more than it had, where the scheme explains it."""
    change = (0 if after.bias is None else after.bias.numel()) - (0 if before.bias is None else before.bias.numel())
    assert change == 0 or (norm.cancels_bias if change < 0 else adds), "a bias came or went that nothing explains"
    return change


def at_place(found: nn.Module, index: int, channels: int, norm: Norm) -> int:
    """Return how many parameters the scheme has there, with its nonlinearity or without."""
    module = found[index] if isinstance(found, nn.Sequential) else found
    fitting = (norm.normalization(channels), norm.linear_normalization(channels))
    assert (type(module), numel(module)) in [(type(made), numel(made)) for made in fitting], "not the scheme's"
    return numel(module)


# --- gradients


def gradients(model: nn.Module, images: Tensor) -> tuple[int, int]:
    """Return how many parameters get no gradient in training, and how many one of zeros, but for weights `alone`."""
    torch.manual_seed(1)
    model.train()
    for module in model.modules():
        if is_identity(module):  # dropout, stochastic depth: a branch that is dropped has no gradient
            module.eval()
    y = model(images)
    assert y.isfinite().all(), "the output is not finite"
    (y / y.detach().abs().max()).square().mean().backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    given = {name: each for name, each in found.items() if each is not None}
    assert all(each.isfinite().all() for each in given.values()), "a gradient is not finite"
    return len(found) - len(given), sum(not each.any() for name, each in given.items() if not alone(name, each))


def alone(name: str, weight: Tensor) -> bool:
    """Tell whether a weight is the only one of its unit, and its scheme takes out its length: it has no direction."""
    return "parametrizations.weight.original" in name and weight[0].numel() == 1


def check_gradients(model: nn.Module, norm: Norm, original: Original, images: Tensor) -> None:
    norm.initialize(model, images)
    unread, zero = gradients(model, images)
    assert unread <= original.unread, f"{unread} parameters are read by nothing, {original.unread} were"
    assert zero <= original.zero, f"{zero} gradients are zero, {original.zero} were"


# --- nonlinear units


class Counted(TorchDispatchMode):
    """Counts nonlinear functions: a module that is one as one, and the calls of torch's outside of those.

    Not those inside a scheme, but how many of its modules with a nonlinearity of their own are called.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.units = self.brought = self.inside = 0
        self.handles = []
        for module in model.modules():
            unit, own = is_nonlinearity(module), is_of_scheme(module)
            if unit or own:
                gate = own and has_nonlinearity(module)
                self.handles.append(module.register_forward_pre_hook(self._entering(unit and not own, gate)))
                self.handles.append(module.register_forward_hook(self._left))

    def _entering(self, unit: bool, gate: bool) -> Callable[..., None]:
        def enter(*_: Any) -> None:
            self.units += unit and not self.inside
            self.brought += gate
            self.inside += 1

        return enter

    def _left(self, *_: Any) -> None:
        self.inside -= 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.units += not self.inside and func.overloadpacket.__name__ in NONLINEAR
        return func(*args, **(kwargs or {}))


def is_of_scheme(module: nn.Module) -> bool:
    """Tell whether it is a scheme's module; one that only wraps a unit is not."""
    own = type(module).__module__.startswith("normexp.") or isinstance(module, parametrize.ParametrizationList)
    return own and not any(is_nonlinearity(child) for child in module.children())


def has_nonlinearity(module: nn.Module) -> bool:
    """Tell whether a scheme's module takes the place of an activation: EvoNorm's gates, FRN's thresholds."""
    gated = type(module).__module__.startswith("normexp.norms.evonorm")
    return gated or isinstance(getattr(module, "threshold", None), nn.Parameter)


@torch.no_grad()
def call(model: nn.Module, points: Tensor) -> tuple[Tensor, int, int]:
    """Return the outputs, how many nonlinear units were called, and how many of the scheme's own."""
    counted = Counted(model)
    with hooked(counted.handles), counted:
        outputs = model(points)
    return outputs, counted.units, counted.brought


def check_units(before: int, after: int, brought: int, norm: Norm) -> None:
    replaces = isinstance(norm.nonlinearity(nn.ReLU()), nn.Identity)
    assert replaces or not brought, "the scheme brings nonlinear units, and does not say that it replaces any"
    assert after + brought == before, f"{after} nonlinear units and {brought} of the scheme, where there were {before}"


def corners(images: Tensor) -> Tensor:
    """Return a + b, a, b and 0 for two images."""
    a, b = images[:2].double()
    return torch.stack([a + b, a, b, 0 * a])


def curvature(outputs: Tensor) -> float:
    """Return how far a network's outputs for `corners` are from those of an affine map, relative to their values."""
    whole, first, second, zero = outputs
    return float((whole - first - second + zero).abs().max() / (whole - zero).abs().max())


# --- fold


@torch.no_grad()
def check_fold(model: nn.Module, points: Tensor, expected: Tensor) -> dict[str, Any]:
    """Fold in place; return how many normalizations went and stayed, and the error relative to the largest value."""
    before, original = fingerprint(model), copy.deepcopy(model)
    why = refusal(fold, model)
    assert not why or fingerprint(model) == before, "fold refused, but changed the network"
    folded = sum(isinstance(module, Folded) for module in model.modules())
    left = sum(isinstance(module, NORMS) for module in model.modules())
    error = float((model(points) - expected).abs().max() / expected.abs().max()) if folded else 0.0
    if error > EXACT:
        check_layers(original, model, points)
        beyond = ((model(points) - expected).abs() > of_roundings(model, points)).sum()
        assert not beyond, f"the folded network is off by {error:.1e}, {beyond} outputs by more than its roundings make"
    return {"folded": folded, "unfolded": left, "error": error, "not_folded": why}


def check_layers(original: nn.Module, model: nn.Module, points: Tensor) -> None:
    """Check that every folded layer alone, given what it is given in the original, is its pair but for rounding."""
    for layer, norm in pairs(original, readings(original)):
        if isinstance(model.get_submodule(norm), Folded):
            given, found = through(original, layer, norm, points)
            folded = model.get_submodule(layer)
            exact = (folded(given) - found).abs() <= of_layer(folded, given)
            assert exact.all(), f"{layer} with {norm} folded is another map"


@torch.no_grad()
def of_layer(layer: nn.Module, given: Tensor) -> Tensor:
    """Return how far a folded layer may be from its pair, which it is but for rounding.

    A sum of k products is off by at most k u times the sum of their sizes, u = eps / 2 (Higham 2002, section 3.1). The
    pair has such a sum and the few roundings of a normalization, the folded layer such a sum and weights that were
    rounded twice: |difference| <= (2 k + 16) u (|W| |x| + |b|), with the folded weights W and shift b.
    """
    sizes, products = copy.deepcopy(layer), layer.weight[0].numel()  # type: ignore[union-attr, operator]
    sizes._forward_hooks.clear()
    for parameter in sizes.parameters():
        parameter.abs_()
    return (2 * products + 16) * torch.finfo(torch.double).eps / 2 * sizes(given.abs())


def of_roundings(model: nn.Module, points: Tensor) -> Tensor:
    """Return how far every output may be off because of what its layers round, to first order.

    The sum over all layers' outputs y of |d output / d y| times the bound `of_layer` of y: errors pass through the
    layers behind by their gradients, and in the worst case no two of them cancel.
    """
    made, bounds = [], []

    def note(layer: nn.Module, given: tuple[Tensor], result: Tensor) -> Tensor:
        made.append(result)
        bounds.append(of_layer(layer, given[0]))
        return result.clone()  # an activation in place leaves the layer's own output as it is

    hooks = (layer.register_forward_hook(note) for layer in model.modules() if type(layer) in PLAIN_LAYERS)
    with torch.enable_grad(), hooked(hooks):
        outputs = model.requires_grad_()(points)
        each = outputs.flatten().unbind()
    worst = []
    for output in each:
        gradients = torch.autograd.grad(output, made, retain_graph=True, materialize_grads=True)
        worst.append(sum((g.abs() * b).sum() for g, b in zip(gradients, bounds, strict=True)))
    return torch.stack(worst).view_as(outputs)


def through(model: nn.Module, first: str, last: str, points: Tensor) -> tuple[Tensor, Tensor]:
    """Return what the first module is given, and what the last one makes of it."""
    seen: list[Tensor] = []
    hooks = (
        model.get_submodule(first).register_forward_pre_hook(lambda _, given: seen.append(given[0].clone())),
        model.get_submodule(last).register_forward_hook(lambda _, given, made: seen.append(made.clone())),
    )
    with hooked(hooks):
        model(points)
    given, made = seen
    return given, made


# --- batch normalization in its own place


def check_batch_for_batch(original: Original) -> str:
    """Put batch normalization with its own settings in place of itself: nothing may change, in either mode."""
    model = copy.deepcopy(original.model).double()
    found = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    if not found or any(isinstance(module, nn.GroupNorm) for module in model.modules()):
        return "not batch-normalized"
    for module in found:  # the scheme has one eps and one momentum for all
        module.eps, module.momentum = 1e-5, 0.1
    converted = copy.deepcopy(model)
    if why := refusal(convert, converted, BatchNorm(eps=1e-5, momentum=0.1)):
        return why
    for mode in (True, False):
        outputs = []
        for each in (model, converted):
            torch.manual_seed(2)
            outputs.append(each.train(mode)(original.images.double()).detach())
        close = torch.allclose(*outputs, rtol=1e-10, atol=1e-10 * float(outputs[0].abs().max()))
        assert close, f"batch in place of batch normalization changes the function, training={mode}"
    return ""
