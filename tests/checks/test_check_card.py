"""What the card says of schemes whose answers are known."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.checks.batch_dependence import depends_on_batch, train_eval_gap
from normexp.norms.checks.capabilities import capabilities
from normexp.norms.checks.cost import cost
from normexp.norms.checks.gradient_factor import gradient_factor
from normexp.norms.checks.invariance import invariances
from normexp.norms.checks.memory import kept_bytes, kept_relative_to_batch_norm
from normexp.norms.checks.size import Count, added_parameters, buffers
from normexp.norms.checks.subject import make_subject, settle
from normexp.norms.checks.text import gap_text, gradient_at
from normexp.norms.layer import LayerNorm
from normexp.norms.mean_only import MeanOnlyBatchNorm
from normexp.norms.weight import WeightNorm
from normexp.training.build import named_norm


@pytest.mark.parametrize(
    ("norm", "learned", "kept"),
    [
        (Norm(), "0", "0"),
        (BatchNorm(), "2 C", "2 C + 1"),
        (BatchNorm(affine=False), "0", "2 C + 1"),
        (LayerNorm(), "2 C", "0"),
        (WeightNorm(), "1 C", "0"),
        (MeanOnlyBatchNorm(), "1 C", "1 C"),
    ],
)
def test_card_counts_parameters_and_buffers(norm, learned, kept):
    assert (str(added_parameters(norm)), str(buffers(norm))) == (learned, kept)


def test_card_counts_a_line():
    assert str(Count(0, 0)) == "0"
    assert str(Count(1.5, 3)) == "1.5 C + 3"
    assert str(Count(2, -1, square=1)) == "1 C^2 + 2 C - 1"


def test_a_number_that_grows_with_the_square_of_the_width_is_called_so():
    class Matrix(Norm):
        def normalization(self, num_features):
            return nn.Sequential(nn.BatchNorm1d(num_features), nn.Bilinear(1, num_features, num_features))

    assert added_parameters(Matrix()) == Count(3, 0, square=1)
    assert buffers(Matrix()) == Count(2, 1)


def test_card_bytes_kept_are_those_of_the_tensors():
    output = 4 * 32 * 64 * 16 * 16
    assert kept_bytes(Norm()) == output  # what the ReLU keeps; the convolution's input is alive anyway
    assert kept_bytes(BatchNorm()) == 2 * output + 2 * 4 * 64
    assert kept_relative_to_batch_norm(MeanOnlyBatchNorm()) == 0
    assert kept_relative_to_batch_norm(LayerNorm()) == pytest.approx(1, rel=0.01)


@dataclass(frozen=True, kw_only=True)
class InOrder(Norm):
    """Adds the sum of all earlier examples: the first depends on no other, the last on all."""

    def normalization(self, num_features):
        class Running(nn.Module):
            def forward(self, x):
                return x + x.cumsum(0) - x

        return Running()


def test_card_dependence_on_earlier_examples_is_found():
    assert depends_on_batch(InOrder(), training=True)
    assert depends_on_batch(InOrder(), training=False)


def test_card_batch_norm():
    norm = BatchNorm()
    assert depends_on_batch(norm, training=True)
    assert not depends_on_batch(norm, training=False)
    assert 0.02 < train_eval_gap(norm) < 0.3
    assert gradient_factor(norm) == pytest.approx(1)
    assert gradient_factor(Norm()) == pytest.approx(3)


def test_card_gradient_that_turns_has_no_factor():
    @dataclass(frozen=True, kw_only=True)
    class Tanh(Norm):
        def normalization(self, num_features):
            return nn.Tanh()

    assert gradient_factor(Tanh()) is None
    assert not any(invariances(Tanh()).values())


def test_card_measures_without_eps_and_on_settled_estimates():
    subject = make_subject(BatchNorm(eps=0.5, momentum=0.01))
    settle(subject)
    subject.block.eval()
    a = subject.x @ subject.weight.T
    expected = (a - a.mean(0)) / a.std(0)  # unbiased, as the running estimate; no eps
    torch.testing.assert_close(subject.block(subject.x), expected, rtol=1e-9, atol=1e-9)


def test_card_says_why_not(monkeypatch):
    monkeypatch.setattr("normexp.norms.checks.capabilities.compiled", lambda norm, backend: None)  # takes a second
    works = capabilities(named_norm("instance"))
    assert works["vectors"].startswith("no: normalization over 128 groups needs more than one value")
    assert works["1 x 1 maps"].startswith("no: ")
    assert works["batch of one image"] == "yes"
    assert capabilities(BatchNorm())["batch of one vector"].startswith(
        "no: batch normalization needs more than one value per channel"
    )


class Picky(nn.Module):
    """Refuses or spoils one case of use each."""

    def __init__(self, case):
        super().__init__()
        self.case = case

    def forward(self, x):
        if self.case == "float16" and x.dtype == torch.float16:
            return x.float()
        if self.case == "bfloat16" and x.dtype == torch.bfloat16 and not torch.is_autocast_enabled("cpu"):
            return x * float("inf")
        if self.case == "compile" and torch.compiler.is_compiling():
            return x + 1
        if self.case == "channels last" and x.dim() == 4:
            return x.contiguous() + 0
        if self.case == "autocast" and torch.is_autocast_enabled("cpu"):
            return x * 2
        return x


@pytest.mark.slow
@pytest.mark.parametrize("case", ["float16", "bfloat16", "compile", "channels last", "autocast"])
def test_card_finds_what_does_not_work(case):
    @dataclass(frozen=True, kw_only=True)
    class Own(Norm):
        def normalization(self, num_features):
            return Picky(case)

    works = capabilities(Own())
    assert [name for name, answer in works.items() if answer != "yes"] == [case]


def test_card_time_of_nothing_is_nothing_and_of_batch_norm_is_about_its_own():
    small = (8, 16, 8, 8)
    assert cost(Norm(), small).of_batch_norm.median == 0
    ratio = cost(BatchNorm(), small).of_batch_norm
    assert ratio.low <= ratio.median <= ratio.high
    assert 0.2 < ratio.median < 5


@pytest.mark.parametrize(("gap", "text"), [(0.0, "0 %"), (1e-9, "0 %"), (0.004, "< 1 %"), (0.123, "12 %")])
def test_card_gap_as_text(gap, text):
    assert gap_text(gap) == text


@pytest.mark.parametrize(("factor", "text"), [(1.0, "1/c"), (3.0, "1"), (2.0, "2/c at c = 3")])
def test_card_gradient_as_text(factor, text):
    assert gradient_at(factor) == f"{text} of that at W"


def test_a_gradient_of_another_direction_is_not_said_to_be_so_much_of_it():
    assert gradient_at(None) == "of another direction"
