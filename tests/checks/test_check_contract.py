"""The contract finds what is broken: one scheme per mistake, and each clause that has to notice it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from normexp.config import compose, option, options
from normexp.norms.base import Norm
from normexp.norms.checks.contract import CLAUSES, contract
from normexp.training.build import build_norm


class Mean(nn.Module):
    """A correct activation module to derive wrong ones from."""

    def __init__(self, num_features):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))

    def columns(self, x, values):
        return values.view(-1, *[1] * (x.dim() - 2))

    def forward(self, x):
        axes = [0, *range(2, x.dim())]
        if self.training:
            self.running_mean.lerp_(x.detach().mean(axes), 0.1)
        mean = x.mean(axes) if self.training else self.running_mean
        return x + self.columns(x, self.bias - mean)


class WrongType(Mean):
    def forward(self, x):
        return super().forward(x).float()


class DividesByZero(Mean):
    def forward(self, x):
        return super().forward(x) / x.std()


class Cancels(Mean):
    def forward(self, x):
        axes = [0, *range(2, x.dim())]
        var = x.square().mean(axes) - x.mean(axes).square()
        return super().forward(x) / self.columns(x, var.clamp(min=0) + 1e-5).sqrt()


class Detached(Mean):
    def forward(self, x):
        return super().forward(x.detach()) + (x - x.detach())


class DeadParameter(Mean):
    def __init__(self, num_features):
        super().__init__(num_features)
        self.unused = nn.Parameter(torch.zeros(1))


class HiddenState(Mean):
    def __init__(self, num_features):
        super().__init__(num_features)
        self.register_buffer("running_mean", torch.zeros(num_features), persistent=False)


class MovesInEvaluation(Mean):
    def forward(self, x):
        self.running_mean.add_(1)
        return super().forward(x)


class Noise(Mean):
    def forward(self, x):
        return super().forward(x) + torch.randn_like(x)


class ReadsMemory(Mean):
    def forward(self, x):
        return super().forward(x) * x.stride(0)


WRONG = {
    WrongType: "output has the input's shape and type",
    DividesByZero: "finite output and gradient on constant input",
    Cancels: "accurate in float32 at an offset of 1e6",
    Detached: "gradient is the derivative (float64, finite differences)",
    DeadParameter: "every parameter of a block gets a gradient",
    HiddenState: "state_dict round trip",
    MovesInEvaluation: "evaluation changes no state and repeats itself",
    Noise: "evaluation changes no state and repeats itself",
    ReadsMemory: "memory layout changes nothing",
}


@dataclass(frozen=True, kw_only=True)
class Own(Norm):
    module: type[nn.Module] = Mean

    @property
    def cancels_bias(self):
        return True

    def normalization(self, num_features):
        return self.module(num_features)


@dataclass(frozen=True, kw_only=True)
class FalseClaim(Norm):
    """Nothing takes the bias away."""

    @property
    def cancels_bias(self):
        return True


@dataclass(frozen=True, kw_only=True)
class NoLayer(Norm):
    def parametrize(self, layer):
        return nn.Identity()


@dataclass(frozen=True, kw_only=True)
class VectorPenalty(Norm):
    def penalty(self, model):
        return torch.ones(2)


def broken(norm, exact_gradient=True):
    findings = contract(norm, exact_gradient=exact_gradient)
    return {finding.clause: finding.broken for finding in findings if finding.broken}


@pytest.mark.parametrize("scheme", options("norm"))
def test_contract_holds_for_every_scheme(scheme):
    exact = option("norm", scheme).get("_gradient_") != "approximate"
    assert broken(build_norm(compose([f"norm={scheme}"])), exact_gradient=exact) == {}


def test_contract_holds_for_an_own_scheme():
    assert broken(Own()) == {}


@pytest.mark.parametrize("module", WRONG, ids=lambda module: module.__name__)
def test_contract_finds(module):
    assert WRONG[module] in broken(Own(module=module))


def test_contract_finds_wrong_claims_and_hooks():
    assert "a bias that is said to be cancelled is cancelled" in broken(FalseClaim())
    assert "a Linear or Conv layer stays one" in broken(NoLayer())
    assert set(broken(VectorPenalty())) == {"penalty is None or a finite scalar"}


def test_contract_of_a_published_approximate_gradient_leaves_one_clause_out():
    assert broken(Own(module=Detached), exact_gradient=False) == {}
    assert {finding.clause for finding in contract(Own())} - {
        finding.clause for finding in contract(Own(), exact_gradient=False)
    } == {WRONG[Detached]}


def test_contract_has_a_wrong_scheme_for_every_clause():
    hooks = {"a bias that is said to be cancelled is cancelled", "a Linear or Conv layer stays one"}
    assert set(WRONG.values()) | hooks | {"penalty is None or a finite scalar"} == set(CLAUSES)


def test_contract_leaves_the_random_generator_and_threads_alone():
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    contract(Norm())
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
