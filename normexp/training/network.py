"""The network that a configuration names: ours or the user's own takes the scheme; any other module is converted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.weak import WeakIdKeyDictionary

from normexp.config import Config
from normexp.config.instantiate import instantiate_part, locate
from normexp.config.options import usual_options
from normexp.errors import UserError
from normexp.models.placements.base import Placement
from normexp.norms.base import Norm
from normexp.norms.convert import WAY_OUT, planned
from normexp.norms.networks.carrying_out import carry_out
from normexp.norms.networks.whole import LAZY, has_lazy_layers
from normexp.training.taken_out import normalizations

OUTPUTS = ("num_outputs", "num_classes", "n_classes")  # what networks call the size of their output
# What runs of this process were given: networks, the modules in them that have numbers, and their parameters, which are
# known by where their numbers lie as well: one tensor may be made several.
_TAKEN = WeakIdKeyDictionary()
_WEIGHTS: set[StorageWeakRef] = set()


def make_model(config: Config, norm: Norm, input_shape: Sequence[int], num_outputs: int) -> nn.Module:
    """Build the network that a configuration names.

    Ours, and one of the user's own with a parameter `norm`, take the scheme themselves. Any other torch module is
    converted (`normexp.convert`) and keeps the initial weights that it has.

    Raises: UserError where it is no module, cannot be converted, or would not get the placement that was chosen.
    """
    node = config["model"]
    parameters = inspect.signature(_callable(config)).parameters
    _check_placement(config, parameters)
    taken = _given_by_us(parameters, node, input_shape, num_outputs)
    if "norm" in parameters:
        if "placement" in parameters and "placement" not in node:
            taken["placement"] = instantiate_part(config, "placement", Placement)
        network = instantiate_part(config, "model", nn.Module, **taken, norm=norm)
        if has_lazy_layers(network):
            raise UserError(f"{config.chosen('model', 'norm')}: {LAZY}")
        _take(config, network)
        return network
    return _converted(config, instantiate_part(config, "model", nn.Module, **taken), norm)


def _converted(config: Config, network: nn.Module, norm: Norm) -> nn.Module:
    """Put the scheme into a network that does not take it. Raises UserError where that cannot be."""
    _check_new(config, network)
    had = normalizations(network)
    try:
        converted = carry_out(planned(network, norm))  # without a place for the scheme, too: `ignored_norm` says so
    except ValueError as error:
        reason = str(error).removesuffix(f"; {WAY_OUT}")  # which code alone can go, no configuration
        own = config["model"]["_target_"]
        raise UserError(f"model={own}: {reason}; let it take the scheme by a parameter `norm`") from None
    converted.keeps_initialization = True  # type: ignore[assignment]
    converted.had_normalizations = had  # type: ignore[assignment]
    _take(config, converted)
    return converted


def _check_placement(config: Config, parameters: Mapping[str, inspect.Parameter]) -> None:
    """Raise UserError where a placement was chosen that the network has no parameters for."""
    chosen = config.choices["placement"]
    lacking = [name for name in ("norm", "placement") if name not in parameters]
    if lacking and chosen != usual_options()["placement"]:
        what = f"no parameter{'s' * (len(lacking) - 1)} {' and '.join(lacking)}"
        raise UserError(f"placement={chosen}: model={config['model']['_target_']} has {what}, which would take it")


def _check_new(config: Config, network: nn.Module) -> None:
    """Raise UserError for what was built for another run in this process, and has its weights or estimates."""
    chosen = config.chosen("model", "norm")
    if network in _TAKEN:
        model = config["model"]["_target_"]
        raise UserError(f"model={model}: returns the network that it returned before; build a new one at every call")
    if kept := next((name for name, module in network.named_modules() if module in _TAKEN), None):
        kind = type(network.get_submodule(kept)).__name__
        raise UserError(f"{chosen}: {kept} ({kind}) is of a network built before; make a new one at every call")
    kept = next((name for name, each in network.named_parameters() if each in _TAKEN or _where(each) in _WEIGHTS), None)
    if kept is not None:
        raise UserError(f"{chosen}: the parameter {kept} is of a network built before; make it at every call")


def _take(config: Config, network: nn.Module) -> None:
    """Note what a run has that no other may: the network, every module in it with numbers of its own, and these."""
    _check_new(config, network)
    parts = (module for module in network.modules() if module._parameters or module._buffers)
    _TAKEN.update(dict.fromkeys([network, *parts, *network.parameters()]))
    _WEIGHTS.difference_update([where for where in _WEIGHTS if where.expired()])
    _WEIGHTS.update(map(_where, network.parameters()))


def _where(parameter: nn.Parameter) -> StorageWeakRef:
    return StorageWeakRef(parameter.untyped_storage())


def _callable(config: Config) -> Callable[..., Any]:
    target = config["model"]["_target_"]
    found = locate(target, config["plugins"])
    check_not_built(target, found)
    try:
        inspect.signature(found)
    except (TypeError, ValueError):
        raise UserError(f"{target}: is neither a class nor a function that builds a network") from None
    return found


def check_not_built(name: str, found: object) -> None:
    """Raise UserError where a name is that of a network: it would go on with the weights that somebody else left."""
    if isinstance(found, nn.Module):
        raise UserError(f"{name}: is a network that is built already; name its class, or a function that returns it")


def _given_by_us(
    parameters: Mapping[str, inspect.Parameter], node: Mapping[str, Any], input_shape: Sequence[int], num_outputs: int
) -> dict[str, Any]:
    """Return what the data decide, as far as the network has a parameter for it that nobody gave."""
    known = {"input_shape": tuple(input_shape), "in_channels": input_shape[0], **dict.fromkeys(OUTPUTS, num_outputs)}
    return {name: value for name, value in known.items() if name in parameters and name not in node}
