"""Tests run over every file in configs/norm: a new scheme is tested by existing."""

from typing import Any

import pytest
from every_scheme import CONFIGS, ON_ACTIVATIONS, SHAPES, TESTED_WITH, accepts, instantiate


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `scheme` by the configs; with `shape`, by those that normalize, and the shapes that they take."""
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    own = {name for names in given for name in ([names] if isinstance(names, str) else names)}
    if {"scheme", "shape"} <= set(metafunc.fixturenames):
        cases = [(name, shape) for name in ON_ACTIVATIONS for shape in SHAPES if accepts(name, shape)]
        metafunc.parametrize(("scheme", "shape"), cases)
    elif "scheme" in metafunc.fixturenames and "scheme" not in own:
        metafunc.parametrize("scheme", CONFIGS)


@pytest.fixture
def norm(scheme: str, request: pytest.FixtureRequest) -> Any:
    small = getattr(request.module, "SMALL_BATCHES", False)
    return instantiate(CONFIGS[scheme], **(TESTED_WITH.get(scheme, {}) if small else {}))
