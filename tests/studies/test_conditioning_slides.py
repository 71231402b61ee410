"""Which formulas of the slides are right: as the audit of the sources found by hand."""

import pytest
import torch

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies.base import StudyContext
from normexp.studies.conditioning_slides import ConditioningSlides, Expansion

HOUSES = ["dataset=house_prices", "inputs=none", "model=mlp", "model.widths=[16]", "model.activation=sigmoid"]


def test_verdicts():
    outcome = ConditioningSlides().measure(StudyContext(compose(HOUSES)))
    verdicts = {(each.quantity, each.reading): each.agrees for each in outcome.numbers}
    right = [name for name, agrees in verdicts.items() if agrees]
    assert len(verdicts) == len(outcome.numbers) == 12
    assert right == [
        ("Hessian", ""),
        ("update rule", ""),
        ("update rule with diag(lambda_max, ..., lambda_min)", "in the coordinates of eigenvectors"),
        ("cap of the learning rate", "beyond it, an error changes its sign from step to step"),
        ("all the weight units get updated with the same sign", "all weights of one unit, one example"),
    ]
    assert outcome.rows[0]["wrong"] == 7


def test_the_expansion_with_one_half_is_exact():
    torch.manual_seed(0)
    x, y = torch.randn(40, 3).double() + 1, torch.randn(40, 2).double()
    found = Expansion.of(x, y, seed=0)
    torch.testing.assert_close(found.along(found.hessian) / 2, found.excess)
    torch.testing.assert_close(found.gradient, found.away @ (x.T @ x / 40))
    assert found.gradient_at_minimum.norm() < 1e-12


def test_classes_are_no_targets_of_the_slides():
    with pytest.raises(UserError, match="study=conditioning_slides: dataset=digits is no regression"):
        ConditioningSlides().measure(StudyContext(compose(["dataset=digits", "model=mlp"])))
