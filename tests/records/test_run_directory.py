"""The run directory: written atomically, read with suspicion."""

import fcntl
import json
import math
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from one_line import one_line_error

from normexp.config import compose
from normexp.errors import Taken, UserError
from normexp.records import CurveFile, RunDirectory, files, find_runs, parsing, together_before, write_atomically
from normexp.records.curve_file import cell, csv_text
from normexp.records.fences import fenced
from normexp.records.parsing import yaml_mapping


def test_write_atomically_replaces_and_leaves_no_other_file(tmp_path):
    for content in ("old", b"new"):
        write_atomically(tmp_path / "file", content)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"new")]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_write_atomically_keeps_the_old_file_when_writing_fails(tmp_path, monkeypatch, broken):
    write_atomically(tmp_path / "file", "old")

    def fail(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(tmp_path / "file", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o002, 0o664)], ids=["private", "a group's"])
def test_write_atomically_gives_the_rights_that_the_umask_leaves(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "file", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_write_atomically_to_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    """What is there already with the same content is as good as written: `report` on a read-only folder."""
    write_atomically(tmp_path / "file", "old")
    monkeypatch.setattr(files, "_WRITING", os.O_WRONLY)  # as where no file may be made: the temporary one is not there
    write_atomically(tmp_path / "file", "old")
    for name in ("file", "other"):
        with pytest.raises(UserError, match=rf"/{name}: cannot be written \(No such file or directory\)$"):
            write_atomically(tmp_path / name, "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


@pytest.mark.parametrize("value", [0.1, 1e-300, 1 / 3, -0.0, 1e22, 5e-324, math.inf])
def test_cell_reads_back_to_the_same_number(value):
    assert float(cell(value)) == value


def test_csv_text_has_the_names_and_a_line_for_each_row():
    assert csv_text(["a", "b"], [{"a": None, "b": "x,y"}]) == 'a,b\n,"x,y"\n'


def test_cell_of_nothing_is_empty():
    assert (cell(None), cell(3), cell(float("nan"))) == ("", "3", "nan")


@pytest.fixture
def curve(tmp_path) -> CurveFile:
    file = CurveFile(tmp_path / "metrics.csv", ["step", "loss"])
    file.start(keep_until=-1)
    for step in (0, 10, 20):
        file.append({"step": step, "loss": None if step == 0 else step / 3})
    return file


def test_curve_has_fixed_columns_and_one_row_per_evaluation(curve):
    rows = ["step,loss", "0,", f"10,{10 / 3!r}", f"20,{20 / 3!r}"]
    assert curve.path.read_text() == "\n".join(rows) + "\n"


def test_curve_started_again_keeps_the_rows_up_to_a_step(curve):
    before = curve.path.read_text().splitlines()
    curve.start(keep_until=10)
    assert curve.path.read_text().splitlines() == before[:3]


@pytest.mark.parametrize("half", ["2", "20", "20,", "20,6.", "20,6.66,7\n", "x,1\n"])
def test_curve_drops_a_row_that_is_not_whole(curve, half):
    lines = curve.path.read_text().splitlines()[:3]
    curve.path.write_text("\n".join(lines) + "\n" + half)
    curve.start(keep_until=99)
    assert curve.path.read_text().splitlines() == lines


def test_curve_with_other_columns_starts_afresh(curve):
    other = CurveFile(curve.path, ["step", "accuracy"])
    other.start(keep_until=99)
    assert curve.path.read_text() == "step,accuracy\n"


@pytest.fixture
def run(tmp_path) -> RunDirectory:
    directory = RunDirectory(tmp_path / "a-run")
    directory.path.mkdir()
    directory.write_status("done", step=5)
    (directory.path / "config.yaml").write_text("seed: 0\n_choices_: {}\n_changes_: {}\n")
    return directory


def test_names_with_commas_quotes_and_line_breaks_stay_one_cell(tmp_path):
    file = CurveFile(tmp_path / "probes.csv", ["step", "layer", "value"])
    file.start(-1)
    for step, name in enumerate(("a,b", 'q"uote', "two\nlines", "plain")):
        file.append({"step": step, "layer": name, "value": 0.1})
    file.start(2)  # as when a run continues
    assert file.path.read_text() == 'step,layer,value\n0,"a,b",0.1\n1,"q""uote",0.1\n2,two lines,0.1\n'
    assert [row["layer"] for row in parsing.csv_rows(file.path.read_bytes())] == ["a,b", 'q"uote', "two lines"]


def test_run_directory_reads_what_was_written(run):
    assert run.status == {"status": "done", "step": 5}
    assert run.config["seed"] == 0


@pytest.mark.parametrize("recorded", [False, True], ids=["left by an attempt before", "with a sum of an older version"])
def test_a_figure_that_is_drawn_again_damages_no_record(run, recorded):
    for name in ("curves.png", "curves.md"):
        (run.path / name).write_text("of one run")
    run.finish("done", step=5)
    if recorded:
        run.write_status(**run.status | {"sha256": {**run.status["sha256"], "curves.png": "0" * 64}})
    assert run.status["sha256"].keys() - {"curves.png"} == {"config.yaml"}
    (run.path / "curves.png").write_text("of two runs")
    (run.path / "curves.md").unlink()
    run.check_sums()
    assert run.read("curves.png") == b"of two runs"


def test_what_a_run_was_before_is_not_what_its_directory_says_afterwards(run):
    run.write_environment({"stacked": 3})
    assert together_before(run).stacked == 3
    run.write_environment({"threads": 1})
    assert run.environment == {"threads": 1}


def test_run_directory_without_status_is_new(tmp_path):
    assert RunDirectory(tmp_path).status == {"status": "new"}


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"step": 1}', '{"status": "finished"}', "\xff"])
def test_run_directory_damaged_status_is_one_line(run, content):
    (run.path / "status.json").write_bytes(content.encode("latin-1"))
    with one_line_error(r"status\.json: damaged"):
        _ = run.status


@pytest.mark.parametrize("content", ["", "[", "- a", "seed: 0", "a: !!python/object/apply:os.getcwd []", "\xff"])
def test_run_directory_damaged_config_is_one_line(run, content):
    (run.path / "config.yaml").write_bytes(content.encode("latin-1"))
    with one_line_error(r"config\.yaml: damaged"):
        _ = run.config


def test_find_runs_returns_each_once_sorted(run, tmp_path):
    RunDirectory(tmp_path / "0-run").path.mkdir()
    RunDirectory(tmp_path / "0-run").write_status("running")
    found = find_runs([tmp_path, run.path, tmp_path])
    assert [directory.path.name for directory in found] == ["0-run", "a-run"]


def test_find_runs_names_the_run_of_a_file(run):
    with pytest.raises(UserError, match=f"holds no run directory .*; name its folder, {run.path}$"):
        find_runs([run.path / "config.yaml"])


def test_a_table_of_an_experiment_is_no_run_and_its_folder_is_named(experiment: Path):
    (experiment / "table.html").write_text("")
    with pytest.raises(UserError, match=f"holds no run directory .*; name its folder, {experiment}$"):
        find_runs([experiment / "table.html"])


def test_find_runs_passes_over_what_was_set_aside_unless_it_is_named(run):
    aside = run.path.rename(f"{run.path}.damaged-1")
    run.path.mkdir()
    run.write_status("done")
    assert [directory.path for directory in find_runs([run.path.parent])] == [run.path]
    assert [directory.path for directory in find_runs([aside])] == [aside]


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_find_runs_says_where_there_is_none(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=name):
        find_runs([tmp_path / name])


HOLD = """
import sys, pathlib
from normexp.records import RunDirectory
with RunDirectory(pathlib.Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_lock_held_by_another_process_refuses_until_it_dies(run):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, run.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match="another normexp process"), run.lock():
            pass
        holder.kill()
    with run.lock():
        pass


def test_lock_is_seen_by_others_and_free_again(run):
    assert not run.is_locked()
    with run.lock():
        assert run.is_locked()
    assert not run.is_locked()


def test_lock_is_looked_at_without_writing(run):
    """The folder of somebody else's results may be read-only."""
    lock = run.path / ".lock"
    lock.write_text("as it was")
    assert not run.is_locked()
    assert lock.read_text() == "as it was"
    lock.unlink()
    assert not run.is_locked()
    assert not lock.exists()


def test_lock_waits_for_those_who_only_look(run):
    with (run.path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not run.is_locked()  # two may look at a time
        leaves = threading.Timer(0.05, fcntl.flock, (file, fcntl.LOCK_UN))
        leaves.start()
        with run.lock():
            assert run.is_locked()
        leaves.join()


def test_lock_leaves_nothing_that_is_read_as_a_run(run):
    with run.lock():
        assert find_runs([run.path])[0].status["status"] == "done"
    assert json.loads(Path(run.path / "status.json").read_text())["step"] == 5


@pytest.mark.parametrize("overrides", [[], ["norm=stack"], ["model=mlp", "optim=adam", "probe=several"]])
def test_own_configurations_are_parsed_once(monkeypatch, overrides):
    """Looking at events first takes a quarter of the time of a table; only what may be deep is worth it."""
    text = compose(overrides).to_yaml()
    monkeypatch.setattr(parsing, "check_events", lambda _: pytest.fail("looked at twice"))
    assert yaml_mapping(text.encode())["seed"] == 0


LINES = (
    "a: 1", "a:", "b: null", "b:", "seed: 3", "  c: 2", "  d:", "    e: .5", "- 1", "- x: 2", "  - y", "a", "...",
    "---", "<<: {f: 1}", "<<:", "? g", ": h", "h: |", "  text", "", "  ", "i: [1,", "j: 2]", "k: 'it''s", "l: end'",
    'm: "x', 'n: y"', "# note", "  # note", "%YAML 1.2", "yes: no", "1: 2", "o: !!int ''", "p: &q 1", "r: *q", "ü: 1",
    "s:t", "u: 2026-01-01", "\tv: 1", "w: >-", "x: x: 1",
)  # fmt: skip


def parsed(text):
    try:
        return repr(yaml_mapping(text.encode()))
    except ValueError as error:
        return f"refused: {error}"


@settings(max_examples=300, deadline=None)
@example(lines=["a: 1", "...", "b: null"], end="\n")
@example(lines=["a: 1", "<<:", "  c: 2", "b: null"], end="\n")
@given(lines=st.lists(st.sampled_from(LINES), max_size=6), end=st.sampled_from(["\n", "\r\n", "\n\n", ""]))
def test_text_means_by_sections_what_it_means_whole(lines, end):
    text = "\n".join(lines) + end
    by_sections = parsed(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_by_sections", lambda _: None)
        assert by_sections == parsed(text)


def test_nobody_gets_what_another_reader_may_change():
    text = b"a:\n  b:\n  - 1\nc: 2\n"
    yaml_mapping(text)["a"]["b"].append(3)
    assert yaml_mapping(text) == {"a": {"b": [1]}, "c": 2}


def test_sections_that_were_met_are_not_parsed_again(monkeypatch):
    texts = [compose([f"seed={seed}", "optim.lr=0.3"]).to_yaml().encode() for seed in range(5)]
    yaml_mapping(texts[0])
    loaded, load = [], parsing.yaml.load
    monkeypatch.setattr(parsing.yaml, "load", lambda text, **how: loaded.append(text) or load(text, **how))
    assert [yaml_mapping(text)["seed"] for text in texts[1:]] == [1, 2, 3, 4]
    assert {text.partition(":")[0] for text in loaded} <= {"seed", "_changes_"}


def test_run_that_another_worker_took_over_is_not_moved_aside(tmp_path):
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    (run.path / "status.json").write_text("{")

    def taken() -> None:
        raise Taken("taken over")

    with fenced(taken), pytest.raises(Taken):
        run.set_aside()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_data_is_what_the_environment_says_of_it(tmp_path):
    run = RunDirectory(tmp_path)
    run.write_environment({"data": {"sha256": "5ha"}, "cpu": {}})
    assert run.data == {"sha256": "5ha"}
    study = RunDirectory(tmp_path / "study")
    study.path.mkdir()
    study.write_environment({})
    assert study.data == RunDirectory(tmp_path / "none").data == {}
