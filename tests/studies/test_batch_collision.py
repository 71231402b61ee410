"""Constructed collisions against torch's batch normalization; near-collisions against hand-made representations."""

import math

import pytest
import torch
import torch.nn.functional as F
from measured import measured

from normexp.config import compose
from normexp.errors import UserError
from normexp.evidence.audit import CORRECT, judged
from normexp.studies.base import StudyContext
from normexp.studies.batch_collision import collisions, copy_of, partner, represented

TINY = [
    "study=batch_collision", "model=mlp", "model.widths=[12]", "steps=5", "threads=1",
    "study.sizes=[2,64]", "study.rounds=1",
]  # fmt: skip


def normalized(batch):
    return F.batch_norm(batch, None, None, training=True, eps=1e-30)


def drawn(*shape):
    return torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(sum(shape)))


def collided(*overrides):
    return measured(*TINY, *overrides)


@pytest.mark.parametrize("n", [2, 3, 8, 100])
def test_every_other_batch_has_a_partner(n):
    first, others = drawn(n, 3), drawn(n - 1, 3) * 5 + 40
    z = normalized(first)[0]
    other = partner(z, others)
    torch.testing.assert_close(normalized(torch.cat([other[None], others]))[0], z)
    assert (other - first[0]).norm() > 10


def test_rescaled_batch_collides_whole():
    first = drawn(9, 3)
    second = copy_of(first)
    assert (second - first).norm() > 1
    torch.testing.assert_close(normalized(first), normalized(second))


def test_near_collision_is_nearer_than_oneself():
    first = torch.tensor([[0.0], [10.0], [20.0], [math.nan]])
    second = torch.tensor([[4.0], [10.0], [3.0], [7.0]])
    found = collisions(first, second, torch.tensor([0, 1, 0, 1]))
    # own distances 4, 0, 17; others of 0: 10, 3; of 1: 6, 7; of 2: 16, 10
    assert found["near_collisions"] == pytest.approx(3 / 6)
    assert found["near_collisions_between_classes"] == pytest.approx(1 / 4)
    assert found["examples_hit"] == pytest.approx(2 / 3)
    assert found["wobble"] == pytest.approx((21 / 3) / ((10 + 3 + 6 + 7 + 16 + 10) / 6))


def test_representation_is_put_back_in_the_examples_order():
    setup = StudyContext(compose([*TINY, "norm=none"]))
    test = setup.components.evaluated["test"]
    rows = represented(setup.components, test, 100, torch.Generator().manual_seed(0))
    there = ~rows.isnan().any(1)
    assert int(there.sum()) == 300
    expected = setup.components.model.hidden(test.take(torch.arange(360))[0].flatten(1)).double()
    torch.testing.assert_close(rows[there], expected[there], rtol=1e-5, atol=1e-6)


def test_batch_norm_collides_in_training_mode():
    found = collided("norm=batch")
    for row in found.rows:
        assert row["affine_after"] < 1e-12 < 1 < row["affine_before"]
        assert row["partner_after"] < 1e-12 < 0.1 < row["partner_before"]
    small, large = found.rows
    assert small["near_collisions"] > 0.1 > large["near_collisions"]
    assert small["wobble"] > large["wobble"] > 0
    for number in found.numbers:
        assert judged(number.printed, str(number.computed), str(number.agrees)) == CORRECT
    assert len(found.numbers) == 2
    for row in found.tables["construction"]:
        assert row["first_normalized"] == pytest.approx(row["second_normalized"], abs=1e-9)
        assert row["second"] == pytest.approx(0.5 * row["first"] - 2)


@pytest.mark.parametrize("overrides", [["norm=batch", "study.training=false"], ["norm=layer"], ["norm=none"]])
def test_what_does_not_see_the_batch_never_collides(overrides):
    found = collided(*overrides)
    for row in found.rows:
        assert row["near_collisions"] == row["examples_hit"] == 0
        assert row["wobble"] < 1e-5
        assert row["affine_after"] > 0.5
    assert not found.numbers


def test_regression_is_refused():
    with pytest.raises(UserError, match="dataset=house_prices has no classes"):
        collided("dataset=house_prices")


def test_a_batch_above_the_test_split_is_refused_before_the_training(monkeypatch):
    monkeypatch.setattr("normexp.studies.batch_collision.trained", lambda _: pytest.fail("it trained"))
    message = r"study\.sizes=\[2, 361\]: the test split has 360 examples; give no larger batch"
    with pytest.raises(UserError, match=message):
        collided("study.sizes=[2,361]")
