"""The largest rate of gradient descent, and projected gradients of deep linear networks."""

import math
from collections.abc import Iterator

import pytest
import torch
from measured import FREE, measured

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.errors import UserError
from normexp.seeding import generator
from normexp.studies.arithmetic.descent import largest_rate
from normexp.studies.base import StudyContext
from normexp.studies.largest_rate import FEATURES, PRECISION, LargestRate, stays
from normexp.training.build import build_norm

SMALL_RATE = ("study=largest_rate", "study.depth=1", "study.width=8", "study.examples=16", "study.updates=100")


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [("norm=none",), FREE, ("norm=none", "study.momentum=0.5")])
def test_gradient_descent_stays_up_to_two_over_the_curvature(overrides):
    row = measured(*SMALL_RATE, *overrides).rows[0]
    assert row["formula"] == pytest.approx(2 * (1.5 if "study.momentum=0.5" in overrides else 1) / row["curvature"])
    assert abs(row["rate"] - row["formula"]) < row["remainder"] < 0.1 * row["formula"]
    assert row["survived"] >= 64 if overrides == FREE else row["survived"] <= 4


def rate_of_the_linear_descent(study: LargestRate, context: StudyContext) -> float:
    """Return what the study would find if the loss were e'He / 2, e being what its start is away from the minimum."""
    net = study._net(build_norm(context.config), context.seed)
    x = torch.randn(study.examples, FEATURES, dtype=torch.double, generator=generator(context.seed, "examples"))
    weights, source = list(net.parameters()), generator(context.seed, "away")
    away = [w.square().mean().sqrt() * torch.randn(w.shape, dtype=w.dtype, generator=source) for w in weights]
    jacobian = torch.stack([
        torch.cat([part.flatten() for part in torch.autograd.grad(each, weights, retain_graph=True)])
        for each in net(x).flatten()
    ])  # fmt: skip
    hessian, start = jacobian.T @ jacobian / len(x), torch.cat([each.flatten() for each in away]).detach()

    def losses(rate: float) -> Iterator[float]:
        e, velocity = start, torch.zeros_like(start)
        yield float(e @ hessian @ e)
        for _ in range(study.updates):
            velocity = study.momentum * velocity + hessian @ e
            e = e - rate * velocity
            yield float(e @ hessian @ e)

    low = 1 / float(torch.linalg.matrix_norm(hessian, 2))
    return largest_rate(lambda rate: stays(losses(rate)), low, PRECISION)


@pytest.mark.parametrize("overrides", [("norm=none",), FREE, ("norm=none", "study.momentum=0.5")])
def test_what_is_above_two_over_the_curvature_is_that_of_finitely_many_updates(overrides):
    """The remainder is that of a typical start; of the one that is drawn it is known."""
    context = StudyContext(compose([*SMALL_RATE, "study.updates=20", *overrides]))
    study = instantiate(context.config["study"])
    row = study.measure(context).rows[0]
    assert row["rate"] == pytest.approx(rate_of_the_linear_descent(study, context), rel=2 * PRECISION)
    assert row["rate"] > (1 + 4 * PRECISION) * row["formula"]  # which the formula by itself does not say


@pytest.mark.slow
def test_mini_batches_lower_the_largest_rate():
    row = measured(*SMALL_RATE, "norm=none", "study.batch=4").rows[0]
    assert row["rate"] < row["formula"] - row["remainder"]


SMALL_LINEAR = ("study=deep_linear", "study.depth=6", "study.examples=60", "study.updates=4")


def test_batch_norm_projects_the_gradient_to_rounding_and_layer_norm_does_not():
    for row in measured(*SMALL_LINEAR, "norm=batch", "norm.eps=1e-30").rows:
        assert abs(row["gradient"] - row["formula"]) < row["rounding"]
    for norm in ("norm=batch", "norm=layer"):
        row = measured(*SMALL_LINEAR, norm).rows[0]
        assert abs(row["gradient"] - row["formula"]) > 10 * row["rounding"]
    assert math.isnan(measured(*SMALL_LINEAR, "norm=none").rows[0]["formula"])


@pytest.mark.parametrize("widths", ["[16]", "[16,16]"])
def test_a_slope_wants_two_widths(widths):
    with pytest.raises(UserError, match=r"study\.widths=.*: a slope needs two different widths or more, each once"):
        measured("study=orthogonalization", "norm=batch", "study.depth=10", f"study.widths={widths}")
