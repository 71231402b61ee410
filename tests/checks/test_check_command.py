"""`normexp check` and `normexp list norms --matrix`."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from normexp.config import options
from normexp.norms.base import Norm
from normexp.norms.batch import BatchNorm
from normexp.norms.checks.clause import Broken, compare
from normexp.norms.checks.commands import check_command, drawing, matrix_command

DOCUMENT = Path(__file__).parents[2] / "docs" / "schemes.md"
BROKEN = """
import torch
from torch import nn
from normexp.norms.base import Norm

class Divide(nn.Module):
    def forward(self, x):
        return x / x.abs().amax()

class MaxNorm(Norm):
    def normalization(self, num_features):
        return Divide()
"""


def test_check_prints_the_card(cli):
    status, stdout, stderr = cli("check", "norm=batch", "norm.momentum=0.2")
    assert (status, stderr) == (0, "")
    assert stdout.startswith("BatchNorm(")
    assert "momentum=0.2" in stdout
    assert "contract: holds" in stdout
    for line in (
        "weight matrix re-scaling           yes",
        "single training case re-scaling    no",
        "of nn.BatchNorm2d's",
    ):
        assert line in stdout


@pytest.mark.slow
def test_check_of_an_own_scheme_that_breaks_the_contract(cli, tmp_path, monkeypatch):
    (tmp_path / "max_norms.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    status, stdout, _ = cli("check", "norm._target_=max_norms.MaxNorm", "plugins=[max_norms]")
    assert status == 1
    assert "contract: is broken" in stdout
    assert "BROKEN  finite output and gradient on constant input\n          output is not finite" in stdout
    assert "dataset re-scaling                 yes" in stdout  # the card comes all the same


class Noise(nn.Module):
    def forward(self, x):
        return x * (1 + 0.1 * torch.randn(x.shape[0], *(1 for _ in x.shape[1:]))) if self.training else x


class Noisy(Norm):
    def normalization(self, num_features):
        return nn.Sequential(Noise(), nn.LayerNorm(num_features))


def test_a_scheme_that_draws_is_said_to_do_so():
    """Its card said that examples depend on one another, and a warning of torch stood before it."""
    assert "draws random numbers" in drawing(Noisy())
    assert drawing(BatchNorm()) == ""
    assert drawing(OnTokens()) == ""
    with pytest.raises(Broken, match="off by 2"):
        compare(torch.ones(2, requires_grad=True), torch.tensor([1.0, 3.0]), 1e-3, "noise")


class OnTokens(Norm):
    def sequence(self, num_features):
        return nn.Tanh()


def test_a_scheme_of_sequences_alone_has_no_card_of_layers():
    """Its card said of a plain layer that the scheme works with everything, at no cost."""
    text, holds = check_command(OnTokens(), "OnTokens()")
    assert holds
    assert "holds   tokens keep their shape and type" in text
    assert text.endswith("acts on tokens or time steps alone")


class OnVectors(nn.BatchNorm1d):
    """Refuses (N, C, L), too, which torch's takes."""

    def forward(self, x):
        if x.dim() != 2:
            raise ValueError(f"takes vectors, not {tuple(x.shape)}")
        return super().forward(x)


class OfVectors(Norm):
    def normalization(self, num_features):
        return OnVectors(num_features)


@pytest.mark.slow
def test_a_scheme_of_vectors_alone_has_a_card_of_a_linear_layer():
    text, _ = check_command(OfVectors(), "OfVectors()")
    assert text.count("BROKEN") == 1  # which shapes it refuses
    words = " ".join(text.split())
    assert "float16 yes bfloat16 yes autocast yes compile yes channels last no: takes vectors" in words
    assert "kept for backward 1.00 of batch norm's time of forward and backward on (8192, 64)" in words
    assert "of a linear layer's" in words


class OfLayersNotMeasured(Norm):
    def normalization(self, num_features):
        return {}["a key of its own"]


def test_a_card_that_cannot_be_measured_names_the_line_of_the_scheme():
    """`no card: KeyError: 'a key of its own'` told nobody where to look."""
    text, holds = check_command(OfLayersNotMeasured(), "OfLayersNotMeasured()")
    assert not holds
    at = r", test_check_command\.py:\d+, in OfLayersNotMeasured\.normalization"
    assert re.search(rf"\n\nno card: KeyError: .*{at}", text)


@pytest.mark.slow
def test_matrix_has_one_row_per_scheme():
    table = [line for line in matrix_command({"none": Norm(), "mine": BatchNorm()}).splitlines() if line[:1] == "|"]
    assert [line.split(" | ")[0] for line in table] == ["| scheme", "| ---", "| none", "| mine"]
    assert len({line.count("|") for line in table}) == 1
    assert table[3].startswith("| mine | yes | no | yes | yes | yes | no | 1/c | yes |")


def test_matrix_document_names_every_scheme():
    rows = [line.split(" | ")[0].removeprefix("| ") for line in DOCUMENT.read_text().splitlines() if line[:1] == "|"]
    assert rows[2:] == list(options("norm")), "run scripts/make_scheme_matrix.py"


@pytest.mark.slow
def test_matrix_document_is_up_to_date(cli):
    status, stdout, _ = cli("list", "norms", "--matrix")
    assert status == 0
    assert DOCUMENT.read_text().endswith(stdout), "run scripts/make_scheme_matrix.py"
