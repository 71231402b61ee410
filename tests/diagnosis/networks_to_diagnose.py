"""Small networks, and what a diagnosis finds in them."""

import torch
from torch import nn

from normexp.diagnosis.diagnose import diagnose

SMALL = "timm test_resnet"


def small(*, pixels: int = 4) -> nn.Sequential:
    """A convolution and a map of 1 x 1, batch normalization behind both."""
    torch.manual_seed(0)
    pool = [nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6), nn.Flatten(), nn.Linear(6, 3)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), *pool)


def kinds(model: nn.Module, data: object) -> set[tuple[str, str]]:
    return {(each.kind, each.layer) for each in diagnose(model, data).faults}
