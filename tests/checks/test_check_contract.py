"""The contract finds what is broken: one scheme per mistake, and each clause that has to notice it."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from normexp.norms.base import Norm, Step, TimeStep, at_least_float32
from normexp.norms.checks.clause import Case
from normexp.norms.checks.contract import CLAUSES, broken_by, clauses_for, contract
from normexp.norms.checks.subject import UNITS
from normexp.norms.decorrelated import DecorrelatedBatchNorm


class Mean(nn.Module):
    """A correct activation module to derive wrong ones from."""

    def __init__(self, num_features):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))

    def columns(self, x, values):
        return values.view(-1, *[1] * (x.dim() - 2))

    def forward(self, x):
        axes, wide = [0, *range(2, x.dim())], at_least_float32(x)
        if self.training and x.numel() <= x.shape[1]:
            raise ValueError("one value says nothing")
        if self.training:
            self.running_mean.lerp_(wide.detach().mean(axes).to(self.running_mean.dtype), 0.1)
        mean = wide.mean(axes) if self.training else self.running_mean
        return (wide + self.columns(x, self.bias - mean)).to(x.dtype)


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


class WrongLayout(Mean):
    def forward(self, x):
        return super().forward(x).contiguous()


class NoPixel(Mean):
    def forward(self, x):
        return super().forward(x) * (2 if x.dim() > 2 and x[0, 0].numel() == 1 else 1)


class NoSingle(Mean):
    def forward(self, x):
        return super().forward(x) / (len(x) - 1)


class NotEmpty(Mean):
    def forward(self, x):
        return super().forward(x) + 0 * x[0, 0].sum()


class HalfStatistics(Mean):
    def forward(self, x):
        mean = x.detach().mean([0, *range(2, x.dim())])
        return super().forward(x) + self.columns(x, mean - mean.to(torch.float32).mul(1.01).to(x.dtype)).to(x.dtype)


class HalfGradient(Mean):
    def forward(self, x):
        y = super().forward(x)
        return y if x.itemsize >= 4 else y.detach() + (y - y.detach()) * 1.5


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x.square()


class NoSecondDerivative(Mean):
    def forward(self, x):
        return super().forward(x) + Once.apply(x)


class FailsUnderAutocast(Mean):
    def forward(self, x):
        return super().forward(x) * (2 if torch.is_autocast_enabled("cpu") else 1)


class InPlace(Mean):
    def forward(self, x):
        with torch.no_grad():
            x.sub_(1)
        return super().forward(x + 1)


class Narrows(Mean):
    def forward(self, x):
        return super().forward(x.float().square()).to(x.dtype)


WRONG = {
    WrongLayout: "channels last stays channels last",
    NoPixel: "a map of one pixel is a vector",
    NoSingle: "one example",
    NotEmpty: "no example",
    HalfStatistics: "half precision keeps statistics in float32",
    HalfGradient: "gradients in half precision",
    NoSecondDerivative: "second derivative (float64, finite differences)",
    FailsUnderAutocast: "bfloat16 autocast",
    InPlace: "the input stays as it is",
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


class RowMean(nn.Module):
    """A correct module on tokens to derive wrong ones from."""

    def __init__(self, num_features):
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))

    def forward(self, x):
        wide = at_least_float32(x)
        return (wide - wide.mean(-1, keepdim=True)).to(x.dtype)


class NarrowTokens(RowMean):
    def forward(self, x):
        return super().forward(x)[..., 1:]


class WideTokens(RowMean):
    def forward(self, x):
        return super().forward(x.float() if x.itemsize == 2 else x)


class DetachedTokens(RowMean):
    def forward(self, x):
        return super().forward(x.detach()) + (x - x.detach())


class MovingTokens(RowMean):
    def forward(self, x):
        self.largest.add_(1)
        return super().forward(x)


WRONG_TOKENS = {
    NarrowTokens: "tokens keep their shape and type",
    WideTokens: "tokens in half precision",
    DetachedTokens: "gradient of tokens is the derivative",
    MovingTokens: "evaluation of tokens changes no state and repeats itself",
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

    def normalization(self, num_features):
        return nn.Identity()


@dataclass(frozen=True, kw_only=True)
class NoLayer(Norm):
    def parametrize(self, layer):
        return nn.Identity()


@dataclass(frozen=True, kw_only=True)
class VectorPenalty(Norm):
    def penalty(self, model):
        return torch.ones(2)


@dataclass(frozen=True, kw_only=True)
class TakesAnyPlacement(Own):
    placement: str = "pre"


class CanBeChanged(Own):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class Narrow(nn.Module):
    """Wrong on tokens, in places without a nonlinearity, in time steps."""

    def forward(self, x, *step):
        return x[..., 1:]


@dataclass(frozen=True, kw_only=True)
class AllHooks(Own):
    """A correct scheme with every hook, to derive wrong ones from."""

    tokens: type[nn.Module] = RowMean

    def sequence(self, num_features):
        return self.tokens(num_features)

    def linear_normalization(self, num_features):
        return self.module(num_features)

    def recurrent(self, num_features, max_steps, site="sum"):
        return TimeStep(RowMean(num_features))

    def parametrize_recurrent(self, layer):
        return layer

    def pool(self, module):
        return module

    def initialize(self, model, batch):
        model(batch)

    def step_hook(self, model):
        return lambda: None

    def before_evaluation(self, model, inputs):
        with torch.no_grad():
            model[1].running_mean.copy_(model[0](inputs(8)).mean((0, 2, 3)))


class NarrowLinear(AllHooks):
    def linear_normalization(self, num_features):
        return Narrow()


class NarrowSteps(AllHooks):
    def recurrent(self, num_features, max_steps, site="sum"):
        return TimeStep(Narrow())


class StepsOfStates(AllHooks):
    """Wrong in the states of a network alone."""

    def recurrent(self, num_features, max_steps, site="sum"):
        return TimeStep(Narrow() if site in ("rnn", "lstm", "gru") else RowMean(num_features))


class NoStep(AllHooks):
    def recurrent(self, num_features, max_steps, site="sum"):
        return lambda x, t: x


class TooFewSteps(AllHooks):
    """Sequences in evaluation may be longer than those in training."""

    def recurrent(self, num_features, max_steps, site="sum"):
        return OneOf(RowMean(num_features) for _ in range(max_steps))


class OneOf(Step):
    def __init__(self, modules):
        super().__init__()
        self.steps = nn.ModuleList(modules)

    def forward(self, x, t):
        return self.steps[t](x)


class NoRecurrentLayer(AllHooks):
    def parametrize_recurrent(self, layer):
        return nn.Identity()


class LargePool(AllHooks):
    def pool(self, module):
        return nn.Identity()


class NewParameters(AllHooks):
    def initialize(self, model, batch):
        model[0].weight = nn.Parameter(torch.zeros_like(model[0].weight))


class FailingHook(AllHooks):
    def step_hook(self, model):
        return lambda: model[0].weight.grad.no_such_thing


class MovesOn(AllHooks):
    def before_evaluation(self, model, inputs):
        model(inputs(8))


OF_LOOP = "initialize, step_hook and before_evaluation"
WRONG_HOOKS = {
    NarrowLinear: "linear places keep their shape and type",
    NarrowSteps: "time steps keep their shape",
    StepsOfStates: "time steps keep their shape",
    NoStep: "time steps keep their shape",
    TooFewSteps: "time steps keep their shape",
    NoRecurrentLayer: "a recurrent layer stays one",
    LargePool: "a pool keeps its size",
    NewParameters: OF_LOOP,
    FailingHook: OF_LOOP,
    MovesOn: OF_LOOP,
}


def broken(norm, exact_gradient=True, **says):
    findings = contract(norm, exact_gradient=exact_gradient, **says)
    return {finding.clause: finding.broken for finding in findings if finding.broken}


def test_contract_holds_for_an_own_scheme():
    assert broken(Own()) == {}


@pytest.mark.parametrize("module", WRONG, ids=lambda module: module.__name__)
def test_contract_finds(module):
    case = Case(Own(module=module))
    (clause,) = [clause for clause in clauses_for(case) if clause.name == WRONG[module]]
    assert broken_by(clause, case)


class NoVectors(Mean):
    def forward(self, x):
        if x.dim() == 2:
            raise ValueError("no vectors")
        return super().forward(x)


def test_contract_says_that_one_pixel_passes_where_vectors_do_not():
    """It ended in torch's `Boolean value of Tensor with more than one value is ambiguous`."""
    assert broken(Own(module=NoVectors)) == {WRONG[NoPixel]: "takes maps of one pixel, but no vectors"}


@pytest.mark.parametrize(
    ("module", "said"),
    [(nn.BatchNorm1d, "expected 2D or 3D input (got 4D input)"), (nn.BatchNorm2d, "expected 4D input (got 3D input)")],
)
def test_contract_says_once_which_shapes_a_scheme_refuses(module, said):
    """It broke every clause that tries them, and nothing else of the scheme was seen."""
    assert broken(Own(module=module)) == {WRONG[WrongType]: f"ValueError: {said}"}


@pytest.fixture
def small_shapes(monkeypatch):
    """Where a gradient is wrong, torch takes every difference, of the larger shapes for seconds."""
    for module in ("clause", "clauses_of_gradients"):
        monkeypatch.setattr(f"normexp.norms.checks.{module}.MAPS", (2, UNITS, 2, 1))
        monkeypatch.setattr(f"normexp.norms.checks.{module}.SEQUENCES", (2, UNITS, 2))
    monkeypatch.setattr("normexp.norms.checks.clauses_of_hooks.TOKENS", (2, 2, UNITS))


@pytest.mark.slow
@pytest.mark.usefixtures("small_shapes")
def test_contract_finds_what_is_wrong_on_the_shapes_that_a_scheme_takes():
    class WrongOnMaps(nn.BatchNorm2d):
        def forward(self, x):
            return super().forward(x).detach() + (x - x.detach())

    assert {WRONG[Detached], WRONG[WrongType], WRONG[DeadParameter]} <= set(broken(Own(module=WrongOnMaps)))


@pytest.mark.slow
@pytest.mark.usefixtures("small_shapes")
def test_contract_asks_whether_float64_is_narrowed_where_that_is_the_cause():
    clauses = [name for name, said in broken(Own(module=Narrows)).items() if "is float64 narrowed inside" in said]
    assert clauses == [WRONG[Detached], WRONG[NoSecondDerivative]]
    assert not [said for said in broken(Own(module=Detached)).values() if "narrowed" in said]


def test_contract_finds_wrong_claims_and_hooks():
    assert "a bias that is said to be cancelled is cancelled" in broken(FalseClaim())
    assert "a Linear or Conv layer stays one" in broken(NoLayer())
    assert set(broken(VectorPenalty())) == {"penalty is None or a finite scalar"}
    assert set(broken(TakesAnyPlacement())) == {"an unknown placement is refused"}
    assert set(broken(CanBeChanged())) == {"frozen"}
    assert set(broken(Own(), mixes_examples=False)) == {"examples are mixed as said"}
    assert broken(Own(), mixes_examples=True) == {}


@pytest.mark.parametrize("scheme", WRONG_HOOKS, ids=lambda scheme: scheme.__name__)
def test_contract_calls_every_hook(scheme):
    assert set(broken(scheme())) == {WRONG_HOOKS[scheme]}


def test_contract_says_where_a_scheme_of_the_users_own_raises():
    (said,) = broken(FailingHook()).values()
    line = FailingHook.step_hook.__code__.co_firstlineno + 1
    assert said.endswith(f"'no_such_thing', test_check_contract.py:{line}, in FailingHook.step_hook")


@pytest.mark.usefixtures("small_shapes")
@pytest.mark.parametrize("tokens", WRONG_TOKENS, ids=lambda tokens: tokens.__name__)
def test_contract_calls_the_module_of_tokens(tokens):
    """A scheme with a faulty sequence() passed: nothing called it."""
    said = broken(AllHooks(tokens=tokens))
    assert WRONG_TOKENS[tokens] in said
    assert [name for name in said if "tokens" not in name] == []


def test_contract_holds_for_an_own_scheme_with_every_hook():
    assert broken(AllHooks()) == {}
    assert {clause.name for clause in clauses_for(Case(AllHooks(), mixes_examples=True))} == {
        clause.name for clause in CLAUSES
    }


def test_contract_asks_a_scheme_for_what_it_has():
    """Nothing about activations is asked of an identity, nothing about weights that batch norm leaves alone."""
    nothing = {clause.name for clause in clauses_for(Case(Norm()))}
    assert nothing == {
        "an unknown placement is refused",
        "frozen",
        "penalty is None or a finite scalar",
    }
    own = len(CLAUSES) - len({*WRONG_HOOKS.values(), *WRONG_TOKENS.values()} - {"time steps keep their shape"})
    assert len(clauses_for(Case(Own()))) == own - 1  # it does not say whether it mixes examples
    assert len(clauses_for(Case(Own(), mixes_examples=True))) == own


def test_contract_of_a_published_approximate_gradient_leaves_one_clause_out():
    assert broken(Own(module=Detached), exact_gradient=False) == {}
    assert {finding.clause for finding in contract(Own())} - {
        finding.clause for finding in contract(Own(), exact_gradient=False)
    } == {WRONG[Detached], WRONG[NoSecondDerivative]}


def test_contract_has_a_wrong_scheme_for_every_clause():
    hooks = {
        "a bias that is said to be cancelled is cancelled",
        "a Linear or Conv layer stays one",
        "an unknown placement is refused",
        "examples are mixed as said",
        "frozen",
        "penalty is None or a finite scalar",
    } | {*WRONG_HOOKS.values(), *WRONG_TOKENS.values()}
    assert set(WRONG.values()) | hooks == {clause.name for clause in CLAUSES}


def test_contract_leaves_the_random_generator_and_threads_alone():
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    contract(Norm())
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_what_a_scheme_has_is_asked_without_a_draw():
    """A clause had other numbers where another one had asked before, in the same process."""
    before = torch.get_rng_state()
    case = Case(DecorrelatedBatchNorm(group_size=2))
    assert case.acts_on_blocks
    assert len(case.shapes()) == 3
    assert torch.equal(torch.get_rng_state(), before)
