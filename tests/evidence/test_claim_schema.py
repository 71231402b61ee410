"""Claims as data: what a YAML entry may say, what each mistake is told in one line, and the spellings of old."""

import math
from typing import Any

import pytest
from claim_maker import check_claim
from curve_maker import METRIC
from judged_claims import ARMS, AXES, METRICS
from one_line import one_line_error

from normexp.errors import UserError
from normexp.evidence.claims import Claim
from normexp.evidence.claims.estimands import kind_at
from normexp.evidence.claims.fields import Place

SOUND = {
    "text": "t", "source": "s", "compare": "difference", "of": "BN", "than": "LN", "metric": METRIC, "in": "> 0",
}  # fmt: skip
LONE = {"text": "t", "source": "s", "of": "BN"}  # what every claim has


def check(data: dict[str, Any], **changes: Any) -> Any:
    merged = {key: each for key, each in {**data, **changes}.items() if each is not None}
    return check_claim(merged, ARMS, METRICS, AXES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compare": "diffrence"}, "did you mean difference"),
        ({"compare": None}, "compare is missing"),
        ({"of": "BM"}, "did you mean BN"),
        ({"of": 3}, "of: 3 names no arm"),
        ({"of": {"batch_size": 2}}, "names no arm"),
        ({"of": None}, "of: is missing"),
        ({"than": "PLAIN"}, "arm 'PLAIN' does not exist"),
        ({"than": "BN"}, "compared with itself"),
        ({"than": ["BN"]}, "compared with itself"),
        (
            {"than": {"arm": "LN", "batch_size": 2}},
            "LN at batch_size=2 is compared with BN at every batch_size; one .* {arm: BN, ",
        ),
        ({"of": {"arm": "BN", "batch_size": 2}}, "BN at batch_size=2 is compared with LN at every batch_size"),
        ({"than": None}, "than: is missing"),
        ({"metric": "test/acuracy"}, f"did you mean {METRIC}"),
        ({"metrc": METRIC}, "metrc: key 'metrc' does not exist.* did you mean metric"),
        ({"target": 0.9}, "key 'target' does not exist"),
        ({"text": None}, "text: is missing"),
        ({"source": ""}, "source: is missing"),
        ({"source": 3}, "source: 3 is not a text"),
        ({"in": "higher"}, "in: 'higher' is no region; allowed: `> NUMBER`"),
        ({"in": "> one"}, "no region"),
        ({"in": "> nan"}, "no region"),
        ({"in": ">= 0"}, "in: '>= 0': a half line is open, .* write `> 0`"),
        ({"in": "<=-0.5"}, "in: '<=-0.5': a half line is open, .* write `< -0.5`"),
        ({"in": [2, 1]}, "no region"),
        ({"in": [0, 0.0]}, "is one number: no finite number of seeds shows equality"),
        ({"in": [True, 1]}, "no region"),
        ({"in": "within -1 of 0"}, "margin above 0"),
        ({"in": "within 0 of 0"}, "margin above 0"),
        ({"in": "within 0.1 of printed 7,25"}, "published number"),
        ({"at": "end"}, "at: 'end' is none of last, best, mean, range, step N"),
        ({"at": 100}, "at: 100 is not a text"),
        ({"better": "more"}, "better: the name 'more' does not exist; allowed: higher, lower"),
        ({"better": "lower"}, "better: 'lower': of test/accuracy the higher is better, as its name tells"),
        ({"where": {"batchsize": 2}}, "did you mean batch_size"),
        ({"where": {"batch_size": 3}}, "value of batch_size '3'"),
        ({"where": {"seed": 0}}, "seed is no axis"),
        ({"where": [2]}, "where: .* is not a mapping"),
        ({"metric": "probe/width", "at": "best"}, "say better"),
        ({"kind": "theorem"}, "allowed: exact, full scale, scaled, own"),
    ],
)
def test_each_mistake_is_one_line(changes: dict[str, Any], message: str) -> None:
    check(SOUND)
    with one_line_error(message):
        check(SOUND, **changes)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"compare": "value", "metric": METRIC}, "in: is missing"),
        ({"compare": "equals", "metric": METRIC, "tolerance": 0.0}, "either value or than"),
        ({"compare": "equals", "metric": METRIC, "tolerance": 0.0, "value": 1, "than": "LN"}, "either value or than"),
        ({"compare": "equals", "metric": METRIC, "value": 1.0}, "tolerance: is missing"),
        ({"compare": "equals", "metric": METRIC, "value": 1.0, "tolerance": -1}, "tolerance: -1: must be 0 or more"),
        (
            {"compare": "follows", "metric": METRIC, "formula": METRIC, "at": "evry"},
            "at: 'evry' is none of last, every, step N",
        ),
        ({"compare": "ratio", "metric": METRIC, "than": "LN", "in": "> 0"}, "a ratio is above 0"),
        ({"compare": "ratio", "metric": METRIC, "than": "LN", "in": "> -1"}, "a ratio is above 0"),
        ({"compare": "steps", "metric": METRIC, "than": "LN", "in": "> 1"}, "target: is missing"),
        ({"compare": "steps", "metric": METRIC, "than": "LN", "in": "> 1", "target": "best of LM"}, "mean LN"),
        ({"compare": "steps", "metric": METRIC, "than": "LN", "in": "> 1", "target": "soon"}, "published number"),
        ({"compare": "steps", "metric": METRIC, "than": "LN", "in": "> 1", "target": "< 0.9"}, "'< 0.9' is no target"),
        ({"compare": "steps", "metric": METRIC, "than": "LN", "in": "> 1", "target": "never"}, "'never' is no target"),
        ({"compare": "steps", "metric": "probe/width", "than": "LN", "in": "> 1", "target": 1}, "say better"),
        ({"compare": "trend", "metric": METRIC, "axis": "batchsize", "in": "> 0"}, "did you mean batch_size"),
        (
            {"compare": "trend", "metric": METRIC, "axis": "batch_size", "in": "> 0", "where": {"batch_size": 2}},
            "nothing varies",
        ),
        ({"compare": "count", "event": "explodes"}, "allowed: diverges, stays finite, never reaches"),
        ({"compare": "count", "event": "diverges", "metric": METRIC}, "'diverges' takes no metric"),
        ({"compare": "count", "event": "never reaches", "metric": METRIC}, "'never reaches' needs target"),
    ],
)
def test_each_estimand_knows_what_it_needs(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check(LONE, **keys)


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(UserError, match="not a mapping"):
        check_claim("BN is best", ARMS, METRICS)  # type: ignore[arg-type]


def test_where_is_taken_in_by_every_arm_that_does_not_say_otherwise() -> None:
    found = check(SOUND, where={"batch_size": 2}, than=["LN", {"arm": "plain", "batch_size": 16}])
    assert found.of == Place("BN", (("batch_size", 2),))
    assert found.than == [Place("LN", (("batch_size", 2),)), Place("plain", (("batch_size", 16),))]


def test_the_others_are_all_other_arms_at_the_same_place() -> None:
    found = check(SOUND, of={"arm": "LN", "batch_size": 2}, than="the others")
    assert [str(place) for place in found.rivals] == ["BN at batch_size=2", "plain at batch_size=2"]


def test_a_target_is_a_number_a_printed_text_or_the_best_of_an_arm() -> None:
    steps = {**LONE, "compare": "steps", "metric": METRIC, "than": "LN", "in": "> 1", "where": {"batch_size": 2}}
    assert check(steps, target=0.9).target == 0.9
    assert check(steps, target="72.2%").target == pytest.approx(0.722)
    assert check(steps, target="best of plain").target == Place("plain", (("batch_size", 2),))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("> 0", 0.0, math.inf),
        (">2", 2.0, math.inf),
        ("< -0.01", -math.inf, -0.01),
        ([-1, 2.5], -1.0, 2.5),
        ("within 0.5 of 3.2", 3.2 - 0.5, 3.2 + 0.5),
        ("within 0.01 of printed 72.2%", 0.722 - 0.0105, 0.722 + 0.0105),
        ("within 0 of printed .967", 0.967 - 0.0005, 0.967 + 0.0005),
    ],
)
def test_a_region_is_a_bound_a_pair_or_a_neighbourhood(text: Any, low: float, high: float) -> None:
    region = check(SOUND, **{"in": text}).region
    assert (region.low, region.high) == pytest.approx((low, high))


EQUAL = {**LONE, "compare": "equals", "metric": METRIC, "value": 1.0, "tolerance": 0.0}


@pytest.mark.parametrize(
    ("data", "scale", "kind"),
    [
        (EQUAL, "cpu", "exact"),
        (SOUND, "paper", "full scale"),
        (SOUND, "cpu", "scaled"),
        ({**SOUND, "kind": "own"}, "paper", "own"),
        ({**SOUND, "kind": "full scale"}, "cpu", "scaled"),
        ({**EQUAL, "kind": "full scale"}, "paper", "full scale"),
    ],
)
def test_the_kind_of_a_verdict_follows_from_estimand_and_scale(data: dict[str, Any], scale: str, kind: str) -> None:
    claim: Claim = check(data)
    assert kind_at(claim, scale) == kind
