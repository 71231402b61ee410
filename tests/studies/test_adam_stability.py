"""A change of beta1: the limit of stability, the curvature, an independent Adam, and ways that differ in one thing."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies.adam_stability import AdamStability, Saved, stability_limit
from normexp.studies.arithmetic.reference_adam import AuthorsAdam, ComparedAdam, Moments
from normexp.studies.arithmetic.sharpness import preconditioned_sharpness
from normexp.studies.base import StudyContext
from normexp.training.components import Components

MLP = ["model=mlp", "model.widths=[16]", "epochs=10", "threads=1"]
DIGITS = ["study=adam_stability", *MLP, "optim=adam", "optim.lr=0.01"]


@pytest.mark.parametrize("beta1", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("factor", "grows"), [(0.98, False), (1.02, True)])
def test_a_quadratic_loss_grows_just_beyond_the_limit_and_not_before(beta1, factor, grows):
    lr, x, m = 0.01, 1.0, 0.0
    curvature = factor * stability_limit(beta1, lr)
    for _ in range(3000):
        m = beta1 * m + (1 - beta1) * curvature * x
        x -= lr * m
    assert (abs(x) > 1e3) == grows


def linear_problem(scale: list[float]) -> Components:
    """Mean of (scale w x)^2 / 2 over inputs whose second moments are 1: the Hessian is diag(scale^2)."""
    model = nn.Linear(len(scale), len(scale), bias=False)
    nn.init.eye_(model.weight)
    model = nn.Sequential(model)
    optimizer = torch.optim.Adam(model.parameters(), eps=1e-8)
    for parameter in model.parameters():
        state = {"step": torch.tensor(1e6), "exp_avg": torch.zeros_like(parameter)}
        optimizer.state[parameter] = {**state, "exp_avg_sq": torch.full_like(parameter, 4.0)}

    class Task:
        def loss(self, outputs, y):
            return 0.5 * (outputs * torch.tensor(scale)).square().sum(1).mean()

    class Batches:
        def first(self, count):
            return torch.eye(len(scale)) * len(scale) ** 0.5, torch.zeros(len(scale))

    return Components(model=model, task=Task(), optimizer=optimizer, batches=Batches(), steps=1)


def test_sharpness_of_a_quadratic_loss_is_its_largest_eigenvalue_over_the_root_of_v():
    components = linear_problem([1.0, 2.0, 3.0])
    before = copy.deepcopy(components.model.state_dict())
    sharpness = preconditioned_sharpness(components, 3, 40)
    assert sharpness == pytest.approx(9 / 2, rel=1e-3)  # sqrt(v) is 2
    for name, value in components.model.state_dict().items():
        assert torch.equal(value, before[name])


def test_ways_start_from_every_random_state_that_a_checkpoint_keeps(monkeypatch):
    components, restored = linear_problem([1.0]), []
    state = torch.get_rng_state()
    for name, value in {"is_available": True, "is_initialized": True, "get_rng_state": "its"}.items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    monkeypatch.setattr(torch.cuda, "set_rng_state", restored.append)
    saved = Saved.of(components)
    torch.rand(1)
    saved.restored(components)
    assert restored == ["its"]
    assert torch.equal(torch.get_rng_state(), state)


def adam_after(steps: int) -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(32, 6)
    for _ in range(steps):
        gradient(model, x)
        optimizer.step()
    return model, optimizer, x


def gradient(model: nn.Module, x: torch.Tensor) -> None:
    model.zero_grad()
    (model(x) ** 2).mean().backward()


def test_torchs_adam_follows_the_formula_through_a_change_of_beta1():
    model, adam, x = adam_after(40)
    compared = ComparedAdam(adam)
    for _ in range(20):
        gradient(model, x)
        compared.param_groups[0].update(lr=0.01, betas=(0.5, 0.999))
        compared.step()
    assert 0 < compared.distance < 1e-4


def test_an_adam_that_forgets_its_moments_at_the_change_would_be_seen(monkeypatch):
    """The control: with first moments set to zero torch's updates are far from the formula's."""
    model, adam, x = adam_after(40)
    compared = ComparedAdam(adam)
    for state in adam.state.values():
        state["exp_avg"].zero_()
    gradient(model, x)
    compared.step()
    assert compared.distance > 0.1


def test_the_authors_order_differs_by_where_eps_stands():
    state = {"exp_avg": torch.zeros(1), "exp_avg_sq": torch.zeros(1), "step": torch.tensor(0.0)}
    small = np.array([1e-6])
    outside = Moments(state).update(small, 0.1, (0.9, 0.999), 1e-8, inside=False)
    inside = Moments(state).update(small, 0.1, (0.9, 0.999), 1e-8, inside=True)
    assert outside == pytest.approx([-0.1 * 1e-6 / (1e-6 + 1e-8)])
    assert inside == pytest.approx([-0.1 * 1e-6 / np.sqrt(1e-12 + 1e-8)])


def test_authors_adam_continues_where_torchs_stands():
    (model, adam, x), (twin, twin_adam, _) = adam_after(40), adam_after(40)
    authors = AuthorsAdam(twin_adam)
    for _ in range(5):
        gradient(model, x)
        adam.step()
        gradient(twin, x)
        authors.step()
    torch.testing.assert_close(twin.weight, model.weight, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_study_measures_every_metric_and_is_repeatable():
    config = compose([*DIGITS, "study.before=60", "study.after=50", "study.examples=100", "study.iterations=5"])
    study = AdamStability(before=60, after=50, examples=100, iterations=5)
    first, second = (study.measure(StudyContext(config)).rows[0] for _ in range(2))
    assert first == second
    assert first["limit_before"] == pytest.approx(38 / 0.01)
    assert first["limit_after"] == pytest.approx(6 / 0.01)
    assert first["adam_distance"] < 1e-3
    assert first["sharpness"] > 0


def test_beta1_alone_changes(monkeypatch):
    seen = []
    monkeypatch.setattr(AdamStability, "_go_on", lambda self, parts, schedule: seen.append(schedule(0)["betas"]) or 0.0)
    study = AdamStability(before=5, after=5, examples=10, iterations=1)
    study.measure(StudyContext(compose([*DIGITS, "optim.betas=[0.9,0.99]"])))
    assert seen == [(0.9, 0.99), (0.5, 0.99), (0.5, 0.99), (0.5, 0.99)]


def test_study_refuses_an_optimizer_without_beta1():
    with pytest.raises(UserError, match="no beta1"):
        AdamStability().measure(StudyContext(compose(["study=adam_stability"])))


def test_study_refuses_weight_decay():
    study, decayed = AdamStability(before=5, after=5, examples=10, iterations=1), "optim.weight_decay=0.1"
    with pytest.raises(UserError, match=r"optim\.weight_decay=0\.1: the Adam of the formula has none; use 0"):
        study.measure(StudyContext(compose([*DIGITS, decayed])))
