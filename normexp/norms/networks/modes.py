"""Which modules of a network a `train()` of somebody's own keeps in training or in evaluation."""

from __future__ import annotations

from torch import nn

from normexp.norms.networks.dataflow import copied
from normexp.norms.networks.readers import in_place


def odd_modes(model: nn.Module, new: dict[nn.Module, nn.Module]) -> set[nn.Module]:
    """Return the modules that `train()` and `eval()` of the network would leave in another mode than `new[module]`.

    A subclass may freeze itself, or the network those that it knows by their type; what replaces them would then train.
    """
    names = {name: new[module] for name, module in model.named_modules(remove_duplicate=False) if module in new}
    was, becomes = (_modes(trial, names) for trial in (copied(model), in_place(model, names)))
    return {model.get_submodule(name) for name in names if was[name] != becomes[name]}


def _modes(trial: nn.Module, names: dict[str, nn.Module]) -> dict[str, list[bool]]:
    """Return whether each module trains after `train()`, and after `eval()`."""
    modes = [{name: trial.get_submodule(name).training for name in names} for _ in map(trial.train, (True, False))]
    return {name: [mode[name] for mode in modes] for name in names}
