"""A healthy network with its data."""

import pytest
import torch
from networks_to_diagnose import SMALL
from planted_faults import healthy
from torch import nn


@pytest.fixture(scope="module")
def network() -> tuple[nn.Module, list[torch.Tensor]]:
    return healthy(SMALL)
