"""How good every learning rate was that a choice tried: the table of sensitivities and the figure."""

import csv
import io
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from drawn import assert_clean, learning, made
from fabricated import Fabric

from normexp.evidence.stats import Design, TTest
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.grids import Selection
from normexp.experiments.halving import budget
from normexp.experiments.selection import read_selection, write_choice
from normexp.experiments.trials import combinations, points
from normexp.report.experiment.choices import fell_behind
from normexp.report.experiment.rates import choice_chart, sensitivity_text
from normexp.report.figures.averages import lines_of
from normexp.report.figures.captions import caption
from normexp.report.figures.drawn import drawn
from normexp.report.figures.formats import settings, theme
from normexp.report.figures.multiples import in_panels
from normexp.report.figures.picture import draw
from normexp.report.figures.scales import short
from normexp.report.frames.measured import read_measured

LAST = {0.01: 0.5, 0.1: 0.9, 1.0: 0.7}  # accuracy at the end, by rate; with the diverged rate it is that of the start


def choosing(fabric: Fabric, diverged: float = 0.0, arms: Any = None, last: Any = LAST, **select: Any) -> Experiment:
    """Return an experiment whose trials are run: seed 101 has a tenth more than 100."""
    chosen = {"search": {"optim.lr": [0.01, 0.1, 1.0]}, "seeds": [100, 101], "metric": "validation/accuracy", **select}
    made_up = made(fabric, select=Selection.model_validate(chosen), **({"arms": arms} if arms else {}))
    made_up.run(learning)
    experiment = made_up.experiment
    assert experiment.select is not None
    for arm, at in experiment.choices(list(experiment.arms)).values():
        for values in combinations(experiment.select):
            for point in points(experiment.select, values, budget(experiment.select, 0)):
                rate, seed = values["optim.lr"], dict(point)["seed"]
                rows = [(0, 0.1), (10, last.get(rate, 0.8) + (seed - 100) / 10)]
                fabric(
                    name=str(run_place(fabric.root, experiment, arm, at + point, "select").relative_to(fabric.root)),
                    table=[{"step": step, chosen["metric"]: value} for step, value in rows],
                    columns=["step", chosen["metric"]],
                    status="diverged" if rate == diverged else "done",
                )
    return experiment


def chart(experiment: Experiment, fabric: Fabric) -> Any:
    return choice_chart(experiment, read_measured(experiment, fabric.root), fabric.root, ())


def table(experiment: Experiment, fabric: Fabric) -> dict[str, str]:
    return sensitivity_text(experiment, read_measured(experiment, fabric.root), fabric.root)


def sensitivities(files: dict[str, str]) -> list[float]:
    return [float(row["sensitivity"]) for row in csv.DictReader(io.StringIO(files["sensitivity.csv"]))]


def test_the_table_has_one_rate_for_all_each_at_its_best_and_the_sensitivity(fabricate: Fabric) -> None:
    files = table(choosing(fabricate), fabricate)
    text = files["sensitivity.md"]
    assert "| validation accuracy (%) at optim.lr=0.1 | best optim.lr | validation accuracy (%) there |" in text
    # Behind the best by 40, 0 and 20 points: (40 / 2 + 20 / 2) / 2 decades by the trapezoidal rule, for both seeds.
    assert sensitivities(files) == pytest.approx([0.15, 0.15])
    assert "on the validation split, seeds 100, 101." in text


def test_equal_sensitivities_are_said_and_have_no_interval(fabricate: Fabric) -> None:
    rows = table(choosing(fabricate), fabricate)["sensitivity.md"].splitlines()
    (second,) = (row for row in rows if row.startswith("| With BN"))
    assert "| 15 with every seed | +0 with every seed |" in " ".join(second.split())


def test_programs_read_the_difference_too_and_no_interval_where_there_is_none(fabricate: Fabric) -> None:
    """The interval of what is equal with every seed was from -inf to inf there."""
    files = table(choosing(fabricate), fabricate)
    plain, second = csv.DictReader(io.StringIO(files["sensitivity.csv"]))
    assert (second["minus the first"], second["minus the first low"]) == ("0.0", "")
    assert (second["sensitivity low"], second["sensitivity high"], plain["minus the first"]) == ("", "", "")


def test_an_arm_that_diverges_at_every_rate_has_no_best_one_and_leaves_the_choice_to_others(fabricate: Fabric) -> None:
    ends = {0.01: 0.5, 0.1: 0.9, 1.0: 0.7}
    made_up = made(fabricate, grid={"optim.lr": list(ends), "seed": [0, 1]})
    made_up.run(lambda arm, point, _: learning_to(ends[point["optim.lr"]]))
    for arm, _, run in made_up.places():
        if arm == "With BN":
            run.write_status("diverged", step=6)
    text = table(made_up.experiment, fabricate)["sensitivity.md"]
    assert "| test accuracy (%) at optim.lr=0.1 |" in text
    (row,) = (" ".join(line.split()) for line in text.splitlines() if line.startswith("| With BN"))
    assert row.startswith("| With BN | diverged | - | - |")


def test_what_diverged_counts_as_untrained_and_is_a_cross_without_a_number(fabricate: Fabric) -> None:
    experiment = choosing(fabricate, diverged=1.0)
    files = table(experiment, fabricate)
    assert files["sensitivity.md"].count(" 4/6 |") == 2
    assert sensitivities(files) == pytest.approx([0.3125, 0.3125])  # behind the best by 40, 0 and 80 or 90 points
    drawn = chart(experiment, fabricate)
    assert [(list(line.x), len(line.crosses)) for line in lines_of(drawn, "")] == [([0.01, 0.1], 2)] * 2
    assert "runs that diverged there, 2 of Plain; 2 of With BN" in caption(drawn)


def test_the_caption_tells_nothing_of_the_seeds_of_other_runs(fabricate: Fabric) -> None:
    experiment = choosing(fabricate, seeds=[100])
    looks = {"design": Design((0, 1, 2), (2, 3)), "looks": 1}
    found = replace(read_measured(experiment, fabricate.root), **looks)
    shown = choice_chart(experiment, found, fabricate.root, (found.progress, "Scale: cpu."))
    assert shown is not None
    assert "Scale: cpu." in caption(shown)
    assert "seeds" not in caption(shown).replace("seed 100", "")


def test_one_seed_has_no_interval_and_says_so(fabricate: Fabric) -> None:
    experiment = choosing(fabricate, seeds=[100])
    assert "one seed gives no interval" in table(experiment, fabricate)["sensitivity.md"]
    assert caption(chart(experiment, fabricate)).count("interval") == 1


def test_where_there_is_no_mean_the_caption_names_none(fabricate: Fabric) -> None:
    diverged = caption(chart(choosing(fabricate, diverged=1.0, seeds=[100]), fabricate))
    assert diverged.count("One run each, so no interval.") == 1
    assert "mean" not in diverged


def test_the_caption_links_to_the_table_where_that_lies_beside_the_figure(fabricate: Fabric) -> None:
    shown = drawn("selection", chart(choosing(fabricate), fabricate), theme(), ["png"])
    assert "sensitivity" not in shown.caption  # report.html has no such file
    table = "[sensitivity.md](sensitivity.md) compares the arms at one common rate and each at its best."
    assert shown.markdown().endswith(f" {table}\n")


def test_points_are_moved_by_a_tenth_of_a_step_at_most_and_the_caption_says_so(fabricate: Fabric) -> None:
    arms = {f"rate {i}": {"norm": "batch", "batch_size": i + 1} for i in range(8)}
    shown = chart(choosing(fabricate, arms=arms), fabricate)
    with settings(theme()):
        (ax,) = draw(shown, theme(width="2in")).axes
    lines = [line for line in ax.lines if len(line.get_xdata()) == 3]
    ends = np.array([line.get_transform().transform(line.get_xydata())[:, 0] for line in lines])
    step = np.diff(ax.transData.transform([(rate, 1.0) for rate in (0.01, 0.1)])[:, 0])[0]
    assert len(lines) == 8
    assert 0.15 * step < np.ptp(ends[:, 0]) < 0.2001 * step
    assert "by a tenth of a step at most" in caption(shown)


def test_of_nine_arms_every_panel_names_a_few_and_shows_all(fabricate: Fabric) -> None:
    arms = {name: {"norm": "batch", "batch_size": i + 1} for i, name in enumerate("abcdefghi")}
    shown = in_panels(chart(choosing(fabricate, arms=arms), fabricate))
    panels = [lines_of(shown, panel) for panel in shown.by_panel()]
    assert [len(lines) for lines in panels] == [9, 9, 9]
    assert sorted(line.name for lines in panels for line in lines if not line.behind) == sorted(shown.styles)
    assert "in grey those that another panel names" in caption(shown)


def test_of_seeds_in_batches_the_interval_allows_for_all_looks(fabricate: Fabric) -> None:
    """It was one of 95 % however often one had looked, of all seeds that there were."""
    ends = {0: 0.8, 1: 0.7, 2: 0.6, 3: 0.5}
    design = Design((0, 1, 2, 3, 4, 5), (4, 6), "pocock")
    made_up = made(fabricate, grid={"optim.lr": [0.01, 0.1, 1.0], "seed": list(design.seeds)}, design=design)
    made_up.statuses = {(arm, 5): "running" for arm in made_up.experiment.arms}  # of the second look
    made_up.run(lambda arm, point, _: learning_to(0.9 if point["optim.lr"] == 0.1 else ends.get(point["seed"], 0.1)))
    files = table(made_up.experiment, fabricate)
    expected = TTest((0.1, 0.2, 0.3, 0.4)).confidence_interval(design.confidence(1))
    (row, _) = csv.DictReader(io.StringIO(files["sensitivity.csv"]))
    assert (float(row["sensitivity"]), row["n"]) == (pytest.approx(0.125), "4")
    assert float(row["sensitivity high"]) == pytest.approx(expected.high / 2)
    assert "look 1 of at most 2, 4 of at most 6 seeds" in files["sensitivity.md"]


def learning_to(end: float) -> list[dict[str, object]]:
    return [{"step": step, "test/accuracy": value} for step, value in ((0, 0.1), (5, end))]


def test_two_rates_are_no_curve(fabricate: Fabric) -> None:
    experiment = choosing(fabricate, search={"optim.lr": [0.01, 0.1]})
    assert table(experiment, fabricate) == {}
    assert chart(experiment, fabricate) is None


def test_other_values_that_were_tried_have_panels_of_their_own(fabricate: Fabric) -> None:
    drawn = chart(choosing(fabricate, search={"optim.lr": [0.01, 0.1, 1.0], "optim.momentum": [0.0, 0.9]}), fabricate)
    assert list(drawn.by_panel()) == ["momentum 0", "momentum 0.9"]
    assert list(drawn.styles) == ["Plain", "With BN"]


def test_of_successive_halving_the_first_rung_is_shown_which_tried_all(fabricate: Fabric) -> None:
    experiment = choosing(fabricate, halving={"steps": [5, 10], "keep": [2]})
    drawn = chart(experiment, fabricate)
    assert list(lines_of(drawn, "")[0].x) == [0.01, 0.1, 1.0]
    for text in (caption(drawn), table(experiment, fabricate)["sensitivity.md"]):
        assert "on the validation split, after 5 steps (the first rung), seeds 100, 101." in text


def test_of_a_sampler_the_rates_that_it_drew_are_shown(fabricate: Fabric) -> None:
    experiment = choosing(fabricate)
    write_choice(experiment, fabricate.root, list(experiment.arms))
    drawn = {"search": {"optim.lr": "tag(log,interval(0.001,10))"}, "sampler": {"name": "tpe", "trials": 3}}
    select = Selection.model_validate({"seeds": [100, 101], "metric": "validation/accuracy", **drawn})
    lines = lines_of(chart(replace(experiment, select=select), fabricate), "")
    assert [list(line.x) for line in lines] == [[0.01, 0.1, 1.0], [0.01, 0.1, 1.0]]


@pytest.mark.parametrize(("ends", "behind"), [((0.8, 0.85), ["With BN"]), ((0.8, 0.95), []), ((0.99, 0.95), [])])
def test_a_choice_with_which_every_run_ends_worse_than_the_trials_is_named(
    fabricate: Fabric, ends: tuple[float, float], behind: list[str]
) -> None:
    experiment = replace(choosing(fabricate), grid={"seed": [0, 1]})  # the trials of 0.1 end at 0.9 and 1.0
    write_choice(experiment, fabricate.root, list(experiment.arms))
    for i, end in enumerate(ends):
        run = run_place(fabricate.root, experiment, "With BN", (("seed", i),))
        (run / "metrics.csv").write_text(f"step,validation/accuracy\n0,0.1\n100,{end}\n")
    assert (
        fell_behind(experiment, read_measured(experiment, fabricate.root), read_selection(experiment, fabricate.root))
        == behind
    )


@pytest.mark.parametrize("count", [12, pytest.param(13, marks=pytest.mark.slow)])
def test_more_arms_than_colours_have_a_panel_each(fabricate: Fabric, count: int) -> None:
    drawn = chart(choosing(fabricate, arms={f"arm {i}": {"norm": "batch"} for i in range(count)}), fabricate)
    assert len(drawn.by_panel()) == (1 if count == 12 else 13)
    with settings(theme()):
        assert_clean(draw(drawn, theme()))


def test_crosses_of_several_arms_at_one_rate_stand_apart(fabricate: Fabric) -> None:
    with settings(theme()):
        (axes,) = draw(chart(choosing(fabricate, diverged=1.0), fabricate), theme()).axes
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    places = {round(float(line.get_transform().transform(line.get_xydata())[0, 0]), 3) for line in crosses}
    assert len(places) == 2


@pytest.mark.parametrize(("metric", "end"), [("validation/accuracy", 0), ("validation/loss", 1)])
def test_crosses_without_a_value_stand_at_the_worse_end(fabricate: Fabric, metric: str, end: int) -> None:
    experiment = choosing(fabricate, metric=metric, last={0.01: 0.5, 0.1: 0.7, 1.0: math.nan}, diverged=1.0)
    with settings(theme()):
        (axes,) = draw(chart(experiment, fabricate), theme()).axes
    places = {float(line.get_ydata()[0]) for line in axes.lines if line.get_marker() == "x"}
    assert places == {axes.get_ylim()[end]}


def test_a_trial_that_ran_away_leaves_the_figure_and_is_named(fabricate: Fabric) -> None:
    losses, far = {0.01: 2.0, 0.1: 1.5, 1.0: 1e10}, short(1e10)
    experiment = choosing(fabricate, metric="validation/loss", last=losses)
    drawn = chart(experiment, fabricate)
    assert drawn.panel_of("").top == pytest.approx(2.05 * (2.05 / 1.5) ** 3)
    assert drawn.log == {"x"}  # the ordinary losses reach nowhere far
    assert f"Triangles: beyond the panel's top there. Plain, up to {far}; With BN, up to {far}." in caption(drawn)
    with settings(theme()):
        (axes,) = draw(drawn, theme()).axes
    assert axes.get_ylim()[1] < 2.5  # what is shown fills the panel
    triangles = [line for line in axes.lines if line.get_marker() == "^"]
    assert [(line.get_xdata(), line.get_ydata()) for line in triangles] == [([1.0], [axes.get_ylim()[1]])] * 2


def test_a_seed_without_a_finite_sensitivity_is_not_said_to_agree_with_the_others(fabricate: Fabric) -> None:
    """A training loss has no value before the first update, as which a run that is lost could count."""
    made_up = made(fabricate, table={"metric": "train/loss"}, grid={"optim.lr": [0.01, 0.1, 1.0], "seed": [0, 1, 2]})

    def losing(arm: str, point: dict[str, Any], random: Any) -> list[dict[str, object]]:
        lost = arm == "With BN" and point["seed"] == 2 and point["optim.lr"] == 1.0
        return [{"step": 0}, {"step": 10, "train/loss": "inf" if lost else point["optim.lr"] + point["seed"] / 100}]

    made_up.run(losing)
    files = table(made_up.experiment, fabricate)
    (plain, second) = (row for row in files["sensitivity.md"].splitlines() if row.startswith(("| Plain", "| With BN")))
    assert "with every seed" in plain
    assert "with every seed" not in second
    assert "∞" in second
