"""Tests run over every file in configs/norm: a new scheme is tested by existing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

CONFIGS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((Path(__file__).parents[2] / "configs/norm").glob("*.yaml"))
}
CHANNELS = 64  # two channels per group with the default 32 groups
SHAPES = [(4, CHANNELS), (2, CHANNELS, 5), (2, CHANNELS, 3, 2)]


def instantiate(node: Mapping[str, Any], **changes: Any) -> Any:
    """Build what a YAML node names, without its description keys, nested nodes first."""
    module, _, name = node["_target_"].rpartition(".")
    options = {key: value for key, value in node.items() if not key.startswith("_")} | changes
    nested = {key: instantiate(value) for key, value in options.items() if isinstance(value, Mapping)}
    return getattr(import_module(module), name)(**{**options, **nested})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `scheme` by the configs, and `shape` beside it by the shapes that the scheme can take."""
    if {"scheme", "shape"} <= set(metafunc.fixturenames):
        cases = [(name, shape) for name in CONFIGS for shape in SHAPES if accepts(name, shape)]
        metafunc.parametrize(("scheme", "shape"), cases)
    elif "scheme" in metafunc.fixturenames:
        metafunc.parametrize("scheme", CONFIGS)


def accepts(name: str, shape: tuple[int, ...]) -> bool:
    return len(shape) > 2 or CONFIGS[name].get("_needs_") != "maps"


@pytest.fixture(autouse=True)
def _one_thread_one_seed() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture
def norm(scheme: str) -> Any:
    return instantiate(CONFIGS[scheme])


def randomize(module: torch.nn.Module) -> torch.nn.Module:
    """Give every parameter values at which no term of a gradient vanishes."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(0.5, 1.5)
    return module
