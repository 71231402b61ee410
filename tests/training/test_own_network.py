"""A scheme of somebody's own under which a network trains, but not as meant, is told of when a run begins."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from normexp.config import compose
from normexp.data.loading import Loader
from normexp.norms.base import Norm
from normexp.training.build import build
from normexp.training.checks.own_network import mixes_in_evaluation, without_gradient


class Odd(nn.Module):
    def __init__(self, num_features: int, fault: str) -> None:
        super().__init__()
        self.bias, self.fault = nn.Parameter(torch.zeros(num_features)), fault

    def forward(self, x):
        if self.fault == "detached":
            return x.detach()
        if self.fault == "not a number":
            return (x + self.bias) * float("nan")
        return (x - x.mean(0) if self.fault == "batch" else x - x.mean(1, keepdim=True)) + self.bias


class Scale(nn.Module):
    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(num_features))

    def forward(self, x):
        return x * self.weight


@dataclass(frozen=True, kw_only=True)
class Own(Norm):
    fault: str

    def normalization(self, num_features):
        if self.fault == "compiled":
            return torch.jit.script(Scale(num_features))
        return Odd(num_features, self.fault)


NAMED = "model=mlp norm=test_own_network.Own: "


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.parametrize(
    ("fault", "lost", "mixed"),
    [
        ("", "", ""),
        ("compiled", "", ""),
        ("not a number", "", ""),
        ("detached", f"{NAMED}no gradient reaches 3 of 5 parameters (hidden.0.0.weight, hidden.0.0.bias, ...)", ""),
        ("batch", "", f"{NAMED}in evaluation an example's outputs depend on the others of its batch"),
    ],
)
def test_what_an_own_scheme_does_to_training_and_evaluation_is_told(fault, lost, mixed) -> None:
    own = ["norm=test_own_network.Own", f"norm.fault={fault}", "plugins=[test_own_network]"]
    config = compose(["model=mlp", "model.widths=[8]", "dataset=digits", "threads=1", *own])
    data = Loader().load(config)
    components = build(config, data)
    assert without_gradient(config, components, data) == lost
    assert mixes_in_evaluation(config, components, data).partition(": its scores")[0] == mixed
