"""`normexp table --against ARM`: differences paired by seed, their intervals, and p-values corrected for the rows."""

import csv
import json

import pytest
from fabricated import REGRESSION, Fabric
from scipy.stats import ttest_rel

from normexp import load
from normexp.errors import UserError
from normexp.records import RunDirectory
from normexp.report.frames.reading import folder_frame
from normexp.report.tables.formats import FORMATS
from normexp.report.tables.runs import table

FOUND = {
    "none": [0.941, 0.952, 0.933, 0.948, 0.940],
    "batch": [0.962, 0.961, 0.958, 0.966, 0.957],
    "layer": [0.945, 0.949, 0.941, 0.950, 0.939],
}


def made(fabricate: Fabric, **overrides: object) -> list[RunDirectory]:
    return [
        fabricate(value, norm=norm, seed=seed, **overrides)
        for norm, values in FOUND.items()
        for seed, value in enumerate(values)
    ]


def lines(runs: list[RunDirectory], beside: str, by: tuple[str, ...] = ()) -> list[dict[str, str]]:
    content = table(folder_frame(runs), by, beside)
    return [dict(zip(content.heads, line, strict=True)) for line in content.rows]


def test_a_difference_is_that_of_a_paired_t_test_and_p_is_corrected_by_holm(fabricate: Fabric) -> None:
    rows = csv.DictReader(FORMATS["csv"](table(folder_frame(made(fabricate)), beside="none")).splitlines())
    found = {row["arm"]: row for row in rows}
    tests = {arm: ttest_rel(FOUND[arm], FOUND["none"]) for arm in ("batch", "layer")}
    smaller, larger = sorted(test.pvalue for test in tests.values())
    corrected = {smaller: 2 * smaller, larger: max(larger, 2 * smaller)}
    for arm, test in tests.items():
        low, high = test.confidence_interval(0.95)
        ends = [float(found[arm][f"difference_{end}"]) for end in ("low", "high")]
        assert ends == pytest.approx([low, high], rel=1e-9)
        assert float(found[arm]["p"]) == pytest.approx(corrected[test.pvalue], rel=1e-9)
        assert found[arm]["pairs"] == "5"
    assert found["none"]["difference"] == found["none"]["p"] == ""


def test_the_text_is_in_percent_and_the_note_says_how_many_rows_are_compared(fabricate: Fabric) -> None:
    runs = made(fabricate)
    none, batch, _ = lines(runs, "none")
    assert none["test accuracy (%) minus none [95 %]"] == none["p"] == "-"
    assert batch["test accuracy (%) minus none [95 %]"] == "+1.80 [+1.07, +2.53]"
    assert "for the rows that are compared, 2 here" in " ".join(table(folder_frame(runs), beside="none").notes[""])


def test_a_run_that_diverged_is_the_worst_and_is_compared_by_rank(fabricate: Fabric) -> None:
    runs = made(fabricate)
    runs += [fabricate(norm="rms", seed=seed, status="diverged") for seed in range(5)]
    *_, rms = lines(runs, "none")
    assert rms["test accuracy (%) minus none [95 %]"].endswith(" by rank")
    assert rms["test accuracy (%) minus none [95 %]"].startswith("-∞")
    assert float(rms["p"]) < 0.05


def test_python_has_the_same_table(fabricate: Fabric) -> None:
    made(fabricate)
    assert "minus none [95 %]" in load(fabricate.root).table(against="none")


def test_seeds_that_only_one_arm_has_are_no_pairs(fabricate: Fabric) -> None:
    runs = [run for run in made(fabricate) if run.config["seed"] < 2 or run.config["_choices_"]["norm"] == "none"]
    assert {row["pairs"] for row in table(folder_frame(runs), beside="none").values} == {None, 2}


def test_one_seed_has_no_difference(fabricate: Fabric) -> None:
    runs = [run for run in made(fabricate) if run.config["seed"] == 0]
    assert {row["p"] for row in lines(runs, "none")} == {"-"}


def test_rows_are_compared_with_the_one_that_is_like_them_in_all_else(fabricate: Fabric) -> None:
    runs = made(fabricate, model="mlp") + made(fabricate, model="cnn")
    rows = lines(runs, "none")
    assert [row["p"] for row in rows if row["arm"] == "none"] == ["-", "-"]
    assert "-" not in {row["p"] for row in rows if row["arm"] != "none"}


def test_several_runs_of_one_seed_and_arms_that_are_not_there_are_one_line(fabricate: Fabric) -> None:
    runs = made(fabricate, optim__lr=0.1) + made(fabricate, optim__lr=0.2)
    with pytest.raises(UserError, match=r"--against none: .* has several runs of one seed; compare arms"):
        lines(runs, "none", ("norm",))
    with pytest.raises(UserError, match=r"--against arm 'bath' does not exist; .*did you mean batch"):
        lines(made(fabricate), "bath")
    runs = made(fabricate, optim__lr=0.1) + made(fabricate, optim__lr=0.2)
    with pytest.raises(UserError, match=r"'batch, optim\.lr=0\.1', .*did you mean 'batch, optim\.lr=0\.1'"):
        lines(runs, "batch, optim.lr=0.11")
    runs = made(fabricate, optim__lr=0.1)[:10] + made(fabricate, optim__lr=0.2)[10:]
    for typed in ("none", "norm=none"):
        with pytest.raises(UserError, match=r"did you mean 'none, optim\.lr=0\.1'\?$"):
            lines(runs, typed)


def test_a_run_that_finished_is_not_replaced_by_one_of_its_seed_that_diverged(fabricate: Fabric) -> None:
    runs = made(fabricate, optim__lr=0.1)
    runs += [fabricate(norm="batch", optim__lr=10.0, seed=seed, status="diverged") for seed in range(4)]
    with pytest.raises(UserError, match=r"batch has several runs of one seed"):
        lines(runs, "none", ("norm",))


def test_a_run_that_diverged_counts_where_nobody_knows_what_is_better(fabricate: Fabric) -> None:
    def rank(value: float, norm: str, seed: int, status: str = "done") -> RunDirectory:
        table = [{"step": step, "rank": value} for step in (0, 10)]
        return fabricate(table=table, columns=("step", "rank"), norm=norm, seed=seed, status=status)

    runs = [rank(value + seed / value, norm, seed) for value, norm in ((1, "none"), (9, "batch")) for seed in range(4)]
    _, batch = lines(runs, "none")
    _, lost = lines([*runs, *(rank(0, norm, 4, "diverged") for norm in ("none", "batch"))], "none")
    assert not batch["rank minus none [95 %]"].endswith(" by rank")
    assert lost["rank minus none [95 %]"].endswith(" by rank")


def test_rows_without_the_metric_are_not_compared(fabricate: Fabric) -> None:
    """Houses have no accuracy; that their runs diverged made them one more comparison to correct for."""
    houses = [
        fabricate(table=[], columns=REGRESSION, norm=norm, seed=seed, status="diverged", dataset="houses")
        for norm in ("none", "batch") for seed in range(3)
    ]  # fmt: skip
    alone, beside = (lines(runs, "none") for runs in (made(fabricate), [*made(fabricate), *houses]))
    assert [row["p"] for row in beside if row["dataset"] == "houses"] == ["-", "-"]
    assert {row["p"] for row in alone} == {row["p"] for row in beside}


def test_without_a_finished_run_there_is_nothing_to_compare_with(fabricate: Fabric) -> None:
    with pytest.raises(UserError, match=r"^table: --against: no run is finished$"):
        lines([fabricate(norm="batch", status="running", table=[])], "batch")


@pytest.mark.parametrize(
    ("arms", "at_best"),
    [(("none", "batch"), True), (("none",), False), ((), False),
     (("none model.layers=4 seed=1", "batch model.layers=4 seed=1"), True), (("none model.layers=4",), False)],
)  # fmt: skip
def test_schemes_whose_rates_were_chosen_are_no_mere_settings(fabricate: Fabric, arms: tuple, at_best: bool) -> None:
    runs = [
        fabricate(0.9 + seed / 100, name=f"tab/cpu/runs/{norm}/seed={seed}", norm=norm, seed=seed)
        for norm in ("none", "batch")
        for seed in range(3)
    ]
    chosen = {"chosen": {arm: {"optim.lr": 0.1} for arm in arms}}
    (fabricate.root / "tab" / "cpu" / "chosen.json").write_text(json.dumps(chosen))
    (note,) = [note for note in table(folder_frame(runs), beside="none").notes[""] if note.startswith("Minus none")]
    assert ("not schemes at their best" in note) is not at_best
