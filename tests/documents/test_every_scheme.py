"""What says "every scheme" has every scheme: one that is added later makes such a sentence false."""

import re

import pytest

from normexp.config.options import options
from normexp.experiments.load import content
from tests.documents.evidence import table
from tests.documents.test_quoted_numbers import EXPERIMENTS

EVERY = re.compile(r"(under|with) every scheme|every scheme o[fn]\b", re.IGNORECASE)


def says_so(name: str) -> bool:
    said = content(name)
    abouts = [each.get("about", "") for each in (said, *filter(None, said["scales"].values()))]
    return any(map(EVERY.search, [said["title"], said["item"], *abouts]))


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if says_so(name)])
def test_an_experiment_on_every_scheme_has_an_arm_for_each(name: str) -> None:
    assert set(options("norm")) - {"stack"} <= {arm["norm"] for arm in content(name)["arms"].values()}


def test_every_scheme_that_the_figure_of_exponents_leaves_out_is_scale_invariant() -> None:
    figure = next(each for each in content("scale_invariance")["figures"] if each["name"] == "exponent")
    left = [row for arm, row in table("scale_invariance/paper").items() if arm not in figure["arms"]]
    assert f"The {len(left)} schemes that are not shown are at -1" in " ".join(figure["caption"].split())
    assert {round(float(row["gradient_exponent mean"]), 6) for row in left} == {-1.0}
