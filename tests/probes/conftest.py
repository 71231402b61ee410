"""A small network with batch normalization."""

import pytest
import torch
from torch import nn


@pytest.fixture
def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = (nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sigmoid(), nn.Linear(4, 2), nn.Tanh(), nn.Linear(2, 2))
    return nn.Sequential(*layers)
