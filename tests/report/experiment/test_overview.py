"""Tables of several columns: metrics, steps to a target, speed-ups, and what the paper prints, from made-up runs."""

import csv
import math
from typing import Any

import pytest
from drawn import Made, made
from fabricated import Fabric

from normexp.evidence.stats import Interval, paired
from normexp.report.experiment import steps_columns
from normexp.report.experiment.render import rendered
from normexp.report.experiment.table import experiment_table
from normexp.report.frames.measured import read_measured
from normexp.report.tables.formats import csv_text, markdown
from normexp.report.tables.table import Table

ARMS = {name: {"norm": "none"} for name in ("Slow", "Fast", "Half", "Late", "Broken")}
STEPS = range(0, 101, 10)
REACHED = {  # arm -> seed -> first step at which the best of Slow with that seed, .80 or .82 or .84, is met
    "Slow": (100, 90, 80),
    "Fast": (20, 20, 10),
    "Half": (50, 60, None),
    "Late": (None, None, None),
    "Broken": (None, None, None),
}
RACE = {"metric": "test/accuracy", "target": "best of Slow"}


def row(step: int, accuracy: float) -> dict[str, object]:
    return {"step": step, "epoch": step / 10, "test/loss": 2.0 - accuracy, "test/accuracy": accuracy}


def run(arm: str, point: dict[str, Any], _: object) -> list[dict[str, object]]:
    """Return a run that meets the target at its step and stays there, or never does."""
    best, reached = 0.8 + 0.02 * point["seed"], REACHED[arm][point["seed"]]
    last = 50 if arm == "Broken" else 100
    above = (math.inf if reached is None else reached for _ in STEPS)
    return [row(step, best if step >= at else 0.1) for step, at in zip(STEPS, above, strict=True) if step <= last]


@pytest.fixture
def experiment(fabricate: Fabric) -> Made:
    columns = [RACE, {**RACE, "than": "Slow"}, {"metric": "test/accuracy", "at": "best"}, "test/loss"]
    published = [
        {"arm": "Fast", **RACE, "value": "2.1e6", "place": "Table 1"},
        {"arm": "Fast", **RACE, "than": "Slow", "value": "14.8", "place": "Table 1"},
        {"arm": "Late", **RACE, "value": "never", "place": "Table 1"},
    ]
    found = made(fabricate, arms=ARMS, table={"columns": columns}, published=published)
    found.statuses = {("Broken", seed): "diverged" for seed in range(3)}
    found.run(run)
    return found


def table(experiment: Made) -> Table:
    found = read_measured(experiment.experiment, experiment.fabric.root)
    return experiment_table(experiment.experiment, found, {"Runs": ["A note."]})


def column(experiment: Made, title: str) -> dict[str, str]:
    found = table(experiment)
    return {line[0]: line[list(found.heads).index(title)] for line in found.rows}


def plain(experiment: Made) -> dict[str, dict[str, str]]:
    return {line["arm"]: line for line in csv.DictReader(csv_text(table(experiment)).splitlines())}


def test_overview_says_that_its_published_numbers_are_not_judged(experiment):
    assert table(experiment).notes["Set-up"].count("Published numbers are shown beside ours here and not judged.") == 1


def test_overview_says_to_which_target_a_printed_speed_up_is(experiment):
    notes = rendered(experiment.experiment, experiment.fabric.root).table.notes["Runs"]
    places = "Table 1 (steps to best of Slow); Table 1 (speed-up over Slow to best of Slow)"
    assert f"Published numbers from {places}." in notes


def test_overview_has_the_published_numbers_before_their_columns(experiment):
    steps, speed = "steps to best of Slow", "speed-up over Slow to best of Slow [95 %]"
    assert table(experiment).heads == [
        "arm", "published steps", steps, "published speed-up", speed, "test accuracy (%), best", "test loss", "n",
    ]  # fmt: skip
    printed = {line[0]: (line[1], line[3]) for line in table(experiment).rows}
    assert printed == {
        "Slow": ("-", "-"), "Fast": ("2.1e6", "14.8"), "Half": ("-", "-"), "Late": ("never", "-"), "Broken": ("-", "-"),
    }  # fmt: skip


def test_overview_steps_are_medians_with_never_above_all(experiment):
    assert column(experiment, "steps to best of Slow") == {
        "Slow": "90 (80 to 100)",
        "Fast": "20 (10 to 20)",
        "Half": "60 (50 to never), 2 of 3 arrive",
        "Late": "never in 100",
        "Broken": "diverged",
    }


def test_overview_columns_of_one_target_or_one_ratio_at_two_places_have_names_of_their_own(fabricate):
    """Two had one head, and in table.csv the last one alone was left."""
    ratios = [{"metric": "test/loss", "at": at, "relative_to": "Slow"} for at in ("last", "best")]
    found = made(fabricate, arms=ARMS, table={"columns": [RACE, {**RACE, "metric": "test/loss"}, *ratios]})
    found.run(run)
    heads = table(found).heads
    assert heads[1:5] == [
        "steps to best of Slow of test/accuracy", "steps to best of Slow of test/loss",
        "test loss over that of Slow", "test loss over that of Slow, best",
    ]  # fmt: skip
    written = plain(found)["Fast"]
    assert {f"{head} median" for head in heads[1:3]} < set(written)
    assert {"test/loss over Slow mean", "test/loss over Slow best mean"} < set(written)


def test_overview_speed_ups_to_two_targets_and_their_printed_numbers_have_names_of_their_own(fabricate):
    """Two had one head; of what the paper prints for them the second one alone was in table.csv."""
    races = [{**RACE, "target": target, "than": "Slow"} for target in (0.5, 0.9)]
    fast = {"arm": "Fast", "place": "p. 1"}
    printed = [{**race, **fast, "value": value} for race, value in zip(races, "23", strict=True)]
    found = made(fabricate, arms=ARMS, table={"columns": races}, published=printed)
    found.run(run)
    assert table(found).heads[1:5] == [
        "published speed-up over Slow to 50 %", "speed-up over Slow to 50 % [95 %]",
        "published speed-up over Slow to 90 %", "speed-up over Slow to 90 % [95 %]",
    ]  # fmt: skip
    written = plain(found)["Fast"]
    assert [written[f"published speed-up over Slow to {target} %"] for target in (50, 90)] == ["2", "3"]


def test_overview_steps_where_most_runs_never_arrive(fabricate, monkeypatch):
    monkeypatch.setitem(REACHED, "Half", (50, None, None))
    found = made(fabricate, arms=ARMS, table={"columns": [RACE]})
    found.run(run)
    assert column(found, "steps to best of Slow")["Half"] == "never (50 to never), 1 of 3 arrive"


def test_overview_speed_up_is_the_paired_ratio_with_its_interval(experiment):
    logs = [{seed: math.log(step) for seed, step in enumerate(REACHED[arm])} for arm in ("Slow", "Fast")]
    expected = paired(*logs)
    interval = expected.confidence_interval()
    ends = [math.exp(each) for each in (expected.value, interval.low, interval.high)]
    assert ends[0] == pytest.approx((5 * 4.5 * 8) ** (1 / 3))
    shown = column(experiment, "speed-up over Slow to best of Slow [95 %]")
    assert shown["Slow"] == "-"
    row = plain(experiment)["Fast"]
    name = "speed-up over Slow to best of Slow"
    ratio, low, high = (float(row[name + kind]) for kind in ("", " low", " high"))
    assert ratio == pytest.approx(ends[0])
    assert low < ends[1] < ends[2] < high  # it allows for what happened between two evaluations
    assert shown["Fast"] == f"{ratio:#.3g} [{low:#.3g}, {high:.0f}]"
    assert row[f"{name} n"] == "3"


def test_overview_speed_up_of_an_arm_that_never_arrives_is_not_known(experiment):
    """Three runs that never arrive say nothing by rank; what is known of a ratio is said in words."""
    shown = column(experiment, "speed-up over Slow to best of Slow [95 %]")
    assert (shown["Late"], shown["Broken"]) == ("undecided", "undecided")
    words = [
        steps_columns._in_words(Interval(low, high), f"{low}", f"{high}")
        for low, high in ((0, 0.9), (0, 5), (2, math.inf), (0.5, math.inf), (0.5, 5))
    ]
    assert words == ["slower: below 0.9", "undecided: below 5", "faster: above 2", "undecided: above 0.5",
                     "undecided: 0.5 to 5"]  # fmt: skip


def test_overview_plain_steps(experiment):
    row = plain(experiment)["Half"]
    kinds = ("median", "lowest", "highest", "reached", "n")
    assert [row[f"steps to best of Slow {kind}"] for kind in kinds] == ["60.0", "50.0", "inf", "2", "3"]
    assert row["test/accuracy best mean"] != ""
    assert plain(experiment)["Fast"]["published steps"] == "2.1e6"


def test_overview_target_may_be_a_number(fabricate):
    fixed = made(fabricate, arms=ARMS, table={"columns": [{"metric": "test/accuracy", "target": 0.82}]})
    fixed.run(run)
    assert column(fixed, "steps to 82 %")["Slow"] == "90 (80 to never), 2 of 3 arrive"


def test_overview_metrics_as_they_were_without_anything_new(experiment, fabricate):
    simple = made(fabricate, arms=ARMS, table={"columns": ["test/accuracy"]})
    found = experiment_table(simple.experiment, read_measured(experiment.experiment, experiment.fabric.root), {})
    assert found.heads == ["arm", "test accuracy (%)", "n"]
    assert found.rows[0] == ["Slow", "82.0 ± 2.0", "3"]
    assert found.rows[-1] == ["Broken", "diverged", "3"]
    assert csv_text(found).splitlines()[0] == ",".join(
        ["arm", *(f"test/accuracy {kind}" for kind in ("mean", "sd", "finite", "n"))]
    )


def test_overview_says_what_its_columns_mean(experiment):
    text = markdown(table(experiment))
    assert "Steps to best of Slow: until the first evaluation with a test accuracy as good as that, of the same" in text
    assert "Speed-up: steps of Slow over steps of the arm, paired by seed" in text
