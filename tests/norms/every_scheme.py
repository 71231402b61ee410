"""Every file in configs/norm, what builds its scheme, and its formula: what the tests of this folder share."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import reference
import torch
import yaml

from normexp.config.instantiate import instantiate as built
from normexp.config.options import without_descriptions

CONFIGS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((Path(__file__).parents[2] / "configs/norm").glob("*.yaml"))
}
# Options for test files with SMALL_BATCHES, under which a few values per channel show what a scheme does: more
# than one chunk, and groups of channels that are smaller than the batch.
TESTED_WITH: dict[str, dict[str, Any]] = {"ghost_batch": {"chunk_size": 2}, "decorrelated": {"group_size": 2}}
CHANNELS = 64  # two channels per group with the default 32 groups
SHAPES = [(4, CHANNELS), (2, CHANNELS, 5), (2, CHANNELS, 3, 2)]


def instantiate(node: Mapping[str, Any], **changes: Any) -> Any:
    """Build what a YAML node names, without its description keys."""
    return built({**without_descriptions(node), **changes})


def normalizes(name: str) -> bool:
    """Tell whether the scheme has a module for pre-activations; the formulae say so, not the scheme itself."""
    return reference.ACTIVATIONS.get(name) is not reference.NoNorm


ON_ACTIVATIONS = [name for name in CONFIGS if normalizes(name)]


def accepts(name: str, shape: tuple[int, ...]) -> bool:
    return len(shape) > 2 or CONFIGS[name].get("_needs_") != "maps"


def has_formula(name: str) -> bool:
    return name in reference.ACTIVATIONS or (Path(__file__).parent / "references" / f"{name}.py").exists()


def formula(name: str, module: torch.nn.Module | None = None) -> Any:
    """Return the scheme's reference, with the module's parameters other than weight and bias, if one is given."""
    kind = reference.ACTIVATIONS.get(name) or import_module(f"references.{name}").Formula
    made = kind({**CONFIGS[name], **TESTED_WITH.get(name, {})})
    if module is not None:
        made.parameters = {
            key: value.detach().numpy().copy()
            for key, value in module.named_parameters()
            if key not in ("weight", "bias")
        }
    return made


def randomize(module: torch.nn.Module) -> torch.nn.Module:
    """Give every parameter values at which no term of a gradient vanishes."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(0.5, 1.5)
    return module
