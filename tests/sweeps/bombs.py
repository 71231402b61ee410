"""A scheme that fails where a run asks for it."""

from pathlib import Path

from normexp.records import find_runs


def statuses(results: Path) -> list[str]:
    return sorted(run.status["status"] for run in find_runs([results]))


# --- A cell that fails costs itself. ---

BOMB = """
from dataclasses import dataclass

import torch
from torch import nn

from normexp.norms.base import Norm


class Fuse(nn.Module):
    def __init__(self, at):
        super().__init__()
        self.left = at

    def forward(self, x):
        self.left -= self.training and torch.is_grad_enabled()  # in an update
        if self.left == 0:
            raise RuntimeError("the bomb went off\\nand more")
        return x


@dataclass(frozen=True, kw_only=True)
class Bomb(Norm):
    at: int

    def normalization(self, num_features):
        return Fuse(self.at)
"""
PLUGIN = ("model=mlp", "norm._target_=bomb.Bomb", "plugins=[bomb]")
