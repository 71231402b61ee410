"""A healthy network with its data."""

import sys
from pathlib import Path

import pytest
import torch
from networks_to_diagnose import SMALL
from torch import nn

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

from planted_faults import healthy  # noqa: E402


@pytest.fixture(scope="module")
def network() -> tuple[nn.Module, list[torch.Tensor]]:
    return healthy(SMALL)
