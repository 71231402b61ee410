"""What `--power` advises where so many seeds would be needed that another question is better."""

import json
from dataclasses import replace

import pytest
from claim_maker import read_claim
from drawn import made
from fabricated import Fabric

from normexp.evidence.claims.power import smallest_sign_p
from normexp.evidence.stats import Design, SignTest
from normexp.experiments.grids import Selection
from normexp.experiments.selection import choice_path
from normexp.report.commands.power import _other_question, power

ADVICE = "rather an equivalence, `in: within MARGIN of 0`"
COMPARED = {
    "text": "t", "source": "Table 1", "compare": "difference", "metric": "test/accuracy",
    "of": "With BN", "than": "Plain",
}  # fmt: skip
ANY = ("text", "source", "metric", "of")  # that most claims have
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


@pytest.mark.parametrize(
    ("keys", "advised"),
    [
        ({"compare": "ratio", "than": "Plain", "in": "> 1"}, "`in: within MARGIN of 1`"),
        ({"compare": "value", "in": "< 0.9"}, "`in: within MARGIN of 0.9`"),
        ({"compare": "equals", "value": 1.0, "tolerance": 0.1}, ""),
    ],
)
def test_an_equivalence_is_advised_around_the_end_of_the_region(keys: dict[str, object], advised: str) -> None:
    """Around 0 the program refuses one of a ratio, and of a value it is another question."""
    claim = read_claim({key: value for key, value in {**COMPARED, **keys}.items() if key in keys or key in ANY})
    assert _other_question(claim) == (f"; rather an equivalence, {advised}" if advised else "")


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


RACE = {
    "text": "r", "source": "Table 1", "compare": "steps", "metric": "test/accuracy", "target": 0.5,
    "of": "With BN", "than": "Plain", "in": "> 1",
}  # fmt: skip
LOOKS = Design((0, 1, 2, 3), (2, 4))


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (None, []),  # 2 / (8 choose 4) = 0.029
        # the second look has 0.38 of the level: 2 / (8 choose 4) / 0.38 = 0.075, 2 / (10 choose 5) / 0.38 = 0.021
        (LOOKS, ["with 4 seeds in 2 looks ranks give no claim here an adjusted p below 0.075; 5 seeds in 2 looks"]),
    ],
)
def test_ranks_are_planned_with_the_looks_of_the_design(
    fabricate: Fabric, design: Design | None, said: list[str]
) -> None:
    experiment = made(fabricate, claims=[read_claim(RACE)], grid={"seed": [0, 1, 2, 3]})
    experiment.run(lambda arm, point, random: [{"step": step, "test/accuracy": 0.1} for step in (0, 5)])
    lines = power(replace(experiment.experiment, design=design), fabricate.root)
    assert [line.removesuffix(" can decide") for line in lines if line.startswith("with ")] == said


def test_seeds_that_signs_take_are_told_with_the_looks_of_the_design(fabricate: Fabric) -> None:
    """Five seeds have 2 / 2^5 = 0.0625; six at the second look 0.031 / 0.38 = 0.082, seven 0.041."""
    experiment = made(fabricate, claims=[read_claim(FITTED)], grid={"seed": [0, 1, 2, 3]})
    experiment.run(lambda arm, point, random: [{"step": 0, "test/accuracy": 1.0}])
    *_, line = power(replace(experiment.experiment, design=LOOKS), fabricate.root)
    assert "all 4 agree, and equal values leave only their signs; 7 fresh seeds in 2 looks that agree can" in line


def test_seeds_of_an_effect_are_planned_with_the_looks_of_the_design(fabricate: Fabric) -> None:
    experiment = made(fabricate, claims=[read_claim({**COMPARED, "in": "> 0"})], grid={"seed": [0, 1, 2, 3]})
    ahead = (0.03, -0.01, 0.02, 0.0)
    experiment.run(
        lambda arm, point, random: [
            {"step": 0, "test/accuracy": 0.5 + (ahead[point["seed"]] if arm == "With BN" else 0.0)}
        ]
    )
    *_, once = power(experiment.experiment, fabricate.root)
    *_, looked = power(replace(experiment.experiment, design=LOOKS), fabricate.root)
    few, many = (int(line.removeprefix("- t: ").partition(" ")[0]) for line in (once, looked))
    assert few < many
    assert f"{many} fresh seeds in 2 looks if the effect is as observed" in looked


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
