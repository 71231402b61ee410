"""Weights orthogonal to their updates, and the law of their growth, where it holds and where it does not."""

import math

import pytest
import torch

from normexp.config import compose
from normexp.studies.base import StudyContext
from normexp.studies.weight_dynamics import WeightDynamics, deviations, lengths, looked_at

SMALL = ["model=mlp", "model.widths=[16,16]", "optim.momentum=0", "steps=8"]


def rows(*overrides: str, only_hidden: bool = True):
    return WeightDynamics(only_hidden=only_hidden).measure(StudyContext(compose([*SMALL, *overrides]))).rows


def test_orthogonal_step_by_hand():
    w, stepped = {"a": torch.tensor([[3.0, 4.0]])}, {"a": torch.tensor([[3.0 - 4.0, 4.0 + 3.0]])}
    assert deviations(w, stepped, stepped) == pytest.approx(
        {"cosine": 0, "unit_cosine": 0, "growth_error": 0}, abs=1e-7
    )
    assert lengths(w, w, stepped, stepped, 2.0) == pytest.approx(
        {"norm_growth": math.sqrt(2), "relative_update": 1, "effective_rate": 1}
    )


def test_parallel_step_by_hand():
    w, stepped = {"a": torch.tensor([[3.0, 4.0]])}, {"a": torch.tensor([[6.0, 8.0]])}
    expected = {"cosine": 1, "unit_cosine": 1, "growth_error": math.sqrt(2) - 1}
    assert deviations(w, stepped, stepped) == pytest.approx(expected)


def test_unit_without_gradient_has_no_angle():
    w, stepped = {"a": torch.eye(2)}, {"a": torch.tensor([[1.0, 1.0], [0.0, 1.0]])}
    assert deviations(w, stepped, stepped)["unit_cosine"] == 0


@pytest.mark.parametrize(
    "norm", [["norm=weight"], ["norm=batch", "norm.eps=1e-30"], ["norm=normprop", "norm.project=false"]]
)
@pytest.mark.parametrize("rate", [0.1, 30.0])
def test_update_is_orthogonal_and_growth_follows(norm, rate):
    last = rows(*norm, f"optim.lr={rate}")[-1]
    assert last["unit_cosine"] < 1e-9
    assert last["growth_error"] < 1e-12
    assert last["norm_growth"] > (10 if rate > 1 else 1)
    assert last["effective_rate"] < rate


def test_whole_matrix_under_layer_norm():
    last = rows("norm=layer", "norm.eps=1e-30", "init=he", "optim.lr=1")[-1]
    assert last["growth_error"] < 1e-12
    assert last["unit_cosine"] > 0.01  # but not unit by unit


def test_projection_undoes_the_growth_and_nothing_else():
    last = rows("norm=normprop", "optim.lr=1")[-1]
    assert last["cosine"] < 1e-12
    assert last["norm_growth"] == pytest.approx(1, abs=1e-6)  # the first projection is in float32
    assert last["growth_error"] > 1e-3


@pytest.mark.parametrize("overrides", [["norm=none"], ["norm=weight", "optim.momentum=0.9"]])
def test_plain_weights_and_momentum_are_not_orthogonal(overrides):
    assert rows(*overrides)[-1]["cosine"] > 1e-3


def test_only_hidden_weights_move():
    setup = StudyContext(compose([*SMALL, "norm=weight"]))
    study = WeightDynamics(only_hidden=True)
    before = {
        name: each.detach().double().clone()
        for name, each in StudyContext(setup.config).components.model.named_parameters()
    }
    study.measure(setup)
    moving = set(map(id, (weight.value for weight in looked_at(setup.components).values())))
    parameters = dict(setup.components.model.named_parameters())
    output = next(name for name in parameters if name.startswith("output") and name.endswith("weight"))
    assert len(moving) == 2
    assert torch.equal(parameters[output], before[output])
    assert not any(torch.equal(each, before[name]) for name, each in parameters.items() if id(each) in moving)


def test_what_a_placement_does_after_an_update_is_done():
    context = StudyContext(compose(["model=vit", "placement=ngpt", "norm=none", "model.layers=1", "steps=3"]))
    WeightDynamics().measure(context)
    weight = context.components.model.layers[0][0].branch.qkv.weight.detach()
    torch.testing.assert_close(weight.norm(dim=1), torch.ones(len(weight), dtype=torch.double))


def test_steps_are_powers_of_two_and_the_last():
    assert [row["step"] for row in rows("norm=weight", "steps=6")] == [1, 2, 4, 6]


def test_training_ends_where_weights_are_lost():
    found = rows("norm=none", "optim.lr=1e38", "steps=64", only_hidden=False)
    assert found[-1]["step"] < 64
    assert not math.isfinite(found[-1]["growth_error"])


def test_what_the_slides_say_of_weight_norm_and_normprop():
    def verdicts(*overrides: str, only_hidden: bool = True):
        setup = StudyContext(compose([*SMALL, *overrides]))
        return [number.agrees for number in WeightDynamics(only_hidden=only_hidden).measure(setup).numbers]

    assert verdicts("norm=weight") == [True, True]
    assert verdicts("norm=normprop", "norm.project=false") == [True]
    assert verdicts("norm=normprop", "optim.lr=1") == [False]
    assert verdicts("norm=weight", "optim.momentum=0.9") == verdicts("norm=weight", only_hidden=False) == []


def test_training_depends_on_the_seed_alone_also_with_dropout():
    """What ran before in the process has moved torch's global stream, from which dropout draws."""
    found = []
    for before in (1, 2):
        torch.manual_seed(before)
        noisy = ["model=nin", "model.width=0.05", "model.dropout=0.5", "norm=weight", "batch_size=8", "steps=2"]
        found.append(WeightDynamics().measure(StudyContext(compose([*noisy, "threads=1"]))).rows)
    assert found[0] == found[1]
