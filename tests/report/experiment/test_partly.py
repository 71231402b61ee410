"""An experiment that is trained in part: what is said of it, that nothing is judged, and that nothing is counted."""

import csv
import io
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claim_maker import read_claim
from drawn import Made, made
from fabricated import Fabric

from normexp.errors import UserError
from normexp.evidence.stats import Design
from normexp.report.commands.power import power
from normexp.report.experiment.render import render
from normexp.report.experiment.table import experiment_table
from normexp.report.frames.measured import read_measured
from normexp.report.ledger.claims import as_json, as_markdown
from normexp.report.ledger.judged import read_reports

WAITS = "5 of 6 runs are trained; claims wait for all of them"
HIGHER = {
    "text": "BN is better", "source": "Table 1", "compare": "difference", "metric": "test/accuracy",
    "of": "With BN", "than": "Plain", "in": "> 0",
}  # fmt: skip


def rows(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
    return [{"step": 0, "test/accuracy": 0.1}, {"step": 10, "test/accuracy": 0.5 + (arm == "With BN") / 10}]


def partly(fabric: Fabric, *missing: tuple[str, int], design: Design | None = None) -> Made:
    """Return an experiment of six runs, of which those that are missing are not finished."""
    experiment = made(fabric, claims=[read_claim(HIGHER)], summary="Which?", design=design)
    experiment.statuses = dict.fromkeys(missing, "interrupted")
    experiment.run(rows)
    return experiment


def test_a_table_says_first_how_much_is_trained_and_claims_wait(fabricate: Fabric) -> None:
    render(partly(fabricate, ("Plain", 2)).experiment, fabricate.root)
    folder = fabricate.root / "x" / "cpu"
    lines = (folder / "table.md").read_text().splitlines()
    assert lines[0].endswith("Scale: cpu. Only 5 of 6 runs are trained.")
    assert f"- Only {WAITS}." in lines
    summary = (folder / "summary.md").read_text()
    assert "Only 5 of 6 runs are trained." in summary
    assert f"## Not judged before all runs are trained\n\n- BN is better. [A paper, Table 1]\n  {WAITS}\n" in summary
    assert "Ranking" not in summary


def test_no_claims_are_said_to_wait_where_there_are_none(fabricate: Fabric) -> None:
    experiment = replace(partly(fabricate, ("Plain", 2)).experiment, claims=[])
    assert read_measured(experiment, fabricate.root).waiting == "5 of 6 runs are trained"


def test_a_figure_says_below_its_title_how_much_of_it_is_trained(fabricate: Fabric) -> None:
    """A lone line in the limits of a finished figure looked like the result."""
    experiment = partly(fabricate, ("Plain", 2))
    spec = {"kind": "curves", "metric": "test/accuracy", "limits": {"cpu": [0.0, 1.0]}}
    figure = experiment.figure(**spec)
    assert figure.get_suptitle().endswith("\nnot all trained yet: 5 of 6 runs")
    assert figure.axes[0].get_ylim()[1] < 70
    assert "not all" not in experiment.figure(**spec, arms=["With BN"]).get_suptitle()


def test_the_ledger_counts_what_waits_as_no_verdict(fabricate: Fabric) -> None:
    experiment = partly(fabricate, ("Plain", 2)).experiment
    render(experiment, fabricate.root)
    reports = read_reports(fabricate.root)
    text = list(as_markdown(reports))
    assert "| x | cpu |  |  | (1 not judged yet) |  | (1 not judged yet) |" in text
    assert any(line.startswith("| **all** |") and "/" not in line for line in text)
    assert "- **not judged yet**: BN is better. [Table 1]" in text
    assert any(line.startswith("0 claims were tested") for line in text)
    assert as_json(reports)["totals"]["scaled"] == {"not judged yet": 1}
    assert list(power(experiment, fabricate.root)) == [f"x, scale cpu: {WAITS}"]


PRINTED = {"arm": "Plain", "metric": "test/accuracy", "at": "last", "value": ".5", "place": "row 1"}


@pytest.mark.parametrize(("missing", "verdict"), [([("With BN", 2)], "not judged yet"), ([], "reproduced")])
def test_a_published_number_waits_for_all_runs_too(
    fabricate: Fabric, missing: list[tuple[str, int]], verdict: str
) -> None:
    table = {"metric": "test/accuracy", "margin": 0.1}
    experiment = made(fabricate, "paper", table=table, published=[PRINTED])
    experiment.statuses = dict.fromkeys(missing, "interrupted")
    experiment.run(
        lambda arm, point, random: [
            {"step": 0, "test/accuracy": 0.1},
            {"step": 9, "test/accuracy": 0.5 + point["seed"] / 1e3},
        ]
    )
    render(experiment.experiment, fabricate.root)
    row, *_ = csv.DictReader(io.StringIO((fabricate.root / "x" / "paper" / "table.csv").read_text()))
    assert row["verdict"] == verdict


@pytest.mark.parametrize(
    ("scale", "metric", "printed", "margin", "words"),
    [
        ("paper", "test/accuracy", ".5", 0.004, "lies within 0.4 percentage points of the published number"),
        ("paper", "test/loss", ".5", 0.05, "lies within 0.05 of the published number"),
        ("paper", "test/loss", ".500", 0.0005, "each number by itself; undecided where it does neither."),
        ("cpu", "test/loss", ".5", 0.05, ""),
    ],
)
def test_a_table_says_how_near_is_reproduced_and_what_its_other_verdicts_are(
    fabricate: Fabric, scale: str, metric: str, printed: str, margin: float, words: str
) -> None:
    published = [{**PRINTED, "metric": metric, "value": printed}]
    experiment = made(fabricate, scale, table={"metric": metric, "margin": margin}, published=published)
    experiment.run(lambda arm, point, random: [{"step": 0, metric: 0.5 + point["seed"] / 1e3}])
    render(experiment.experiment, fabricate.root)
    text = (fabricate.root / "x" / scale / "table.md").read_text()
    assert ("of the published number" in text) is bool(words)
    assert ("undecided" in text) is ("undecided" in words)
    assert words in text


LOOKS = Design((0, 1, 2), (2, 3))


def test_nothing_is_judged_before_the_first_look_is_complete(fabricate: Fabric) -> None:
    experiment = partly(fabricate, ("Plain", 1), design=LOOKS)
    for _, point, run in experiment.places():
        if point["seed"] == 2:
            shutil.rmtree(run.path)  # of the second look, which has not begun
    found = read_measured(experiment.experiment, fabricate.root)
    assert found.progress == "Looked at in batches of seeds: look 0 of at most 2, 0 of at most 3 seeds."
    assert found.waiting == "3 of 4 runs are trained; claims wait for all of them"


def test_an_arm_without_a_run_keeps_the_first_look_open(fabricate: Fabric) -> None:
    experiment = partly(fabricate, design=LOOKS)
    for arm, _, run in experiment.places():
        if arm == "Plain":
            shutil.rmtree(run.path)
    found = read_measured(experiment.experiment, fabricate.root)
    assert found.progress == "Looked at in batches of seeds: look 0 of at most 2, 0 of at most 3 seeds."
    assert found.waiting == "3 of 6 runs are trained; claims wait for all of them"


def test_a_complete_look_is_judged_while_the_next_one_is_trained(fabricate: Fabric) -> None:
    experiment = partly(fabricate, ("Plain", 2), design=LOOKS)
    found = read_measured(experiment.experiment, fabricate.root)
    assert (found.partly, found.waiting) == ("5 of 6 runs are trained", "")
    assert found.progress == "Looked at in batches of seeds: look 1 of at most 2, 2 of at most 3 seeds."


def test_all_trained_says_nothing_of_it(fabricate: Fabric) -> None:
    experiment = partly(fabricate)
    assert read_measured(experiment.experiment, fabricate.root).partly == ""
    render(experiment.experiment, fabricate.root)
    assert "trained" not in (fabricate.root / "x" / "cpu" / "table.md").read_text()


def test_report_of_everything_leaves_out_what_has_runs_that_choose_alone(cli, tmp_path: Path) -> None:
    fabric = Fabric(tmp_path / "results")
    fabric(name="which_norm/desk/select/batch/optim.lr=0.05,seed=100,steps=176")
    status, _, stderr = cli("report", "which_norm", f"results_dir={fabric.root}")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "no finished run; start with `normexp reproduce which_norm scale=desk`" in stderr
    status, _, stderr = cli("report", f"results_dir={fabric.root}")
    assert status == 2
    assert "left out: " in stderr
    assert "no run that counts is finished" in stderr


@pytest.mark.parametrize("columns", [
    {"metric": "test/accuracy", "baseline": "Plain"},
    {"columns": [{"metric": "test/accuracy", "target": 0.4, "than": "Plain"}]},
])  # fmt: skip
def test_a_difference_is_over_the_seeds_of_the_last_look_that_is_complete(
    fabricate: Fabric, columns: dict[str, Any]
) -> None:
    """With one seed more, of the next look, the interval's confidence would be that of another number of seeds."""
    experiment = made(fabricate, table=columns, grid={"seed": [0, 1, 2, 3]})
    experiment.statuses = {("With BN", 3): "interrupted"}
    experiment.run(varied)

    def shown(seeds: list[int], design: Design | None) -> list[str]:
        partly = replace(experiment.experiment, grid={"seed": seeds}, design=design)
        table = experiment_table(partly, read_measured(partly, fabricate.root), {})
        column = next(i for i, head in enumerate(table.heads) if "[95 %]" in head)
        return [cells[column] for cells in table.rows]

    in_two_looks = Design((0, 1, 2, 3), (2, 4))
    assert shown([0, 1, 2, 3], in_two_looks) == shown([0, 1], in_two_looks) != shown([0, 1, 2, 3], None)


def test_where_all_runs_are_stale_it_is_said(fabricate: Fabric) -> None:
    """The report said to start, and the advice on seeds that none was trained."""
    ours = partly(fabricate).experiment
    later = replace(ours, common={**ours.common, "optim.lr": 0.3})
    told = r"6 runs are stale \(x/cpu/runs/.*: its optim.lr was 0.1 and is 0.3 now\); `normexp .* --force` trains all"
    with pytest.raises(UserError, match=told):
        render(later, fabricate.root)
    *_, line = power(later, fabricate.root)
    assert re.search(told, line)


def test_runs_of_an_arm_that_is_gone_are_counted(fabricate: Fabric, caplog: pytest.LogCaptureFixture) -> None:
    ours = partly(fabricate).experiment
    with caplog.at_level("INFO"):
        render(replace(ours, arms={"Plain": ours.arms["Plain"], "BN": ours.arms["With BN"]}), fabricate.root)
    told = (
        r"left out: 3 runs are of no arm or point that it has today \(With-BN/seed=0\); `normexp table .*/x/cpu/runs`"
    )
    assert re.search(told, caplog.text)


def test_what_is_behind_a_link_is_counted_alike(fabricate: Fabric, caplog: pytest.LogCaptureFixture) -> None:
    ours, folder = partly(fabricate).experiment, fabricate.root / "x"
    folder.rename(fabricate.root / "elsewhere")
    folder.symlink_to("elsewhere")
    with caplog.at_level("INFO"):
        render(replace(ours, arms={"Plain": ours.arms["Plain"], "BN": ours.arms["With BN"]}), fabricate.root)
    assert "left out: 3 runs are of no arm or point that it has today (With-BN/seed=0)" in caplog.text


def test_a_damaged_archive_beside_its_runs_counts_for_none(fabricate: Fabric) -> None:
    experiment = partly(fabricate).experiment
    (fabricate.root / "x" / "cpu" / "records.zip").write_bytes(b"no archive")
    assert render(experiment, fabricate.root)


def varied(arm: str, point: dict[str, Any], random: np.random.Generator) -> list[dict[str, object]]:
    seed = point["seed"]
    steps = 10 * (2 + seed + (arm == "Plain") * (3 + seed % 2))
    return [
        {"step": 0, "test/accuracy": 0.1},
        {"step": steps, "test/accuracy": 0.5 + (arm == "With BN") * (0.1 + 0.01 * seed * seed)},
    ]


def test_an_arm_with_a_diverged_run_ranks_after_those_without(fabricate: Fabric) -> None:
    """The mean of its finite runs says nothing about the one that is lost."""
    arms = {name: {"norm": "none"} for name in ("Lost", "Poor", "Good")}
    claims, table = [read_claim(HIGHER | {"of": "Good", "than": "Poor"})], {"columns": ["test/accuracy"]}
    experiment = made(fabricate, claims=claims, summary="?", arms=arms, table=table)
    end = {"Lost": 0.9, "Poor": 0.5, "Good": 0.7}
    experiment.statuses = {("Lost", 2): "diverged"}
    experiment.run(lambda arm, *_: [{"step": 0, "test/accuracy": 0.1}, {"step": 10, "test/accuracy": end[arm]}])
    render(experiment.experiment, fabricate.root)
    ranking = (fabricate.root / "x" / "cpu" / "summary.md").read_text().partition("## Ranking")[2]
    assert "Arms with a run that has no finite value come after those without." in ranking
    assert ranking.index("Good") < ranking.index("Poor") < ranking.index("Lost")
    (axes,) = experiment.figure(kind="bars", metric="test/accuracy", sort=True).axes
    rows = sorted((y, text.get_text()) for y, text in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True))
    assert [name for _, name in rows] == ["Good", "Poor", "Lost"]
