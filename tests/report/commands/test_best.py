"""`normexp best`: the best value per arm, by validation, with what to doubt about it."""

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from fabricated import CLASSIFICATION, Fabric, rows

from normexp.errors import UserError
from normexp.records import find_runs
from normexp.report.commands import runs as commands
from normexp.report.commands.best import combinations_tried, curve, dependence
from normexp.report.figures.averages import lines_of
from normexp.report.figures.captions import caption
from normexp.report.frames.reading import folder_frame

COLUMNS = (*CLASSIFICATION, "validation/accuracy")
SCORES = {0.01: (0.80, 0.82), 0.1: (0.90, 0.92001), 1.0: (0.70, 0.72)}


@pytest.fixture
def swept(fabricate: Fabric) -> Callable[..., Path]:
    def sweep(norm: str, scores: dict[float, tuple[float, ...]], **status: str) -> Path:
        for rate, values in scores.items():
            for seed, value in enumerate(values):
                table = [{**row, "validation/accuracy": value} for row in rows(1 - value, (0, 5))]
                end = status.get("status", "done") if rate == max(scores) else "done"
                fabricate(table=table, columns=COLUMNS, norm=norm, optim__lr=rate, seed=seed, status=end)
        return fabricate.root

    return sweep


def best_command(words: list[str], *options: object, **more: object) -> str:
    return commands.best_command(words, *options, **more)[0]  # type: ignore[arg-type]


def cells(text: str, second: bool = False) -> dict[str, list[str]]:
    text = text.partition("How much")[2 if second else 0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {line[0]: line[1:] for line in lines[2:]}


def test_best_is_that_of_the_validation_split(swept: Callable[..., Path]) -> None:
    swept("batch", SCORES)
    folder = swept("none", {0.01: (0.9, 0.9), 0.1: (0.79, 0.81), 1.0: (0.1, 0.1)})
    assert cells(best_command([str(folder)])) == {
        "none": [
            "0.01",
            "90.00",
            "0.1: 80.0 ± 1.4",
            "optim.lr=0.01 is the smallest tried; within noise of the next",
        ],
        "batch": ["0.1", "91.0 ± 1.4", "0.01: 81.0 ± 1.4", "-"],
    }
    by_test = best_command([str(folder), "norm=batch"], metric="test/accuracy")
    assert cells(by_test)["batch"][:2] == ["1.0", "29.0 ± 1.4"]


@pytest.mark.parametrize(
    ("format", "heads"),
    [
        ("md", f"------: | {'-' * 61} |\n| none"),
        ("html", '<th scope="col">next best</th><th scope="col" class="text">remark</th>'),
        ("tex", r"\begin{tabular}{lrrrl}"),
    ],
)
def test_a_remark_is_set_as_text(swept: Callable[..., Path], format: str, heads: str) -> None:
    folder = swept("none", {0.01: (0.9, 0.9), 0.1: (0.8, 0.8)})
    assert heads in best_command([str(folder)], format=format)


def test_json_without_a_choice_says_why(swept: Callable[..., Path]) -> None:
    folder = swept("batch", {0.1: (0.5, 0.5)}, status="diverged")
    (row,) = json.loads(best_command([str(folder)], over=["optim.lr"], format="json"))["rows"]
    expected = {"optim.lr": None, "validation/accuracy": None, "n": None, "remark": "none without a diverged run"}
    assert {key: row[key] for key in expected} == expected


def test_best_is_never_a_value_with_which_a_run_diverged(swept: Callable[..., Path]) -> None:
    folder = swept("batch", {0.01: (0.5, 0.5), 0.1: (0.9, 0.9)}, status="diverged")
    assert cells(best_command([str(folder)]))["batch"][0] == "0.01"


def test_best_says_what_is_within_noise(swept: Callable[..., Path]) -> None:
    folder = swept("batch", {0.01: (0.1, 0.1), 0.1: (0.9, 0.8), 0.3: (0.86, 0.82), 1.0: (0.1, 0.1)})
    assert cells(best_command([str(folder)]))["batch"][-1] == "within noise of the next"
    paired = swept(
        "layer", {0.01: (0.1, 0.1, 0.1), 0.1: (0.9, 0.7, 0.8), 0.3: (0.88, 0.68, 0.781), 1.0: (0.1, 0.1, 0.1)}
    )
    assert (
        cells(best_command([str(paired), "norm=layer"]))["layer"][-1] == "-"
    )  # each seed says so, however seeds differ
    chance = swept(
        "group", {0.01: (0.1, 0.1, 0.1), 0.1: (0.9, 0.8, 0.85), 0.3: (0.8, 0.83, 0.76), 1.0: (0.1, 0.1, 0.1)}
    )
    assert cells(best_command([str(chance), "norm=group"]))["group"][-1] == "within noise of the next"  # 2.1 errors
    single = swept("none", {0.01: (0.1,), 0.1: (0.9,), 1.0: (0.1,)})
    assert cells(best_command([str(single), "norm=none"]))["none"][-1] == "one seed: noise unknown"


@pytest.mark.parametrize(("loss_at_the_larger", "chosen", "other"), [(0.3, "0.1", "0.01"), (0.4, "0.01", "0.1")])
def test_best_and_sensitivity_decide_a_tie_alike_and_say_it(
    fabricate: Fabric, loss_at_the_larger: float, chosen: str, other: str
) -> None:
    """By the validation loss, and where that is equal too by the smaller value."""
    for rate, accuracy, loss in ((0.1, 0.9, loss_at_the_larger), (0.01, 0.9, 0.4), (1.0, 0.5, 0.2)):
        table = [{**row, "validation/accuracy": accuracy, "validation/loss": loss} for row in rows(0.5, (0, 5))]
        for seed in range(2):
            fabricate(table=table, columns=(*COLUMNS, "validation/loss"), norm="batch", optim__lr=rate, seed=seed)
    text = best_command([str(fabricate.root)])
    assert cells(text)["batch"][0] == chosen
    assert f"tied with {other}" in cells(text)["batch"][-1]
    assert cells(text, second=True)["batch"][1] == chosen


def test_best_says_which_runs_do_not_have_the_metric(fabricate: Fabric, swept: Callable[..., Path]) -> None:
    fabricate(norm="layer", optim__lr=0.01)
    assert cells(best_command([str(swept("batch", SCORES))]))["layer"][-1] == "has no validation accuracy (%)"


def test_best_chooses_by_no_other_split_unasked(fabricate: Fabric) -> None:
    with pytest.raises(UserError, match="no validation split was measured"):
        best_command([str(fabricate(norm="group").path)])


def test_best_takes_for_swept_what_one_scheme_has_several_numbers_of(fabricate: Fabric) -> None:
    """Not what one scheme alone has, nor the data: a smaller validation split is another measure."""
    fabricate(columns=COLUMNS, norm="batch", optim__lr=0.1, dataset__validation=50, batch_size=32)
    fabricate(columns=COLUMNS, norm="batch", optim__lr=0.2, batch_size=32)
    fabricate(columns=COLUMNS, norm="group", optim__lr=0.2, norm__num_groups=4)
    frame = folder_frame(find_runs([fabricate.root]))
    assert {"dataset.validation", "norm.num_groups", "optim.lr", "batch_size"} <= {*frame.varying}
    assert combinations_tried(frame).over == ["optim.lr"]
    assert combinations_tried(frame, ["dataset.validation"]).over == ["dataset.validation"]


def test_best_shows_what_varies_for_one_network_alone(fabricate: Fabric) -> None:
    """A folder of many things that were tried had a column for every key that differs anywhere."""
    for rate in (0.1, 0.2):
        fabricate(columns=COLUMNS, model="mlp", norm="batch", optim__lr=rate, batch_size=32)
        fabricate(columns=COLUMNS, model="cnn", norm="batch", optim__lr=rate, batch_size=64)
    head = best_command([str(fabricate.root)]).splitlines()[2]
    assert head.split()[1:8:2] == ["model", "norm", "optim.lr", "validation"]
    fabricate(columns=COLUMNS, model="mlp", norm="batch", optim__lr=0.1, batch_size=16)
    head = best_command([str(fabricate.root)], ["optim.lr"]).splitlines()[2]
    assert head.split()[1:8:2] == ["model", "norm", "batch_size", "optim.lr"]


def test_best_tells_the_dependence_of_the_arms_that_have_the_key(fabricate: Fabric) -> None:
    table = [{**row, "validation/accuracy": 0.9} for row in rows(0.9, (0, 5))]
    for momentum in (0.1, 0.5, 0.9):
        fabricate(table=table, columns=COLUMNS, norm="batch", optim__momentum=momentum)
    fabricate(table=table, columns=COLUMNS, norm="none", optim="adam")
    assert [*cells(best_command([str(fabricate.root)]), second=True)] == ["batch, optim=sgd"]


def test_best_draws_the_metric_over_each_hyperparameter(swept: Callable[..., Path], tmp_path: Path) -> None:
    folder = swept("batch", SCORES)
    swept("none", {0.01: (0.5, 0.7), 0.1: (0.9, 0.9)}, status="diverged")
    files = commands.best_command([str(folder)], out=str(tmp_path / "drawn"))[1]
    assert [path.name for path in files] == ["best.png", "best.svg", "best.md"]
    assert "learning rate" in files[1].read_text()
    ended = "Crosses at the panel's edge: runs that diverged there, 2 of No norm; the mean is over the others."
    meaning = "Mean over 2 runs; bars: from the lowest to the highest run."
    moved = "Points at one place are moved sideways, by a tenth of a step at most, so that none hides another."
    assert f"{meaning} {ended} {moved} Diverged (non-finite loss): none" in files[2].read_text()


def test_a_value_without_end_is_a_row_and_no_place_in_the_curve(fabricate: Fabric) -> None:
    """An option of somebody's own may be infinite."""
    for cap in (1.0, 10.0, 100.0, math.inf):
        table = [{**row, "validation/accuracy": 0.5} for row in rows(0.5, (0, 5))]
        fabricate(table=table, columns=COLUMNS, norm="batch", norm__cap=cap)
    choice = combinations_tried(folder_frame(find_runs([fabricate.root])))
    assert sorted(row.key["norm.cap"] for row in choice.groups[0]) == ["1.0", "10.0", "100.0", "inf"]
    chart = curve(choice)
    assert chart is not None
    assert lines_of(chart, "norm.cap")[0].x.tolist() == [1.0, 10.0, 100.0]
    assert dependence(choice) is not None


def test_there_is_no_curve_where_every_run_diverged(fabricate: Fabric) -> None:
    table = [{**row, "validation/accuracy": 0.5} for row in rows(0.5, (0, 5))]
    runs = [fabricate(table=table, columns=COLUMNS, optim__lr=rate, status="diverged") for rate in (0.1, 1.0)]
    assert curve(combinations_tried(folder_frame(runs))) is None


def test_best_says_where_there_is_nothing_to_draw(
    fabricate: Fabric, cli: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    for norm in ("batch", "layer"):
        fabricate(norm=norm)
    given = ("best", str(fabricate.root), "--over", "norm", "--metric", "test/accuracy", "--out", str(tmp_path / "out"))
    status, stdout, stderr = cli(*given)
    assert (status, "Best norm" in stdout) == (0, True)
    assert stderr == f"normexp: --out {tmp_path / 'out'}: no figure: no run that ended well has a number to stand at\n"


def test_the_curve_of_a_choice_has_the_best_of_the_other_hyperparameters(fabricate: Fabric) -> None:
    """At optim.lr=0.1 the better of two momenta counts, at 1 the one that did not diverge; at 2 both did."""
    for rate, momentum, value, status in (
        (0.1, 0.0, 0.6, "done"), (0.1, 0.9, 0.8, "done"), (1.0, 0.0, 0.3, "done"), (1.0, 0.9, 0.9, "diverged"),
        (2.0, 0.0, 0.9, "diverged"), (2.0, 0.9, 0.9, "diverged"),
    ):  # fmt: skip
        table = [{**row, "validation/accuracy": value} for row in rows(1 - value, (0, 5))]
        options = {"optim__lr": rate, "optim__momentum": momentum, "norm": "batch", "status": status}
        fabricate(table=table, columns=COLUMNS, **options)
    chart = curve(combinations_tried(folder_frame(find_runs([fabricate.root])), ["optim.lr", "optim.momentum"]))
    assert chart is not None
    (line,) = lines_of(chart, "optim.lr")
    assert dict(zip(line.x, line.mean, strict=True)) == {0.1: 80.0, 1.0: 30.0}
    assert [place for place, _ in line.crosses] == [2.0]
    assert "runs that diverged there, 1 of Batch norm" in caption(chart)


def test_best_tells_how_much_every_arm_depends_on_its_rate(swept: Callable[..., Path]) -> None:
    swept("none", {0.01: (0.9, 0.8), 0.1: (0.9, 0.8), 1.0: (0.9, 0.8)})
    folder = swept("batch", {0.01: (0.1, 0.1), 0.1: (0.9, 0.8), 1.0: (0.5, 0.3)})
    text = best_command([str(folder)])
    assert "Sensitivity: how far" in text
    found = cells(text, second=True)
    assert found["none"][:2] == ["85.0 ± 7.1", "0.01"]
    assert found["none"][3].startswith("0")
    assert found["batch"][0] == "85.0 ± 7.1"
    assert found["batch"][-1] == "6/6"


def test_best_says_which_runs_are_in_no_number(swept: Callable[..., Path], fabricate: Fabric, tmp_path: Path) -> None:
    """At the rate of a run that failed one table had the mean of the others, and the other had lost the whole seed."""
    folder = swept("none", SCORES)
    swept("layer", SCORES, status="diverged")
    swept("batch", {**SCORES, 1.0: (0.70,)})
    fabricate(norm="batch", optim__lr=1.0, seed=1, status="failed")
    text, files = commands.best_command([str(folder)], out=str(tmp_path / "drawn"))
    said = "Not finished and in no number, 1 of 18 runs: batch, optim.lr=1.0 seed 1 (failed at step 37)."
    first, second = text.split("How much")
    assert said in first
    assert "Diverged (non-finite loss): layer, optim.lr=1.0 seed 0 at step 12" in first
    assert "Left out of this table, without a result at every optim.lr: batch seed 1." in second
    assert said in files[-1].read_text()


def test_best_tells_the_dependence_in_every_format(swept: Callable[..., Path]) -> None:
    """LaTeX has two tables, HTML one page of two, CSV one row per arm, which a program reads as one table."""
    folder = str(swept("batch", {0.01: (0.1, 0.1), 0.1: (0.9, 0.8), 1.0: (0.5, 0.4)}))
    swept("none", {0.01: (0.5, 0.5), 0.1: (0.9, 0.9)})
    tex, page = best_command([folder], format="tex"), best_command([folder], format="html")
    assert (tex.count(r"\begin{table}"), tex.count("sensitivity &")) == (2, 1)
    assert (page.count("<!doctype"), page.count("<caption>"), page.count("Sensitivity: how far")) == (1, 2, 1)
    none, batch = csv.DictReader(io.StringIO(best_command([folder], format="csv")))
    assert (batch["norm"], batch["optim.lr"], batch["n"], batch["n of every value"]) == ("batch", "0.1", "2", "2")
    assert float(batch["sensitivity low"]) < float(batch["sensitivity"]) < float(batch["sensitivity high"])
    assert (none["optim.lr"], none["sensitivity"]) == ("0.1", "")


@pytest.mark.parametrize("seeds", [1, 2])
def test_best_says_why_one_seed_has_no_sensitivity(swept: Callable[..., Path], seeds: int) -> None:
    text = best_command([str(swept("batch", dict.fromkeys((0.01, 0.1, 1.0), (0.5, 0.6)[:seeds])))])
    assert ("Of one seed neither a sensitivity nor a difference is shown" in text) == (seeds == 1)
    assert (cells(text, second=True)["batch"][3] == "-") == (seeds == 1)


def test_best_tells_no_dependence_on_two_values(swept: Callable[..., Path]) -> None:
    assert "Sensitivity" not in best_command([str(swept("batch", {0.01: (0.5, 0.5), 0.1: (0.9, 0.9)}))])
