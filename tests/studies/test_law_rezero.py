"""ReZero begins as the identity; layer norm stretches."""

import math

import numpy as np
import pytest
from measured import measured

from normexp.config import compose
from normexp.config.instantiate import instantiate
from normexp.studies.base import StudyContext
from normexp.studies.batch_norm_explosion import LIMIT
from normexp.studies.rezero import ReZero

SMALL_NET = ("study=rezero", "study.depth=16", "study.width=128", "study.features=64", "study.examples=4")


@pytest.mark.parametrize(
    ("version", "growth"), [("rezero", 0.0), ("plain", 0.0), ("layer_norm", 16 * math.log10(LIMIT))]
)
def test_rezero_begins_as_the_identity_and_layer_norm_stretches(version, growth):
    rows = [measured(*SMALL_NET, f"study.version={version}", f"seed={seed}").rows for seed in range(6)]
    assert rows[0][0]["log10_formula"] == pytest.approx(growth)
    mean = np.mean([row["log10_growth"] for (row,) in rows])
    assert mean == pytest.approx(growth, abs=1e-6 if version == "rezero" else 0.35)


def test_layer_norm_stretches_a_squared_gradient_by_the_derived_factor_at_finite_width():
    """For a random gradient that has nothing along the norm's output, given what enters ReLU, of every unit."""
    n = 256
    z = np.random.default_rng(0).standard_normal((10_000, n))
    h, active = np.maximum(z, 0), z > 0
    u = (h - h.mean(1, keepdims=True)) / h.std(1, keepdims=True)
    kept = (active * (1 - 1 / n - u**2 / n)).sum(1) / (n - 1)  # of the gradient's square, behind the norm and ReLU
    variance = h.var(1) * 2 * LIMIT  # over that of a rectified normal
    factor = 2 * (n - 1) / n * kept / variance
    known = (variance - 1) - (2 * active.mean(1) - 1)  # of mean -1 / n, and most of the factor's own scatter
    assert n * (factor - 1 + known).mean() + 1 == pytest.approx(2.34, abs=0.2)
    assert "(1 + 2.3 / n)" in str(ReZero.__doc__)


def test_rezero_between_dead_ends_has_no_growth():
    """Where no unit of the first layer is on, 0 over 0 had been recorded as a Jacobian that vanishes."""
    dead = ("study=rezero", "study.depth=2", "study.width=2", "study.features=1", "study.examples=1")
    rows = [row for seed in range(6) for row in measured(*dead, f"seed={seed}").rows]
    assert {row["mean_square"] > 0 for row in rows} == {True, False}
    assert all((row["log10_growth"] == 0) if row["mean_square"] else math.isnan(row["log10_growth"]) for row in rows)


def test_rezero_with_a_branch_switched_on_is_no_identity():
    assert measured(*SMALL_NET, "study.start=1").rows[0]["log10_growth"] > 2
    assert measured(*SMALL_NET, "study.version=residual").rows[0]["log10_growth"] > 0.5


def test_rezero_learns_by_adagrad():
    rows = measured(*SMALL_NET, "study.depth=4", "study.epochs=2", "dataset=digits").rows
    assert rows[2]["loss"] < rows[1]["loss"] < math.log(10) + 0.1
    assert math.isnan(rows[1]["log10_formula"])


def test_rezero_learns_from_data_that_cannot_be_written():
    config = compose([*SMALL_NET, "study.depth=4", "study.epochs=1", "dataset=digits"])
    context = StudyContext(config)
    for array in (context.data.train.x, context.data.train.y):
        array.setflags(write=False)  # as those of a data set that was read from the cache
    assert instantiate(config["study"]).measure(context).rows[1]["loss"] > 0
