"""`convert` and `fold` on networks of torchvision and timm: a network stays what it is, or is left alone.

The properties are those of scripts/network_checks.py, by which docs/convert.md is written.
"""

from functools import lru_cache
from pathlib import Path

import pytest
import torch
from torch import nn

from normexp.norms.batch import BatchNorm
from normexp.norms.convert import convert
from normexp.norms.fold import fold

pytest.importorskip("timm")

import network_checks
from convert_document import document, verdict
from make_convert_table import NAMES, PAIRS, read, schemes
from network_checks import Original, check_batch_for_batch, check_fold, check_pair, corners, exactly, of_roundings
from networks import NETWORKS, SAMPLE

TOP = Path(__file__).parents[2]
if not PAIRS.exists():
    pytest.skip("the measurements are not part of a source distribution", allow_module_level=True)
MEASURED = {(row["network"], row["scheme"]): row for row in read()}
QUICK = dict(SAMPLE).keys() - {"timm mobileone_s0"}  # its own checks take minutes
each_network = pytest.mark.parametrize(
    "network",
    [pytest.param(name, marks=pytest.mark.slow if name in QUICK else pytest.mark.networks) for name in NETWORKS],
)


@lru_cache(maxsize=1)
def original(network):
    return Original.of(network)


@pytest.mark.slow
@pytest.mark.parametrize(("network", "name"), SAMPLE, ids=map(" ".join, SAMPLE))
def test_pair_works_or_is_refused_as_documented(network, name):
    check_documented(network, name)


@pytest.mark.networks
@pytest.mark.parametrize("network", NETWORKS)
def test_every_other_pair_works_or_is_refused_as_documented(network):
    for name in NAMES:
        if (network, name) not in SAMPLE:
            check_documented(network, name)


def check_documented(network, name):
    reason, _ = check_pair(original(network), schemes()[name])
    if known := MEASURED.get((network, name)):
        assert verdict({"reason": reason, "outcome": "refused" if reason else "works"}) == verdict(known), name


@each_network
def test_network_itself(network):
    check_batch_for_batch(original(network))
    check_fold(exactly(original(network).model), corners(original(network).images), original(network).outputs)


def test_document_is_written_from_the_measurements():
    rows = read()
    assert (TOP / "docs/convert.md").read_text(encoding="utf-8") == document(rows)
    assert len({row["network"] for row in rows}) >= 60
    assert not [row for row in rows if row["outcome"] == "wrong"]


def test_sample_has_every_reason_and_every_kind_of_success():
    of_sample = {verdict(MEASURED[pair]) for pair in SAMPLE}
    assert of_sample == {verdict(row) for row in MEASURED.values() if row["scheme"]}


# --- the checks find what they are for: each network here is spoilt in one way


class WithUnit(nn.BatchNorm2d):
    def forward(self, x):
        return super().forward(x).relu()


class Unread(nn.BatchNorm2d):
    def forward(self, x):
        return x


class Endless(nn.BatchNorm2d):
    def forward(self, x):
        return super().forward(x) + (self.weight - self.weight).sum().sqrt()


class Wrong(BatchNorm):
    """A scheme that does not say what else it does."""

    def __init__(self, module):
        super().__init__()
        object.__setattr__(self, "module", module)

    def normalization(self, num_features):
        return self.module(num_features)


def small(monkeypatch):
    def build(network):
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4)
        )

    monkeypatch.setattr(network_checks, "build", build)
    monkeypatch.setattr(network_checks, "shape", lambda network: (3, 8, 8))
    return Original.of("small")


def test_checks_pass_a_small_network(monkeypatch):
    assert check_pair(small(monkeypatch), BatchNorm())[0] == ""


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (lambda channels: nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU()), "not the scheme's"),
        (WithUnit, "2 nonlinear units and 0 of the scheme, where there were 1"),
        (Unread, "2 parameters are read by nothing, 0 were"),
        (Endless, "a gradient is not finite"),
    ],
)
def test_checks_find_what_a_scheme_does_besides(monkeypatch, module, why):
    with pytest.raises(AssertionError, match=why):
        check_pair(small(monkeypatch), Wrong(module))


def test_checks_find_a_lost_activation(monkeypatch):
    good = small(monkeypatch)

    def losing(model, norm):
        convert(model, norm)[2] = nn.Identity()

    monkeypatch.setattr(network_checks, "convert", losing)
    with pytest.raises(AssertionError, match="0 nonlinear units"):
        check_pair(good, BatchNorm())


@pytest.mark.parametrize(
    ("by_layer", "why"), [(True, "0 with 1 folded is another map"), (False, "the folded network is")]
)
def test_checks_find_a_wrong_fold(monkeypatch, by_layer, why):
    good = small(monkeypatch)

    def folding(model):
        fold(model)[0].bias.add_(1e-11)

    monkeypatch.setattr(network_checks, "fold", folding)
    if not by_layer:
        monkeypatch.setattr(network_checks, "check_layers", lambda *_: None)
    with pytest.raises(AssertionError, match=why):
        check_pair(good, BatchNorm())


def test_roundings_of_layers_pass_through_the_layers_behind_and_never_cancel():
    model = nn.Sequential(nn.Linear(1, 2, bias=False), nn.ReLU(inplace=True), nn.Linear(2, 1, bias=False)).double()
    for layer, weight in ((model[0], [[2.0], [3.0]]), (model[2], [[5.0, -7.0]])):
        layer.weight.data = torch.tensor(weight, dtype=torch.double)
    unit = torch.finfo(torch.double).eps / 2
    first, second = 18 * unit * torch.tensor([2.0, 3.0]), 20 * unit * (5 * 2 + 7 * 3)
    expected = 5 * first[0] + 7 * first[1] + second
    assert of_roundings(model, torch.ones(1, 1).double()).item() == pytest.approx(float(expected), rel=1e-6, abs=0)


def test_checks_find_a_change_before_a_refusal(monkeypatch):
    good = small(monkeypatch)

    def half(model, norm):
        with torch.no_grad():
            model[0].weight.mul_(2)
        raise ValueError("no")

    monkeypatch.setattr(network_checks, "convert", half)
    with pytest.raises(AssertionError, match="refused, but changed"):
        check_pair(good, BatchNorm())
