"""Errors in both domains against the network's own predictions; weights; the figure's tables."""

import numpy as np
import pytest

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies.base import StudyContext
from normexp.studies.covariate_shift import CovariateShift

LINE = ["dataset=covariate_shift", "dataset.validation=0", "inputs=none", "model=linear", "optim.lr=0.05", "steps=200"]


def measured(*overrides: str):
    return CovariateShift().measure(StudyContext(compose([*LINE, *overrides])))


@pytest.mark.parametrize("inputs", [["inputs=none"], ["inputs=standardize", "inputs.fit_on=all", "steps=600"]])
def test_lines_are_those_of_least_squares_in_each_domain(inputs: list[str]):
    outcome = measured(*inputs)
    curves = {name: np.array([row[name] for row in outcome.tables["curves"]]) for name in ("x", "learned_a", "law")}
    slope = np.diff(curves["learned_a"]) / np.diff(curves["x"])
    x = np.linspace(-2.5, -0.5, 1001)  # domain 1: centre -1.5, side 2
    expected = np.polyfit(x, np.sin(x + 1), 1)
    assert slope == pytest.approx(expected[0], abs=0.06)
    assert curves["law"] == pytest.approx(np.sin(curves["x"] + 1))


def test_a_shift_costs_in_the_other_domain_and_no_shift_costs_nothing():
    (shifted,), (same,) = measured().rows, measured("dataset.shift=0").rows
    assert shifted["other_domain_rmse"] > 5 * shifted["own_domain_rmse"]
    assert same["other_domain_rmse"] == pytest.approx(same["own_domain_rmse"], rel=0.05)
    assert shifted["difference"] > 10 * same["difference"]


def test_importance_weights_fit_the_line_where_the_other_domain_is():
    overlapping = ["dataset.density=normal", "dataset.shift=1"]
    (plain,) = measured(*overlapping).rows
    (weighted,) = measured(*overlapping, "dataset.importance_weights=true").rows
    assert weighted["other_domain_rmse"] < 0.6 * plain["other_domain_rmse"]
    assert weighted["own_domain_rmse"] > plain["own_domain_rmse"]


def test_boxes_and_sample_are_those_of_the_domains():
    tables = measured().tables
    first, second = tables["boxes"]
    assert [first["x0"], first["x1"]] == pytest.approx([-2.5, -0.5], abs=0.05)
    assert [second["x0"], second["x1"]] == pytest.approx([0.5, 2.5], abs=0.05)
    assert all(first["x0"] <= row["x"] <= first["x1"] for row in tables["sample"][:200])


def test_equal_setups_give_equal_outcomes():
    assert measured() == measured()


def test_another_data_set_is_refused():
    with pytest.raises(UserError, match="dataset=digits has no two domains"):
        CovariateShift().measure(StudyContext(compose([])))
