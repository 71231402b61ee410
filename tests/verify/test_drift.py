"""`normexp verify drift`: recorded runs that are trained again, and one whose record was changed."""

import json
import shutil
from pathlib import Path

import pytest
from in_process import InProcess
from pandas import concat

from normexp.cli.verbs import main
from normexp.records import RunDirectory, find_runs
from normexp.records.files import write_atomically
from normexp.verify.differences import differences
from normexp.verify.drift import MOVED, TOLERANCE, trained_again
from normexp.verify.drift_table import read_table
from normexp.verify.environments import causes

YAML = Path(__file__).parents[2] / "configs" / "experiment" / "digits_five_schemes.yaml"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment of two arms, one seed, one step, and its results."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("normexp.sweeps.workers.Worker", InProcess)
        assert main(["new", "experiment", "mine"]) == 0
        shorten(folder / "mine.yaml")
        assert main(["reproduce", "mine.yaml", "scale=smoke", "jobs=1", "threads=1", "--cell", "batch"]) == 0
    return folder


def shorten(path: Path) -> None:
    text = path.read_text().partition("\nselect:")
    text = text[0] + "\nscales:" + text[2].partition("\nscales:")[2].partition("\nclaims:")[0]
    path.write_text(text.replace("steps: 20, eval_every: 10", "steps: 1").replace(
        "    select: {search: {optim.lr: [0.1]}, seeds: [100]}\n", "") + "\nclaims: []\ndeviations: []\n")  # fmt: skip


@pytest.fixture
def recorded(trained: Path, tmp_path: Path, monkeypatch) -> Path:
    """The results, a copy for this test, in the folder where it is."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def change(results: Path, column: str, factor: float) -> None:
    """Multiply the last number of a column of the cheapest record, as if it had been computed otherwise."""
    for run in find_runs([results]):
        path = run.path / "metrics.csv"
        head, *rows = path.read_text().splitlines()
        cells = rows[-1].split(",")
        place = head.split(",").index(column)
        cells[place] = str(float(cells[place]) * factor)
        path.write_text("\n".join([head, *rows[:-1], ",".join(cells)]) + "\n")
        status = {key: value for key, value in run.status.items() if key != "sha256"}
        (run.path / "status.json").write_text(json.dumps(status))


def test_a_record_of_this_machine_repeats_byte_for_byte(recorded, cli):
    status, stdout, stderr = cli("verify", "drift", "mine.yaml", "scale=smoke")
    assert status == 0, stderr
    assert stdout.startswith("equal bytes: ")
    assert stdout.endswith("1 record: 1 equal bytes\n")


ONE_EACH = "--limit 2: one run each of 1 that is recorded; --seed S draws among all runs"
ONE_ROW = "--csv has one row per experiment, and --seed may draw several of its runs; give one of the two"


@pytest.mark.parametrize(
    ("given", "said"), [(("--limit", "2"), ONE_EACH), (("--seed", "1", "--csv", "drift.csv"), ONE_ROW)]
)
def test_what_would_be_lost_is_refused(recorded, cli, given, said):
    status, stdout, stderr = cli("verify", "drift", "mine.yaml", "scale=smoke", *given)
    assert (status, stdout, stderr) == (2, "", f"normexp: verify drift: {said}\n")
    assert not Path("drift.csv").exists()


@pytest.mark.parametrize(("factor", "verdict", "expected"), [(1 + 1e-5, "within tolerance", 0), (1.1, "moved", 1)])
def test_a_changed_record_is_noticed(recorded, cli, factor, verdict, expected):
    change(recorded, "train/loss", factor)
    status, stdout, _ = cli("verify", "drift", "mine.yaml", "scale=smoke")
    assert status == expected
    assert stdout.startswith(f"{verdict}: ")
    assert "train/loss at step" in stdout
    assert "same libraries and processor" in stdout


def test_the_library_that_differs_is_named(recorded, cli):
    change(recorded, "train/loss", 1.1)
    for run in find_runs([recorded]):
        facts = run.environment
        facts["packages"]["torch"] = "1.0.0"
        run.write_environment(facts)
    assert "torch 1.0.0 -> " in cli("verify", "drift", "mine.yaml", "scale=smoke", "--seed", 3)[1]


def test_a_record_of_a_gpu_is_tried_on_what_there_is(recorded, cli, monkeypatch):
    for run in find_runs([recorded]):
        path = run.path / "config.yaml"
        path.write_text(path.read_text().replace("_changes_:\n", "_changes_:\n  device: cuda\n"))
        path = run.path / "environment.json"
        path.write_text(path.read_text().replace('"device": "cpu"', '"device": "cuda"'))
        status = {key: value for key, value in run.status.items() if key != "sha256"}
        (run.path / "status.json").write_text(json.dumps(status))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    change(recorded, "test/loss", 1.5)
    status, stdout, stderr = cli("verify", "drift", "mine.yaml", "scale=smoke")
    assert (status, stderr) == (1, "")
    assert "device cuda -> cpu" in stdout


def test_what_cannot_be_trained_again_is_left_out(recorded, cli):
    for run in find_runs([recorded]):
        config = run.path / "config.yaml"
        config.write_text(config.read_text().replace("momentum: 0.9", "momentum: 0.8"))
        (run.path / "status.json").write_text(json.dumps({**run.status, "sha256": {}}))
    status, stdout, stderr = cli("verify", "drift", "mine.yaml", "scale=smoke")
    assert (status, stderr) == (2, "normexp: verify drift: no record could be trained again\n")
    assert "left out: " in stdout
    assert "stale, its optim.momentum was 0.8" in stdout


def test_nothing_of_a_record_is_changed(recorded, cli):
    before = {path: path.read_bytes() for path in recorded.rglob("*") if path.is_file()}
    cli("verify", "drift", "mine.yaml", "scale=smoke", "--limit", 1)
    assert {path: path.read_bytes() for path in recorded.rglob("*") if path.is_file()} == before


def test_differences_are_relative_to_the_column_and_rounding_is_none():
    before = [{"step": "0", "a": "0.0", "b": "100"}, {"step": "1", "a": "1e-12", "b": "0.1"}]
    now = [{"step": "0", "a": "0.0", "b": "100"}, {"step": "1", "a": "2e-12", "b": "0.2"}]
    found = {each.column: each.relative for each in differences(before, now)}
    assert found == {"a": 0.0, "b": pytest.approx(0.001)}


@pytest.mark.parametrize(
    ("now", "relative"), [("2e-19 of the loss, 4", 0), ("1e-20 of the loss, 5", 0.25), ("1e-20 of it, 4", float("inf"))]
)
def test_numbers_in_a_sentence_are_compared_where_its_words_are_the_same(now, relative):
    [found] = differences([{"computed": "-1e-20 of the loss, 4"}], [{"computed": now}])
    assert found.relative == relative


@pytest.mark.parametrize(
    "now",
    [[], [{"step": "0", "a": "1", "b": "2"}], [{"step": "0", "a": ""}], [{"step": "0", "a": "nan"}], [{"step": "0"}]],
)
def test_what_is_no_number_any_more_or_was_none_has_moved(now):
    assert max(each.relative for each in differences([{"step": "0", "a": "1"}], now)) > TOLERANCE


def test_an_old_record_is_silent_about_its_arithmetic():
    now = {"packages": {"torch": "2"}, "commit": "b" * 40, "cpu": {"model": 3}, "arithmetic": {"onednn": "v3"}}
    assert causes({**now, "stacked": 8}, now) == "runs in one program 8 -> 1"
    told = causes({"packages": {"torch": "2"}, "commit": "a" * 40}, now)
    assert told.startswith("same libraries and processor; commit aaaaaaaaa -> bbbbbbbbb")
    assert told.endswith("the record does not tell processor model and arithmetic")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["conditioning", "weight_dynamics"])
def test_committed_records_can_be_trained_again(cli, monkeypatch, name):
    """What it says depends on this processor; that it says something of a committed record does not."""
    monkeypatch.chdir(YAML.parent.parent.parent)
    record = RunDirectory(find_runs([f"results/{name}"])[0].path)
    status, stdout, stderr = cli("verify", "drift", name, "--limit", 1)
    assert record.status["status"] == "done"
    assert (status, stdout.count("\n")) in ((0, 2), (1, 2)), stderr
    assert status == int(stdout.startswith(MOVED))


def test_a_table_keeps_the_latest_row_of_every_experiment(recorded, cli, tmp_path):
    table = tmp_path / "drift.csv"
    assert cli("verify", "drift", "mine.yaml", "scale=smoke", "--csv", table)[0] == 0
    first = read_table(table)
    assert list(first["verdict"]) == ["equal bytes"]
    other = first.assign(experiment="another", verdict="moved")
    write_atomically(table, concat([other, first]).to_csv(index=False))
    change(recorded, "train/loss", 1.1)
    assert cli("verify", "drift", "mine.yaml", "scale=smoke", "--csv", table)[0] == 1
    rows = read_table(table)
    assert list(rows["experiment"]) == ["another", "mine"]
    assert list(rows["verdict"]) == ["moved", "moved"]
    assert rows["column"][1] == "train/loss"


def test_a_table_says_why_a_record_was_left_out(recorded, cli, tmp_path):
    for run in find_runs([recorded]):
        (run.path / "status.json").write_text(json.dumps({**run.status, "sha256": {}}))
        config = run.path / "config.yaml"
        config.write_text(config.read_text().replace("momentum: 0.9", "momentum: 0.8"))
    assert cli("verify", "drift", "mine.yaml", "scale=smoke", "--csv", tmp_path / "drift.csv")[0] == 2
    [row] = read_table(tmp_path / "drift.csv").to_dict("records")
    assert row["verdict"] == "left out"
    assert "stale" in row["why"]


@pytest.mark.parametrize(
    ("name", "expected"), [("none/drift.csv", "is no folder"), ("notes.csv", "no table of verify")]
)
def test_what_is_no_table_is_refused_before_anything_is_trained(recorded, cli, monkeypatch, tmp_path, name, expected):
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    monkeypatch.setattr("normexp.verify.drift.run", pytest.fail)
    status, stdout, stderr = cli("verify", "drift", "mine.yaml", "scale=smoke", "--csv", tmp_path / name)
    assert (status, stdout) == (2, "")
    assert expected in stderr


def test_the_file_that_holds_the_data_of_the_record_is_found_among_several(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, offset in (("other", 3), ("mine", 0)):
        rows = "".join(f"{i % 7},{i % 5},{i + offset}\n" for i in range(60))
        (tmp_path / f"{name}.csv").write_text(f"a,b,y\n{rows}")
    assert cli("run", "dataset=csv", "dataset.file=mine.csv", "dataset.target=y", "model=linear", "steps=2")[0] == 0
    [record] = find_runs([tmp_path / "results"])
    given = ["dataset.file=other.csv", "dataset.file=mine.csv"]
    assert trained_again(record, given).verdict == "equal bytes"
    assert trained_again(record, given[:1]).verdict == "left out"
