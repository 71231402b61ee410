"""Studies: recorded like any run, refused in one line, left out of the tables of trained runs."""

import json

import pytest
import torch

from normexp.config import compose, option, options
from normexp.errors import UserError
from normexp.records import RunDirectory, read_rows
from normexp.runs.study_run import run_study
from normexp.studies.base import Number, Outcome, Study, StudyContext

STUDY = "study=batch_layer_example"


def outcome_of(monkeypatch, outcome) -> None:
    def measure(self, setup):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr("normexp.studies.batch_layer_example.BatchLayerExample.measure", measure)


ROW = {"step": 3, **dict.fromkeys(option("study", "batch_layer_example")["_metrics_"], 1), "wrong": 0.1 + 0.2}


def test_study_is_recorded_and_skipped_the_second_time(cli, tmp_path):
    status, stdout, _ = cli("run", STUDY, f"results_dir={tmp_path}")
    assert status == 0
    (place,) = (tmp_path / "runs").iterdir()
    assert place.name.startswith("batch_layer_example-")
    assert "printed numbers checked" in stdout
    assert {path.name for path in place.iterdir()} == {
        ".lock", "config.yaml", "environment.json", "matrices.csv", "metrics.csv", "numbers.csv", "status.json",
    }  # fmt: skip
    before = (place / "status.json").stat().st_mtime_ns
    status, _, stderr = cli("run", STUDY, f"results_dir={tmp_path}")
    assert (status, "done already" in stderr) == (0, True)
    assert (place / "status.json").stat().st_mtime_ns == before
    assert cli("run", STUDY, f"results_dir={tmp_path}", "--force")[0] == 0
    assert json.loads((place / "status.json").read_text())["attempts"] == 2


def test_study_with_equal_settings_gives_equal_bytes(tmp_path):
    written = []
    for name in ("a", "b"):
        run_study(compose([STUDY, "study.reading=wtx"]), RunDirectory(tmp_path / name), force=False)
        written.append([(tmp_path / name / file).read_bytes() for file in ("metrics.csv", "numbers.csv")])
    assert written[0] == written[1]


def test_study_depends_on_its_seed_and_not_on_what_ran_before(tmp_path):
    """Spectral normalization begins with a random vector."""
    written = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        run_study(
            compose(["study=deep_chain", "study.depth=3", "norm=spectral"]), RunDirectory(tmp_path / f"{seed}"), False
        )
        written.append((tmp_path / f"{seed}" / "metrics.csv").read_bytes())
    assert written[0] == written[1]


def test_study_loads_no_data_it_does_not_ask_for(tmp_path, monkeypatch):
    loads = iter([[1.0], [2.0]])
    monkeypatch.setattr("normexp.runs.study_run.load_average", lambda: next(loads))
    run_study(compose(["study=rezero", "study.depth=2", "dataset=mnist"]), RunDirectory(tmp_path / "x"), force=False)
    environment = json.loads((tmp_path / "x" / "environment.json").read_text())
    assert "data" not in environment
    assert (environment["load"], environment["load_at_end"]) == ([1.0], [2.0])


def test_study_numbers_read_back_exactly(tmp_path, monkeypatch):
    outcome_of(monkeypatch, Outcome([ROW], {"line": [{"x": 1, "y": 1e-17}]}, [Number("S001", "p", "q", "0.3", 0.3)]))
    run_study(compose([STUDY]), RunDirectory(tmp_path / "x"), force=False)
    (row,) = read_rows(tmp_path / "x" / "metrics.csv")
    assert (row["step"], float(row["wrong"])) == ("3", 0.1 + 0.2)
    assert read_rows(tmp_path / "x" / "line.csv") == [{"x": "1", "y": "1e-17"}]
    assert read_rows(tmp_path / "x" / "numbers.csv")[0]["agrees"] == ""


def test_study_that_refuses_leaves_no_trace(tmp_path, monkeypatch, cli):
    outcome_of(monkeypatch, UserError("dataset=digits: is no house"))
    status, _, stderr = cli("run", STUDY, f"results_dir={tmp_path / 'results'}")
    assert (status, stderr) == (2, "normexp: dataset=digits: is no house\n")
    assert list(tmp_path.iterdir()) == []


def test_what_a_scheme_says_of_a_studys_network_is_one_line(tmp_path, cli):
    """It was a failure of the program, "failed: ValueError: ...", status 1, with a traceback to be read."""
    status, _, stderr = cli("run", "study=largest_rate", "norm=instance", f"results_dir={tmp_path / 'results'}")
    assert status == 2
    assert stderr.startswith(
        "normexp: study=largest_rate norm=instance: normalization over 32 groups needs more than one"
    )
    assert list(tmp_path.iterdir()) == []


def test_study_that_fails_is_recorded_and_tried_again(tmp_path, monkeypatch):
    run = RunDirectory(tmp_path / "x")
    outcome_of(monkeypatch, KeyError("its table"))
    with pytest.raises(KeyError):
        run_study(compose([STUDY]), run, force=False)
    assert (run.status["status"], run.status["cause"]) == ("failed", "KeyError: 'its table'")
    assert "in measure" in (run.path / "traceback.txt").read_text()
    outcome_of(monkeypatch, Outcome([ROW]))
    run_study(compose([STUDY]), run, force=False)
    assert (run.status["status"], run.status["attempts"], run.has("traceback.txt")) == ("done", 2, False)
    outcome_of(monkeypatch, KeyError("its table"))
    with pytest.raises(KeyError):
        run_study(compose([STUDY]), run, force=True)
    assert run.status["status"] == "done"  # what there was is still there


@pytest.mark.parametrize("rows", [[], [{"step": 0}], [{**ROW, "more": 1}]], ids=["none", "too few", "too many"])
def test_study_keeps_what_its_option_promises(tmp_path, monkeypatch, rows):
    outcome_of(monkeypatch, Outcome(rows))
    with pytest.raises(AssertionError):
        run_study(compose([STUDY]), RunDirectory(tmp_path / "x"), force=False)
    assert RunDirectory(tmp_path / "x").status["status"] == "failed"


def test_study_is_no_row_of_a_table_of_trained_runs(cli, tmp_path):
    cli("run", STUDY, f"results_dir={tmp_path}")
    status, stdout, _ = cli("table", str(tmp_path))
    assert (status, stdout.count("\n| none |")) == (0, 1)  # by itself it has a table of what it measured
    cli("run", "model=linear", "steps=1", f"results_dir={tmp_path}", "--quiet")
    status, stdout, _ = cli("table", str(tmp_path))
    assert (status, stdout.count("\n| none |")) == (0, 1)
    assert "- Left out, 1 that measured something and trained nothing: " in stdout


def test_study_does_not_change_the_identity_of_a_run_that_trains():
    assert compose(["norm=batch"]).identity == "c9d8a1fd"  # as README shows it, and as it was before there were studies
    assert compose(["norm=batch", "study=train_and_test"]).identity != "c9d8a1fd"


def test_the_base_study_measures_nothing():
    assert Study().measure(StudyContext(compose([]))) == Outcome([])


@pytest.mark.parametrize("name", [name for name in options("study") if name != "none"])
def test_study_says_what_it_measures(name):
    assert all(text and text[0] != " " for text in option("study", name)["_metrics_"].values())
