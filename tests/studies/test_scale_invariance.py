"""Larger weights, smaller gradients: exact for batch norm, and what the slides say of NormProp."""

import pytest

from normexp.config import compose
from normexp.errors import UserError
from normexp.studies.base import StudyContext
from normexp.studies.scale_invariance import ScaleInvariance


def measured(norm: str, study: ScaleInvariance | None = None):
    return (study or ScaleInvariance()).measure(StudyContext(compose([f"norm={norm}"])))


@pytest.mark.parametrize("norm", ["batch", "layer", "weight", "normprop"])
def test_inverse_law_is_exact(norm):
    (row,) = measured(norm).rows
    assert row["output_change"] < 1e-12
    assert row["inverse_law_error"] < 1e-12
    assert row["input_gradient_change"] < 1e-12
    assert row["gradient_exponent"] == pytest.approx(-1, abs=1e-12)


def test_linear_layer_follows_every_factor():
    """y = W x: the output is multiplied by c, the weights' gradient does not know c, the inputs' gradient does."""
    outcome = measured("none", ScaleInvariance(factors=(0.5, 4.0)))
    (row,) = outcome.rows
    for metric in ("output_change", "inverse_law_error", "input_gradient_change"):
        assert row[metric] == pytest.approx(3)
    assert row["gradient_exponent"] == pytest.approx(0, abs=1e-12)
    assert [each["gradient_norm"] for each in outcome.tables["factors"]] == pytest.approx([1, 1])


def test_eps_bends_the_law_at_small_weights():
    """With variance v of W x the gradient takes the factor (v + eps) / (v c^2 + eps): about eps / (v c^2) too small."""
    (row,) = measured("batch", ScaleInvariance(exact=False)).rows
    assert 1e-4 < row["inverse_law_error"] < 1e-2


def test_what_the_slides_say_of_batch_norm_and_normprop():
    assert [number.agrees for number in measured("batch").numbers] == [True, True]
    assert [number.agrees for number in measured("normprop").numbers] == [True, False]
    assert measured("layer").numbers == []


@pytest.mark.parametrize("factors", [(2.0,), (1.0,), (3.0, 3.0)])
def test_one_factor_gives_no_exponent(factors):
    with pytest.raises(UserError, match="an exponent needs two different factors"):
        measured("batch", ScaleInvariance(factors=factors))
