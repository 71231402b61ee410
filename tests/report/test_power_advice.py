"""What `--power` advises where so many seeds would be needed that another question is better."""

import json
from dataclasses import replace

import pytest
from claim_maker import read_claim
from drawn import made
from fabricated import Fabric

from normexp.evidence.claims.power import smallest_sign_p
from normexp.evidence.stats import SignTest
from normexp.experiments.grids import Selection
from normexp.experiments.selection import choice_path
from normexp.report.power import power

ADVICE = "rather an equivalence, `in: within MARGIN of 0`"
COMPARED = {
    "text": "t", "source": "Table 1", "compare": "difference", "metric": "test/accuracy",
    "of": "With BN", "than": "Plain",
}  # fmt: skip
AHEAD = (0.03, -0.027, 0.0)  # by 0.001, with a deviation that is thirty times as large


@pytest.mark.parametrize(("region", "advised"), [("> 0", True), ("within 0.0011 of 0", False)])
def test_an_equivalence_is_advised_unless_the_claim_is_one(fabricate: Fabric, region: str, advised: bool) -> None:
    experiment = made(fabricate, claims=[read_claim({**COMPARED, "in": region})])
    experiment.run(
        lambda arm, point, random: [
            {"step": 0, "test/accuracy": 0.5 + (AHEAD[point["seed"]] if arm == "With BN" else 0.0)}
        ]
    )
    *_, line = power(experiment.experiment, fabricate.root)
    assert line.startswith("- t: more than a thousand if the effect is as observed") or "fresh seeds" in line
    assert (ADVICE in line) is advised


FITTED = {"text": "f", "source": "Table 1", "compare": "value", "metric": "test/accuracy", "of": "Plain", "in": "> 0.9"}


@pytest.mark.parametrize(
    ("accuracies", "said"),
    [
        # of two claims the least p by signs is 2 * 2 / 2^n: 0.0625 for 6 seeds, 0.031 for 7
        ((1.0, 1.0, 1.0), "all 3 agree, and equal values leave only their signs; 7 fresh seeds that agree can decide"),
        ((0.9, 0.9, 0.9), "cannot be told from 3 seeds"),
    ],
)
def test_seeds_that_signs_take_are_told(fabricate: Fabric, accuracies: tuple[float, ...], said: str) -> None:
    experiment = made(fabricate, claims=[read_claim(FITTED), read_claim(COMPARED | {"in": "> 0"})])
    experiment.run(
        lambda arm, point, random: [
            {"step": 0, "test/accuracy": accuracies[point["seed"]] if arm == "Plain" else 0.9 - AHEAD[point["seed"]]}
        ]
    )
    (line,) = (line for line in power(experiment.experiment, fabricate.root) if line.startswith("- f: "))
    assert said in line


@pytest.mark.parametrize("n", [1, 2, 6])
def test_the_least_p_by_signs_is_that_of_the_test(n: int) -> None:
    assert smallest_sign_p(n) == min(1.0, 2 * SignTest((1.0,) * n).p_above(0.0))


def test_seeds_that_broke_ties_are_used_as_well(fabricate: Fabric) -> None:
    experiment = made(fabricate, claims=[read_claim({**COMPARED, "in": "> 0"})])
    experiment.run(lambda arm, point, random: [{"step": 0, "test/accuracy": 0.5 + point["seed"] / 100}])
    chosen = {"search": {"optim.lr": [0.1, 0.2]}, "seeds": [100], "ties": [101, 102], "metric": "validation/accuracy"}
    tuned = replace(experiment.experiment, select=Selection.model_validate(chosen))
    path = choice_path(tuned, fabricate.root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"chosen": {}, "tried": {}, "metric": "validation/accuracy", "seeds": [100]}))
    _, used, *_ = power(tuned, fabricate.root)
    assert "100, 101, 102; " in used
    assert "from 103 on" in used
