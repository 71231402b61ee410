"""What was declared before the first run, and what was changed since."""

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up import MADE_UP
from parsed import parse

from normexp.errors import UserError
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.freeze import changes_since_frozen, checksum, declared, freeze, frozen_path, frozen_text
from normexp.experiments.load import load
from normexp.experiments.taken import taken_in_words
from normexp.records import RunDirectory

DATA: dict[str, Any] = {
    **MADE_UP,
    "scales": {"cpu": None},
    "underpowered": "a test",
    "table": {"metric": "test/accuracy", "margin": 0.01},
    "published": [{"arm": "batch", "metric": "test/accuracy", "at": "last", "value": ".98", "place": "row 1"}],
    "claims": [
        {"text": "batch is better", "source": "s", "compare": "difference", "in": "> 0",
         "metric": "test/accuracy", "of": "batch", "than": "none"},
        {"text": "batch is first", "source": "s", "compare": "steps", "in": "> 1", "metric": "test/accuracy",
         "of": "batch", "than": "none", "target": 0.9},
    ],
}  # fmt: skip


def changed(*path: str | int, to: Any) -> Experiment:
    """Return the experiment with another value at a path of its YAML."""
    data = copy.deepcopy(DATA)
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return parse("x", "cpu", data)


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    """A results folder with the record of the experiment as it was, and its first run, which has begun."""
    assert freeze(parse("x", "cpu", DATA), tmp_path) == frozen_path(parse("x", "cpu", DATA), tmp_path)
    first_run(parse("x", "cpu", DATA), tmp_path)
    return tmp_path


def first_run(experiment: Experiment, results: Path) -> None:
    place = run_place(results, experiment, "batch", experiment.points()[0])
    place.mkdir(parents=True)
    RunDirectory(place).write_status("running", step=0)


def test_nothing_is_changed_at_first_and_without_a_record(frozen: Path, tmp_path: Path) -> None:
    assert changes_since_frozen(parse("x", "cpu", DATA), frozen) == []
    assert changes_since_frozen(changed("table", "margin", to=0.5), tmp_path / "elsewhere") == []


def test_the_first_record_stays(frozen: Path) -> None:
    before = frozen_path(parse("x", "cpu", DATA), frozen).read_bytes()
    assert freeze(changed("table", "margin", to=0.5), frozen) is None
    assert frozen_path(parse("x", "cpu", DATA), frozen).read_bytes() == before


CHANGES = {
    "margin": (("table", "margin"), 0.5, "margin was changed after the first trial: 0.01 before, 0.5 now"),
    "seeds": (("grid", "seed"), [0, 1, 2], "seeds were changed after the first trial: 0-1 before, 0-2 now"),
    "more seeds": (
        ("grid", "seed"),
        [*range(4, 9), 11],
        "seeds were changed after the first trial: 0-1 before, 4-8, 11 now",
    ),
    "grid": (
        ("grid", "batch_size"),
        [128],
        "grid 'batch_size' was changed after the first trial: 128, 8 before, 128 now",
    ),
    "search": (("select", "search"), {"optim.lr": [0.1]}, "search 'optim.lr' was changed"),
    "selection seeds": (("select", "seeds"), [100, 101], "selection seeds were changed"),
    "published": (
        ("published", 0, "value"),
        ".97",
        "'batch, test/accuracy, last' was changed after the first trial: .98",
    ),
    "target": (("claims", 1, "target"), 0.8, "'batch is first' was changed after the first trial: target: 0.9 before"),
    "region": (("claims", 0, "in"), "> 0.1", "region: [0.0, 'inf'] before, region: [0.1, 'inf'] now"),
    "selection metric": (("select", "metric"), "validation/loss", "selection 'metric' was changed after"),
    "setting": (("common", "steps"), 10, "setting 'steps' was changed after the first trial: 5 before, 10 now"),
    "new setting": (
        ("common", "optim.momentum"),
        0.2,
        "setting 'optim.momentum' was changed after the first trial: nothing before, 0.2 now",
    ),
    "emptied": (("common", "model.widths"), [], "after the first trial: nothing before, [] now"),
    "arm": (
        ("arms", "batch", "norm"),
        "layer",
        "arm 'batch' was changed after the first trial: norm: batch before, norm: layer",
    ),
    "new arm": (
        ("arms", "plain"),
        {},
        "arm 'plain' was changed after the first trial: nothing before, common settings now",
    ),
    "trials": (
        ("select", "common"),
        {"steps": 2},
        "trial setting 'steps' was changed after the first trial: nothing before, 2",
    ),
    "text": (("claims", 0, "text"), "batch is far better", "nothing now"),
}


@pytest.mark.parametrize(("path", "to", "words"), CHANGES.values(), ids=CHANGES)
def test_each_change_is_said_with_both_versions(frozen: Path, path: tuple[Any, ...], to: Any, words: str) -> None:
    found = changes_since_frozen(changed(*path, to=to), frozen)
    assert len(found) == (2 if path[-1] == "text" else 1)
    assert words in str(found[0])


def test_two_printed_numbers_of_one_arm_and_place_are_two(tmp_path: Path) -> None:
    """check_columns permits both: one is of the metric, a fraction, the other of its ratio to another arm."""
    at_the_end = {"metric": "test/accuracy", "at": "last"}
    ratio = {**at_the_end, "relative_to": "none"}
    both = [{"arm": "batch", "place": "row 1", **look, "value": v} for look, v in ((at_the_end, ".5"), (ratio, "1.2"))]
    data = {**DATA, "table": {"columns": ["test/accuracy", ratio]}, "published": both}
    freeze(parse("x", "cpu", data), tmp_path)
    first_run(parse("x", "cpu", data), tmp_path)
    other = {**data, "published": [{**both[0], "value": ".9"}, both[1]]}
    (change,) = changes_since_frozen(parse("x", "cpu", other), tmp_path)
    assert "published 'batch, test/accuracy, last' was changed after the first trial: .5 before, .9 now" in str(change)


def test_what_a_scale_lays_over_an_arm_is_a_change_at_this_scale_alone(frozen: Path) -> None:
    own = {"arms": {"batch": {"norm.var": "unbiased"}}}
    assert changes_since_frozen(changed("scales", "paper", to=own), frozen) == []
    (change,) = changes_since_frozen(changed("scales", "cpu", to=own), frozen)
    assert "arm 'batch' was changed after the first trial: nothing before, norm.var: unbiased now" in str(change)


def test_wording_is_no_change(frozen: Path) -> None:
    assert changes_since_frozen(changed("claims", 0, "source", to="page 2"), frozen) == []
    modern = {"text": "batch is better", "source": "s", "compare": "difference", "metric": "test/accuracy",
              "of": "batch", "than": "none", "in": "> 0"}  # fmt: skip
    assert changes_since_frozen(changed("claims", 0, to=modern), frozen) == []


def test_another_kind_is_a_change_for_the_ledger_counts_by_it(frozen: Path) -> None:
    (change,) = changes_since_frozen(changed("claims", 0, "kind", to="own"), frozen)
    assert "'batch is better' was changed after the first trial: kind: that of its scale before, kind: own now" in str(
        change
    )


def test_a_record_of_an_older_program_knows_neither_kinds_nor_how_was_chosen_nor_settings(frozen: Path) -> None:
    path = frozen_path(parse("x", "cpu", DATA), frozen)
    content = json.loads(path.read_text())["declared"]
    del content["selection"], content["claim"]["batch is better"]["kind"]
    del content["setting"], content["arm"], content["trial setting"]
    path.write_text(frozen_text(content, None, "2026-01-01", 0))
    assert changes_since_frozen(changed("common", "steps", to=10), frozen) == []
    assert changes_since_frozen(changed("arms", "batch", "norm", to="layer"), frozen) == []
    assert changes_since_frozen(changed("select", "metric", to="validation/loss"), frozen) == []
    assert changes_since_frozen(changed("claims", 0, "kind", to="own"), frozen) == []


def test_where_and_on_what_is_computed_is_no_setting(frozen: Path) -> None:
    assert changes_since_frozen(changed("common", "threads", to=2), frozen) == []
    typed = parse("x", "cpu", DATA).with_extra({"precision": "bf16"})
    assert "precision=bf16" in typed.overrides("batch", typed.points()[0])
    assert changes_since_frozen(typed, frozen) == []


@pytest.fixture
def on_own_data(tmp_path: Path) -> Callable[[Path], Experiment]:
    """Make the experiment on a CSV file, of which every arm takes the same."""
    csv = {"dataset": "csv", "dataset.target": "y", "dataset.task": "classification", "dataset.validation": 0.1}
    (tmp_path / "own.csv").write_text("x,y\n1,2\n3,4\n")
    return lambda path: parse("x", "cpu", {**DATA, "common": {**DATA["common"], **csv, "dataset.file": str(path)}})


def test_data_of_ones_own_are_frozen_by_their_content(
    tmp_path: Path, on_own_data: Callable[[Path], Experiment]
) -> None:
    own, results = tmp_path / "own.csv", tmp_path / "results"
    content = hashlib.sha256(own.read_bytes()).hexdigest()
    freeze(on_own_data(own), results)
    first_run(on_own_data(own), results)
    moved = own.rename(tmp_path / "moved.csv")
    assert changes_since_frozen(on_own_data(moved), results) == []
    assert changes_since_frozen(on_own_data(own), results) == []  # not here, so that nobody knows
    moved.write_text("x,y\n1,2\n3,5\n")
    (change,) = changes_since_frozen(on_own_data(moved), results)
    now = hashlib.sha256(moved.read_bytes()).hexdigest()
    assert str(change) == f"data 'csv' was changed after the first trial: {content} before, {now} now"


def test_a_record_of_an_older_program_knows_no_data(frozen: Path, on_own_data: Callable[[Path], Experiment]) -> None:
    experiment = on_own_data(frozen / "own.csv")
    path = frozen_path(experiment, frozen)
    content = declared(experiment)
    assert list(content.pop("data")) == ["csv"]
    path.write_text(frozen_text(content, None, "2026-01-01", 0))  # of an older program
    assert changes_since_frozen(experiment, frozen) == []


def test_what_was_changed_before_the_first_run_is_frozen_anew_by_it(tmp_path: Path, caplog: Any) -> None:
    usual, other = parse("x", "cpu", DATA), changed("table", "margin", to=0.5)
    path = freeze(usual, tmp_path, ahead=True)
    assert path is not None
    (change,) = changes_since_frozen(other, tmp_path)
    assert str(change) == "margin was changed after the freeze, before the first run: 0.01 before, 0.5 now"
    assert freeze(other, tmp_path, ahead=True) is None
    with caplog.at_level("INFO", logger="normexp"):
        assert freeze(other, tmp_path) == path
    assert caplog.messages == [f"x, frozen anew: {change}"]
    assert changes_since_frozen(other, tmp_path) == []
    first_run(usual, tmp_path)
    (change,) = changes_since_frozen(usual, tmp_path)
    assert "margin was changed after the first trial: 0.5 before, 0.01 now" in str(change)


def test_what_stayed_as_it_was_until_the_first_run_keeps_its_date(tmp_path: Path) -> None:
    path = freeze(parse("x", "cpu", DATA), tmp_path, ahead=True)
    assert path is not None
    path.write_text(path.read_text().replace(json.loads(path.read_text())["date"], "2026-01-01"))
    assert freeze(parse("x", "cpu", DATA), tmp_path) == path
    assert json.loads(path.read_text())["date"] == "2026-01-01"


def test_a_record_whose_first_run_never_came_declares_nothing_yet(tmp_path: Path) -> None:
    """`reproduce` was killed behind the record: what a killed process may leave is no run."""
    usual, other = parse("x", "cpu", DATA), changed("table", "margin", to=0.5)
    path = freeze(usual, tmp_path)
    assert path is not None
    (path.parent / ".frozen.json.abcd1234").write_text("{")
    place = run_place(tmp_path, usual, "batch", usual.points()[0])
    place.mkdir(parents=True)
    (place.parent / ".merge-abcd1234").mkdir()  # of `reproduce --take`
    (place.parent / ".merge-abcd1234" / "config.yaml").write_text("")
    (change,) = changes_since_frozen(other, tmp_path)
    assert "margin was changed after the freeze, before the first run" in str(change)
    assert freeze(other, tmp_path) == path
    assert changes_since_frozen(other, tmp_path) == []


def test_a_record_that_came_after_runs_stays_when_they_are_gone(tmp_path: Path) -> None:
    usual = parse("x", "cpu", DATA)
    path = frozen_path(usual, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(frozen_text(declared(usual), None, "2026-01-01", runs=4))
    assert freeze(changed("table", "margin", to=0.5), tmp_path) is None


def test_what_was_frozen_ahead_of_runs_that_are_there_stays(tmp_path: Path) -> None:
    assert freeze(parse("x", "cpu", DATA), tmp_path, ahead=True)
    finished_runs(parse("x", "cpu", DATA), tmp_path)
    assert freeze(changed("table", "margin", to=0.5), tmp_path) is None
    (change,) = changes_since_frozen(changed("table", "margin", to=0.5), tmp_path)
    assert "margin was changed after the first trial" in str(change)


def test_a_claim_that_was_added_is_told_by_what_is_tested(frozen: Path) -> None:
    more = [*DATA["claims"], {**DATA["claims"][0], "text": "another"}]
    (change,) = changes_since_frozen(changed("claims", to=more), frozen)
    assert str(change).startswith(
        "claim 'another' was changed after the first trial: nothing before, compare: difference"
    )
    assert str(change).endswith("region: [0.0, 'inf'] now")


def finished_runs(experiment: Experiment, results: Path) -> None:
    for point in experiment.points():
        place = run_place(results, experiment, "batch", point)
        place.mkdir(parents=True)
        RunDirectory(place).write_status("done", step=1)


def test_runs_without_a_record_are_told(tmp_path: Path) -> None:
    finished_runs(parse("x", "cpu", DATA), tmp_path)
    (change,) = changes_since_frozen(parse("x", "cpu", DATA), tmp_path)
    assert str(change) == "nothing is known to have been declared before the runs: frozen.json is missing"


def test_a_record_that_was_written_after_runs_says_so(tmp_path: Path) -> None:
    finished_runs(parse("x", "cpu", DATA), tmp_path)
    assert freeze(changed("claims", 0, "in", to="> 0.5"), tmp_path)
    late, _ = changes_since_frozen(parse("x", "cpu", DATA), tmp_path)
    assert "before the runs: 4 were finished when frozen.json was written" in str(late)


UNDATED = f'{{"declared": {{}}, "sha256": "{checksum({})}", "commit": null}}'


@pytest.mark.parametrize(
    "content", ["{", "{}", '{"declared": [], "sha256": ""}', '{"declared": {}, "sha256": "0"}', UNDATED]
)
def test_a_damaged_record_is_one_line(frozen: Path, content: str) -> None:
    experiment = parse("x", "cpu", DATA)
    frozen_path(experiment, frozen).write_text(content)
    with pytest.raises(UserError, match=r"frozen.json.*damaged"):
        changes_since_frozen(experiment, frozen)


@pytest.mark.parametrize("taken", [["a"], 3, "a", None, {"a": 3}, {"a": None}, {"a": ["b"]}])
def test_a_record_that_names_no_runs_as_taken_is_one_line(frozen: Path, taken: Any) -> None:
    path = frozen_path(parse("x", "cpu", DATA), frozen)
    path.write_text(json.dumps({**json.loads(path.read_text()), "taken": taken}))
    with pytest.raises(UserError, match=r"frozen.json: damaged \(its taken does not name runs\)"):
        changes_since_frozen(parse("x", "cpu", DATA), frozen)


@pytest.mark.parametrize(
    ("run", "place"),
    [
        ("old/base/cpu/runs/plain/seed=0", "old/base/cpu"),
        ("old/base/cpu/select/plain/optim.lr=0.1,seed=0", "old/base/cpu"),
        ("old/base/cpu/runs/runs/seed=0", "old/base/cpu"),
        ("old/base/cpu/runs/select/seed=0", "old/base/cpu"),
        ("results/runs/digits-mlp-none-seed0-f243f79a", "results/runs"),
        ("run", "."),
    ],
)
def test_a_run_was_taken_from_its_experiment_or_its_folder(run: str, place: str) -> None:
    assert list(taken_in_words({"runs/a/seed=0": run})) == [f"1 run was taken from {place}"]


def test_a_value_that_was_edited_in_the_record_is_noticed(frozen: Path) -> None:
    path = frozen_path(parse("x", "cpu", DATA), frozen)
    record = json.loads(path.read_text())
    record["declared"]["margin"] = {"": 0.5}
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match="does not have its checksum"):
        changes_since_frozen(changed("table", "margin", to=0.5), frozen)


def since_frozen(name: str, scale: str) -> list[str]:
    results = Path(__file__).parents[2] / "results"
    return [str(change) for change in changes_since_frozen(load(name, scale), results)]


def test_what_of_committed_experiments_came_after_their_runs_is_told() -> None:
    added = (
        "ends with a higher test accuracy than batch normalization (batches of 128)' was changed after the first run"
    )
    assert any(added in change for change in since_frozen("ba2016_figure6", "cpu"))
    assert since_frozen("cooijmans2017_gamma", "paper") == []  # of fresh seeds
    *_, loss, seeds = since_frozen("rezero_table", "paper")
    assert loss == (
        'claim "Layer norm\'s is 2.02 (within 0.1)" was changed after the first run: '
        "compare: equals, value: 2.02, tolerance: 0.1 before, compare: value, region: [1.92, 2.12] now"
    )
    assert seeds == "seeds were changed after the first run: 0 before, 1-4 now"


@pytest.mark.parametrize("scale", ["cpu", "paper"])
def test_figure_1_is_judged_by_what_was_declared_before_its_runs(scale: str) -> None:
    assert since_frozen("ioffe2015_figure1", scale) == []
