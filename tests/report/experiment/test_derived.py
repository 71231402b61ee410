"""What tables say beyond recorded metrics: errors, time of a step, ratios, rows that are only printed, a summary."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from claim_maker import read_claim
from drawn import BASE, Made, made
from fabricated import Fabric
from parsed import parse

from normexp.config import option
from normexp.errors import UserError
from normexp.evidence.curves import Cell
from normexp.records import TIMING
from normexp.report.experiment.claims import claim_entries
from normexp.report.experiment.render import render
from normexp.report.experiment.summary import summary_text
from normexp.report.experiment.table import experiment_table
from normexp.report.frames.measured import read_measured

ACCURACY = {"Plain": (0.75, 0.75, 0.75), "With BN": (0.865, 0.875, 0.885)}  # per seed
SECONDS = {"Plain": 2.0, "With BN": 3.0}  # of 100 steps, and one more for every seed


def runs(fabric: Fabric, **changes: Any) -> Made:
    """Return an experiment whose runs end at known accuracies after known times."""

    def rows(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
        return [
            {"step": step, "epoch": step / 50, "test/accuracy": 0.5 if step < 100 else ACCURACY[arm][point["seed"]]}
            for step in (0, 50, 100)
        ]

    experiment = made(fabric, **changes)
    experiment.run(rows)
    experiment.tables(TIMING, seconds)
    return experiment


def seconds(arm: str, seed: int) -> list[dict[str, float]]:
    """Return a quarter of the run's time at half of its steps, and all of it at the end."""
    total = SECONDS[arm] + seed
    return [{"step": 50, "seconds": total / 4}, {"step": 100, "seconds": total}]


def table(experiment: Made) -> dict[str, list[str]]:
    """Return {first cell: the others} of the experiment's table."""
    found = read_measured(experiment.experiment, experiment.fabric.root)
    return {line[0]: line[1:] for line in experiment_table(experiment.experiment, found, {}).rows}


def test_error_is_one_minus_the_accuracy(fabricate: Fabric) -> None:
    experiment = runs(fabricate, table={"metric": "test/error"})
    curve = read_measured(experiment.experiment, fabricate.root).curves[Cell("With BN")][1]
    assert curve.columns["test/error"].tolist() == [0.5, 0.5, 0.125]
    assert table(experiment)["With BN"][0] == "12.5 ± 1.0"


def test_seconds_per_step_are_of_the_steps_so_far(fabricate: Fabric) -> None:
    curve = read_measured(runs(fabricate).experiment, fabricate.root).curves[Cell("With BN")][1]
    first, *later = curve.columns["seconds_per_step"].tolist()
    assert math.isnan(first)
    assert later == [pytest.approx(1.0 / 50), pytest.approx(4.0 / 100)]


def test_a_run_that_diverged_before_it_was_timed_has_the_metric_too(fabricate: Fabric) -> None:
    experiment = runs(fabricate)
    place = next(run for arm, point, run in experiment.places() if (arm, point["seed"]) == ("With BN", 1))
    (place.path / TIMING).write_text("step,seconds\n")
    measured = read_measured(experiment.experiment, fabricate.root)
    assert "seconds_per_step" in measured.metrics
    assert np.isnan(measured.curves[Cell("With BN")][1].columns["seconds_per_step"]).all()


def test_ratio_is_paired_by_seed(fabricate: Fabric) -> None:
    column = {"metric": "seconds_per_step", "at": "last", "relative_to": "Plain"}
    shown = table(runs(fabricate, table={"columns": [column]}))
    ratios = [3 / 2, 4 / 3, 5 / 4]
    assert shown["With BN"][0] == f"{np.mean(ratios):.2f} ± {np.std(ratios, ddof=1):.2f}"
    assert shown["Plain"][0] == "1"


def test_ratio_to_a_diverged_run_is_not_0(fabricate: Fabric) -> None:
    column = {"metric": "test/error", "at": "last", "relative_to": "Plain"}
    experiment = made(fabricate, table={"columns": [column]})
    experiment.statuses = {("Plain", seed): "diverged" for seed in (1, 2)}
    experiment.run(lambda arm, point, random: [{"step": 0, "test/accuracy": 0.5}])
    assert table(experiment)["With BN"][0] == "1 (1 of 3 finite)"


def test_row_that_is_only_printed_has_no_number_of_ours(fabricate: Fabric) -> None:
    only = [{"arm": "Maxout", "metric": "test/error", "value": "11.68%", "place": "Table 1"}]
    experiment = runs(fabricate, table={"metric": "test/error"}, published_only=only)
    shown = table(experiment)
    assert list(shown) == ["Plain", "With BN", "Maxout"]
    assert shown["Maxout"] == ["11.68", "-", "published only", "-"]


@pytest.mark.parametrize("asked", [{"metric": "test/error"}, {"columns": ["test/error"]}], ids=["metric", "columns"])
@pytest.mark.parametrize(
    ("printed", "shown"),
    [({"value": "12.5", "unit": "%"}, "12.5"), ({"value": "12.5%"}, "12.5"), ({"value": "~.120"}, "~12.0")],
)
def test_a_printed_share_is_shown_in_percent_as_ours_is(
    fabricate: Fabric, asked: Any, printed: Any, shown: str
) -> None:
    entry = {"arm": "Plain", "metric": "test/error", "at": "last", "place": "Table 1", **printed}
    experiment = runs(fabricate, table=asked, published=[entry]).experiment
    made = experiment_table(experiment, read_measured(experiment, fabricate.root), {})
    assert made.rows[0][made.heads.index("published test error (%)")] == shown


WRONG = {
    "an arm that is run": ({"arm": "Plain"}, "arm 'Plain' is run here"),
    "another metric": ({"metric": "test/loss"}, "metric=test/loss is not that of the table, test/error"),
    "no text": ({"value": 11.68}, "value: 11.68 is not a text"),
    "a place in the curve": ({"at": "last"}, "key 'at' does not exist"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_row_that_is_only_printed_is_checked(change: dict[str, Any], message: str) -> None:
    entry = {"arm": "Maxout", "metric": "test/error", "value": "11.68%", "place": "Table 1"}
    sound = {**BASE, "table": {"metric": "test/error"}, "published_only": [entry]}
    parse("x", "cpu", sound)
    with pytest.raises(UserError, match=message):
        parse("x", "cpu", {**sound, "published_only": [{**entry, **change}]})


def test_ratio_is_checked() -> None:
    column = {"metric": "seconds_per_step", "at": "last", "relative_to": "Plane"}
    with pytest.raises(UserError, match=r"did you mean Plain\?"):
        parse("x", "cpu", {**BASE, "table": {"columns": [column]}})
    both = {"metric": "test/accuracy", "target": 0.5, "relative_to": "Plain"}
    with pytest.raises(UserError, match="goes with at, not with target"):
        parse("x", "cpu", {**BASE, "table": {"columns": [both]}})


CLAIMS = [
    read_claim({"text": text, "source": "section 1", "compare": "difference", "metric": "test/accuracy",
                "of": "With BN", "than": "Plain", "in": region})
    for text, region in (("BN is better", "> 0"), ("BN is worse", "< 0"))
]  # fmt: skip


def test_summary_sorts_the_claims_and_names_the_best(fabricate: Fabric) -> None:
    experiment = runs(fabricate, summary="Which one?", claims=CLAIMS, table={"columns": ["test/accuracy"]})
    found = read_measured(experiment.experiment, fabricate.root)
    notes = {
        "Set-up": ["An arm"],
        "Runs": ["Two"],
        "Changed after the first run": [],
        "Deviations": ["It is *made* up"],
    }
    entries = claim_entries(experiment.experiment, found, [])
    entries[0] |= {"remarks": ["ties: seeds 1, 2"], "changed": ["claim 'BN is better' was changed after the first run"]}
    text = summary_text(experiment.experiment, found, entries, notes)["summary.md"]
    assert text.startswith("# Which one?\n\nA set-up. Scale: cpu.\n")
    holds, contradicted = text.index("## What holds here"), text.index("## What does not")
    assert holds < text.index("- BN is better.") < contradicted < text.index("- BN is worse.")
    assert "cannot tell" not in text
    assert "- With BN 87.5 ± 1.0; Plain 75.00\n" in text
    changed = "claim 'BN is better' was changed after the first run"
    flags = f"\n  - Changed after the first run\n  - Ties: seeds 1, 2\n  - {changed}\n"
    assert flags in text[holds:contradicted]
    assert "\n## Runs\n\n- Two\n\n## What to keep in mind\n\n- It is \\*made\\* up\n\n[The table]" in text
    assert "Set-up" not in text


def test_a_ranking_sorts_by_the_medians_that_it_shows(fabricate: Fabric) -> None:
    """An arm with the least median stood last, by the mean of one run that went far astray."""
    losses = {"Plain": (2.4, 2.5, 45.0), "With BN": (3.3, 3.4, 3.5)}
    experiment = made(fabricate, summary="Which one?", table={"columns": ["test/loss"]})
    experiment.run(lambda arm, point, _: [{"step": 0, "test/loss": losses[arm][point["seed"]]}])
    text = summary_text(experiment.experiment, read_measured(experiment.experiment, fabricate.root), [], {})
    assert "By test loss, mean or median over the seeds" in text["summary.md"]
    assert "- Plain median 2.5, 2.4 to 45; With BN 3.40 ± 0.10\n" in text["summary.md"]


def test_summary_takes_no_markup_from_names_and_claims(fabricate: Fabric) -> None:
    experiment = runs(fabricate, summary="*Which* <b>one</b>?", claims=CLAIMS, table={"columns": ["test/accuracy"]})
    found = read_measured(experiment.experiment, fabricate.root)
    judged = [each | {"text": "<script> [x](y)"} for each in claim_entries(experiment.experiment, found, [])]
    text = summary_text(experiment.experiment, found, judged, {})["summary.md"]
    assert text.startswith(r"# \*Which\* \<b>one\</b>?")
    assert r"- \<script> [x\](y)." in text


def test_summary_is_written_where_it_is_asked_for(fabricate: Fabric) -> None:
    experiment = runs(fabricate, claims=CLAIMS)
    found = read_measured(experiment.experiment, fabricate.root)
    assert summary_text(experiment.experiment, found, [], {}) == {}


def test_published_curve_lies_along_the_figures_axis(fabricate: Fabric) -> None:
    experiment = runs(fabricate, scale="paper")
    printed = {"With BN": {"epoch": [1, 2], "value": [0.5, 0.125]}}
    figure = experiment.figure(kind="curves", metric="test/error", x="epoch", published=printed)
    drawn = [line.get_xydata().tolist() for axes in figure.axes for line in axes.lines]
    assert [[1.0, 50.0], [2.0, 12.5]] in drawn


def test_table_of_training_runs_counts_those_that_stayed_finite(fabricate: Fabric) -> None:
    experiment = runs(fabricate, table={"columns": ["test/accuracy"]})
    found = read_measured(experiment.experiment, fabricate.root)
    lost = replace(found.curves[Cell("Plain")][2], diverged_at=100, status="diverged")
    curves = {**found.curves, Cell("Plain"): {**found.curves[Cell("Plain")], 2: lost}}
    shown = experiment_table(experiment.experiment, replace(found, curves=curves), {})
    assert shown.heads[-1] == "finite"
    assert {line[0]: line[-1] for line in shown.rows} == {"Plain": "2/3", "With BN": "3/3"}


def test_columns_of_a_study_say_what_they_measure_once_each(fabricate: Fabric) -> None:
    """Its option knows, and no table said it: nobody can guess what is left, or over what a ratio is."""
    looks = ["kept_ratio", {"metric": "kept_ratio", "at": "last", "relative_to": "Plain"}, "left"]
    experiment = made(fabricate, table={"columns": looks}, common={"dataset": "digits", "study": "inference_cost"})
    experiment.run(lambda arm, point, _: [{"step": 1, "kept_ratio": 1.5, "left": 2, "added": 3}])
    found = read_measured(experiment.experiment, fabricate.root)
    setup = experiment_table(experiment.experiment, found, {}).notes["Set-up"]
    said = option("study", "inference_cost")["_metrics_"]
    assert setup[1:3] == [f"kept ratio: {said['kept_ratio']}.", f"left: {said['left']}."]
    assert not [note for note in setup if "added:" in note]


def test_a_key_in_what_a_column_means_has_the_value_that_all_runs_share(fabricate: Fabric) -> None:
    arms = {"Small": {"batch_size": 32}, "Large": {"batch_size": 64}}
    looks = ["steps", "same_sign_in_batches"]
    experiment = made(fabricate, table={"columns": looks}, common={"study": "conditioning"}, arms=arms)
    experiment.run(lambda arm, point, _: [{"step": 1, "steps": 7, "same_sign_in_batches": 0.5}])
    found = read_measured(experiment.experiment, fabricate.root)
    steps, sign = experiment_table(experiment.experiment, found, {}).notes["Set-up"][1:3]
    assert "study.share (0.01) of its start" in steps
    assert sign.endswith("in batches of batch_size.")


def test_findings_of_a_scale_stand_under_its_table_and_on_the_page(fabricate: Fabric) -> None:
    scales = {"cpu": {"findings": ["It is the rate"]}, "paper": None}
    experiment = runs(fabricate, summary="Which one?", claims=CLAIMS, table={"columns": ["test/accuracy"]})
    told = replace(experiment.experiment, findings=parse("x", "cpu", {**BASE, "scales": scales}).findings)
    assert parse("x", "paper", {**BASE, "scales": scales}).findings == []
    render(told, fabricate.root)
    folder = fabricate.root / "x" / "cpu"
    assert "## Findings\n\n- It is the rate\n" in (folder / "table.md").read_text()
    assert "## Findings\n\n- It is the rate\n" in (folder / "summary.md").read_text()
