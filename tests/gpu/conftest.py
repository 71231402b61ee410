"""Tests of this folder compute on a GPU, and are left out where there is none (`pytest -m gpu tests/gpu`)."""

from __future__ import annotations

import pytest
import torch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/gpu/" in item.path.as_posix():
            item.add_marker(pytest.mark.gpu)
            if not torch.cuda.is_available():
                item.add_marker(pytest.mark.skip(reason="no CUDA"))


@pytest.fixture(autouse=True)
def _float32_products():
    """Compare with a CPU in float32: torch rounds a GPU's convolutions unless it is told otherwise."""
    from normexp.training.process import float32_products

    with float32_products(rounded=False):
        yield
