"""Any classification network of torchvision, under any scheme, with a stem that fits small images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from normexp.config.hints import no_such_network
from normexp.errors import UserError
from normexp.models.pretrained import load_pretrained
from normexp.norms.base import Norm, weight_layers
from normexp.norms.convert import convert
from normexp.norms.networks.effect import Effect
from normexp.norms.networks.replacement import swap

SMALL = 64  # images below this side get the CIFAR stem: an ImageNet stem shrinks them fourfold at once


def torchvision_model(
    input_shape: Sequence[int],
    num_outputs: int,
    norm: Norm,
    name: str = "resnet18",
    weights: str | None = None,
    normalize_output: bool = False,
) -> nn.Module:
    """Build torchvision's network `name` for these images and classes, with its norm replaced.

    Below 64 pixels the first strided convolution becomes a 3 x 3 one of stride 1 and the max pool of the stem
    (kernel 3, stride 2) disappears, as is usual for CIFAR; not where the network was trained before.

    Args:
        weights: torchvision's name of the weights that it was trained to; None: it begins untrained.

    Raises:
        UserError: if torchvision has no such classification network or weights, or it does not take these images; if
            the scheme does nothing to the output layer that it should normalize.
        ValueError: if it cannot be converted.
    """
    network = _untrained(name, input_shape, num_outputs)
    if weights is not None:
        load_pretrained(network, name, weights, _options(name, input_shape), num_outputs)
    elif min(input_shape[1:]) < SMALL:
        _use_small_stem(network)
    if normalize_output and _leaves_output(network, norm):
        scheme = type(norm).__name__
        raise UserError(
            f"model.normalize_output=true with model.name={name}: {scheme} leaves its last layer as it is; leave it out"
        )
    converted = convert(network, norm, output=normalize_output)
    converted.keeps_initialization = True  # type: ignore[assignment]  # torchvision's own, see normexp.training.build
    converted.pretrained = weights is not None  # type: ignore[assignment]
    return converted


def _untrained(name: str, input_shape: Sequence[int], num_outputs: int) -> nn.Module:
    """Build torchvision's network for these images and classes. Raises UserError where there is none."""
    from torchvision import models

    names = models.list_models(module=models)
    if name not in names:
        raise UserError(no_such_network(name, names))
    try:
        network = models.get_model(name, weights=None, num_classes=num_outputs, **_options(name, input_shape))
    except AssertionError as why:  # torchvision checks the image size so
        size = " x ".join(map(str, input_shape[1:]))
        raise UserError(f"model.name={name} takes no images of {size} pixels: {why}") from why
    _fit_channels(network, input_shape[0])
    return network


def _leaves_output(network: nn.Module, norm: Norm) -> bool:
    """Tell whether a scheme does nothing to the last layer: one on activations stands behind convolutions alone."""
    effect = Effect.of(norm)
    return effect.normalizes and not effect.sets_weights and isinstance(weight_layers(network)[-1], nn.Linear)


def _options(name: str, input_shape: Sequence[int]) -> dict[str, object]:
    """Return what this network's constructor needs: the image size, or no auxiliary heads."""
    if name.startswith("vit_"):
        return {"image_size": input_shape[1]}
    if name in ("googlenet", "inception_v3"):
        return {"aux_logits": False, "init_weights": True}
    return {}


def _fit_channels(network: nn.Module, channels: int) -> None:
    first = _first_conv(network)
    if first.in_channels != channels:
        swap(network, {first: _conv_like(first, in_channels=channels)})
    if hasattr(network, "transform_input"):
        network.transform_input = False  # type: ignore[assignment]  # expects three ImageNet channels


def _use_small_stem(network: nn.Module) -> None:
    first = _first_conv(network)
    if first.stride == (2, 2) and first.kernel_size[0] in (3, 7):
        swap(network, {first: _conv_like(first, kernel_size=3, stride=1, padding=1)})
    for module in network.modules():
        if isinstance(module, nn.MaxPool2d) and module.kernel_size == 3 and module.stride == 2:
            swap(network, {module: nn.Identity()})
            return


def _first_conv(network: nn.Module) -> nn.Conv2d:
    return next(layer for layer in weight_layers(network) if isinstance(layer, nn.Conv2d))


def _conv_like(conv: nn.Conv2d, **changes: Any) -> nn.Conv2d:
    kept = {name: getattr(conv, name) for name in ("in_channels", "out_channels", "kernel_size", "stride", "padding")}
    return nn.Conv2d(**{**kept, "bias": conv.bias is not None, **changes})
