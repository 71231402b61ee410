"""What `norm=none` takes out of a network of the user's own: as any scheme, it takes the place of what is there."""

from __future__ import annotations

from torch import nn

from normexp.config import Config
from normexp.config.text import amount
from normexp.norms.networks.modules import NORMS
from normexp.norms.networks.torch_weights import schemes_of_torch
from normexp.training.components import Components


def normalizations(network: nn.Module) -> list[str]:
    """Return what kind each normalization of a network is that a conversion takes out: BatchNorm2d, weight_norm."""
    found = [type(module).__name__ for module in network.modules() if isinstance(module, NORMS)]
    return found + [scheme for module in network.modules() for _, scheme in schemes_of_torch(module)]


def taken_out(config: Config, components: Components) -> str:
    """Say in one line that `norm=none`, which is the default, has taken normalizations out; empty where there is none.

    A network that has them has them for a reason, and without a word a run of it would train another.
    """
    had = getattr(components.model, "had_normalizations", [])
    if config.choices["norm"] != "none" or not had:
        return ""
    told = f"norm=none takes out its {amount(len(had), 'normalization')} ({', '.join(dict.fromkeys(had))})"
    batch = all(kind in ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d") for kind in had)
    instead = "norm=batch has batch normalization there" if batch else "norm=NAME puts that scheme there"
    return f"model={config.choices['model']}: {told}; {instead}"
