"""Claims about steps to a target: several targets, the range beside them, their origin, ceilings, other machines."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from claim_maker import check_claim
from curve_maker import METRIC, cells
from one_line import one_line_error

from normexp.evidence.claims import Claim, Verdict, entry, judge
from normexp.evidence.claims.over_targets import area_between, mean_over_training, target_range
from normexp.evidence.claims.over_targets import over_targets as faster_over_targets
from normexp.evidence.curves import Curve, Made, short_commit
from normexp.evidence.stats import Design
from normexp.report.figures.formats import images, settings, theme
from normexp.report.figures.own.targets import over_targets
from normexp.report.figures.picture import draw

GRID = np.arange(0, 2001, 50)
OTHER = Made(commit="b" * 40, processor="Xeon (family 6, model 106)")


def learning(half: float, top: float = 0.97, made: Made | None = None) -> dict[int, Curve]:
    """Return five runs that saturate at `top`, half way after `half` steps."""
    runs = {}
    for seed in range(5):
        scale = half * (1 + 0.05 * (seed - 2)) / np.log(2)
        values = 0.1 + (top + 0.002 * seed - 0.1) * (1 - np.exp(-GRID / scale))
        runs[seed] = Curve(GRID, {METRIC: values}, "done", made=made or Made(examples={"test": 1000}))
    return runs


def steps(target: Any, **keys: Any) -> Claim:
    data = {"text": "t", "source": "s", "compare": "steps", "metric": METRIC, "of": "BN", "than": "plain", "in": "> 1"}
    return check_claim({**data, "target": target, **keys}, ("BN", "plain"), (METRIC,))


def judged(target: Any, runs: Mapping[str, Mapping[int, Curve]], **keys: Any) -> Verdict:
    return judge([steps(target, **keys)], cells(**runs))[0]


# An arm that is ahead early and behind late: its verdict would be that of whoever picks the target.
EARLY, LATE = learning(100, top=0.90), learning(150, top=0.97)


def test_a_verdict_that_turns_with_the_target_holds_at_none_of_them_all() -> None:
    runs = {"BN": EARLY, "plain": LATE}
    assert judged(0.6, runs).verdict == "holds"
    assert judged(0.895, runs).verdict == "contradicted"
    both = judged([0.6, 0.895], runs)
    assert both.verdict == "contradicted"
    assert "the least favourable of 2 comparisons" in both.evidence


def test_a_claim_that_holds_at_every_target_holds() -> None:
    assert judged([0.3, 0.6, 0.9], {"BN": learning(60), "plain": learning(240)}).verdict == "holds"


def test_the_range_of_targets_stands_beside_the_one_that_was_picked() -> None:
    found = judged(0.6, {"BN": EARLY, "plain": LATE}).details
    ratios = [at["speed_up"] for at in found["targets"]]
    assert len(ratios) == 9
    assert ratios[1] > 1  # one target would have shown this alone
    assert found["targets"][-1]["never"][1] > 0  # or that alone
    assert all(at["low"] < at["speed_up"] < at["high"] for at in found["targets"] if not any(at["never"]))
    assert found["area"]["low"] < found["area"]["difference"] < found["area"]["high"]


def test_the_range_of_targets_allows_for_the_looks_of_a_design() -> None:
    """At a look with half of the level p is twice as large, and intervals are those of 97.5 %."""
    once, half = (faster_over_targets(LATE, EARLY, METRIC, True, share) for share in (1.0, 0.5))
    for one, other in zip([once["area"], *once["targets"]], [half["area"], *half["targets"]], strict=True):
        assert other["low"] <= one["low"]
        assert other["high"] >= one["high"]
        assert other["p"] == pytest.approx(min(1.0, 2 * one["p"]), nan_ok=True)
    looked = judge([steps(0.6)], cells(BN=EARLY, plain=LATE), design=Design((0, 1, 2, 3, 4), (3, 5)))[0]
    assert looked.details["area"]["p"] > judged(0.6, {"BN": EARLY, "plain": LATE}).details["area"]["p"]


def test_targets_run_from_what_the_worse_arm_has_early_to_what_it_reaches() -> None:
    wanted = target_range(LATE, EARLY, METRIC, larger_is_better=True)
    assert wanted == sorted(wanted)
    assert wanted[0] == pytest.approx(LATE[2].columns[METRIC][1], abs=1e-3)
    assert wanted[-1] == pytest.approx(EARLY[2].columns[METRIC][-1], abs=1e-3)
    losses = (
        {s: Curve(GRID, {"x/loss": 2 - run.columns[METRIC]}, "done") for s, run in arm.items()} for arm in (LATE, EARLY)
    )
    falling = target_range(*losses, "x/loss", larger_is_better=False)
    assert falling == sorted(falling, reverse=True)


def test_area_is_the_mean_over_the_steps_whatever_the_grid() -> None:
    uneven = Curve(np.array([0, 10, 100]), {METRIC: np.array([0.0, 1.0, 1.0])}, "done")
    assert mean_over_training(uneven, METRIC) == pytest.approx((5 + 90) / 100)
    lost = Curve(np.array([0, 10]), {METRIC: np.array([0.0, 1.0])}, "diverged", diverged_at=12)
    assert np.isnan(mean_over_training(lost, METRIC))
    difference = area_between(LATE, EARLY, METRIC, 1.0)
    assert difference is not None
    assert difference["high"] < 0  # ahead early and behind for the rest
    assert difference["method"] == "paired t"


def test_origin_of_the_target_is_quoted() -> None:
    runs = {"BN": EARLY, "plain": LATE}
    assert judged(0.6, runs).remarks == ("target: ours",)
    assert judged(0.6, runs, origin="Figure 3, 72.2 %").remarks == ("target: Figure 3, 72.2 %",)


def test_the_baselines_own_best_comes_with_the_length_of_the_run() -> None:
    remarks = judged("best of plain", {"BN": LATE, "plain": EARLY}).remarks
    assert remarks[0] == "target: the best of plain, seed by seed"
    assert remarks[1] == "plain meets its own best after 2000 of the 2000 steps of its run"


def test_a_ceiling_is_said() -> None:
    # 1,000 examples: a target of 0.999 leaves one error; which arm makes it is chance.
    perfect = learning(60, top=0.995)
    remarks = judged("best of plain", {"BN": EARLY, "plain": perfect}).remarks
    assert remarks[-1] == "ceiling: in 3 of 5 seeds the target is above 1 - 2/1000"
    assert not any(
        remark.startswith("ceiling") for remark in judged("best of plain", {"BN": EARLY, "plain": LATE}).remarks
    )


def test_a_verdict_of_the_evaluations_that_the_interval_leaves_open_is_said() -> None:
    coarse = {"plain": {seed: (200, 300)[seed % 2] for seed in range(5)}, "BN": dict.fromkeys(range(5), 100)}
    runs = {
        arm: {seed: Curve(GRID[::2], {METRIC: 1.0 * (GRID[::2] >= step)}, "done") for seed, step in met.items()}
        for arm, met in coarse.items()
    }
    found = judged(0.6, runs)
    assert found.verdict == "holds"
    assert found.interval is not None
    assert found.interval.low < 1
    assert found.remarks[-1].startswith("grid: the evaluations decide")
    fine = judged(0.6, {"BN": learning(60), "plain": learning(240)})
    assert not any(remark.startswith("grid") for remark in fine.remarks)


def test_arms_from_other_commits_and_processors_are_said() -> None:
    theirs = learning(200, made=Made(commit="a" * 40, processor="Xeon (family 6, model 85)"))
    remarks = judged(0.6, {"BN": learning(100, made=OTHER), "plain": theirs}).remarks
    assert "from different commits: BN bbbbbbbbb; plain aaaaaaaaa" in remarks
    assert any(remark.startswith("from different processors: BN Xeon (family 6, model 106); ") for remark in remarks)
    assert len(judged(0.6, {"BN": learning(100, made=OTHER), "plain": learning(200, made=OTHER)}).remarks) == 1


def test_commits_are_short_and_changed_files_stay_marked() -> None:
    assert short_commit("a" * 40 + "+ then " + "b" * 40) == "aaaaaaaaa+ then bbbbbbbbb"
    assert short_commit(None) == "no checkout"


def test_made_is_read_from_old_and_new_records() -> None:
    assert Made.of({}) == Made()
    assert Made.of({"commit": None, "processor": "Xeon"}).processor == "Xeon"
    cpu = {"family": 6, "model": 85, "stepping": 7, "flags_sha256": "0123456789"}
    new = Made.of({"processor": "Xeon", "cpu": cpu, "data": {"examples": {"test": 500}}})
    assert new.processor == "Xeon (family 6, model 85, stepping 7, flags 01234567)"
    assert new.examples == {"test": 500}


@pytest.mark.parametrize(("target", "message"), [([], "target: is an empty list"), (["fast"], "target")])
def test_targets_that_cannot_be_are_one_line(target: Any, message: str) -> None:
    with one_line_error(message):
        steps(target)


def judged_entry() -> dict[str, Any]:
    claim = steps(0.6)
    return entry(claim, judge([claim], cells(BN=EARLY, plain=LATE))[0], "paper", "cpu")


def test_figure_has_a_panel_per_claim_and_a_point_per_target_whose_ratio_is_known() -> None:
    made = judged_entry()
    chart = over_targets([made, {"text": "another claim"}], "A title", ("Scale: cpu.",))
    assert chart is not None
    assert list(chart.by_panel()) == ["BN over plain"]
    known = [at for at in made["targets"] if isinstance(at["speed_up"], float)]
    assert chart.data["target"].tolist() == pytest.approx([100 * at["target"] for at in known])
    assert chart.data["speed_up"].tolist() == pytest.approx([at["speed_up"] for at in known])
    assert images(partial(draw, chart), theme(), ("svg",)) == images(partial(draw, chart), theme(), ("svg",))


def test_figure_reaches_as_far_as_anything_is_known_of_the_ratio() -> None:
    """Beyond the last ratio an interval may still say that the first arm is faster."""
    made = judged_entry()
    last = {"target": 0.99, "speed_up": "nan", "low": 1.7, "high": "inf"}
    nothing = {"target": 1.0, "speed_up": "nan", "low": 0.0, "high": "inf"}
    chart = over_targets([{**made, "targets": [*made["targets"], last, nothing]}], "A title", ())
    assert chart is not None
    with settings(theme()):
        (axes,) = draw(chart, theme()).axes
    assert axes.get_xlim()[1] == pytest.approx(99)


def test_no_claim_about_steps_no_figure() -> None:
    assert over_targets([{"text": "another claim"}], "A title", ()) is None


def test_claims_about_one_race_share_a_panel() -> None:
    made = judged_entry()
    once, twice = (over_targets([made] * n, "A title", ()) for n in (1, 2))
    assert once is not None
    assert twice is not None
    assert twice.data["target"].tolist() == once.data["target"].tolist()
    assert images(partial(draw, twice), theme(), ("svg",)) == images(partial(draw, once), theme(), ("svg",))


def test_races_in_two_metrics_are_two_panels() -> None:
    made = judged_entry()
    other = {**made, "race": {**made["race"], "metric": "validation/accuracy"}}
    chart = over_targets([made, other], "A title", ())
    assert chart is not None
    assert list(chart.by_panel()) == ["BN over plain, test accuracy (%)", "BN over plain, validation accuracy (%)"]
