"""A sweep plans, estimates, trains what is new, and ends with its table."""

import itertools
import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from bombs import statuses
from in_process import InProcess
from one_line import one_line_error
from tiny_sweeps import TINY, metrics

import normexp
from normexp.records import find_runs
from normexp.sweeps.last import last_sweep
from normexp.sweeps.plan import Cell, make_plan
from normexp.sweeps.sweep import say_failures
from normexp.sweeps.time_needed import time_needed

# --- The plan. ---


def test_sweep_says_which_of_several_options_lacks_a_key():
    with one_line_error(r"^norm=layer: key 'norm\.momentum' does not exist; allowed: norm\.eps"):
        make_plan([*TINY, "norm=batch,layer", "norm.momentum=0.5"])
    with one_line_error(r"^key 'norm\.momentum' does not exist"):
        make_plan([*TINY, "norm=layer", "norm.momentum=0.5", "seed=0,1"])


def test_sweep_plan_counts_what_is_to_be_done(sweep, results):
    assert sweep("norm=none,batch", "seed=0,1")[0] == 0
    first, second = (run.path for run in find_runs([results])[:2])
    status = first / "status.json"
    status.write_text(status.read_text().replace('"done"', '"interrupted"'))
    second.rename(results / "elsewhere")
    plan = make_plan([*TINY, f"results_dir={results}", "norm=none,batch", "seed=0,1"])
    assert plan.describe() == "4 runs: 2 finished, 1 new, 1 to resume"


@pytest.mark.parametrize(
    "overrides", [["seed=0,0"], ["norm=none,none", "seed=0"], ["epochs=5,5"], ["optim.lr=0.1,1e-1,0.10"]]
)
def test_sweep_equal_cells_collapse(overrides):
    assert len(make_plan(overrides).cells) == 1


def test_sweep_ends_with_its_table_and_names_what_varies(sweep, results, cli):
    status, stderr = sweep("norm=none,batch", "seed=0,1")
    assert status == 0
    assert "[4/4] done norm=batch seed=1\n" in stderr
    assert f"next: normexp plot {results} --last-sweep\n" in stderr
    assert "best" not in stderr
    sweep("norm=layer", "optim.lr=0.01,0.02")
    _, shown, _ = cli("table", str(results), "--last-sweep")
    assert [line.split("|")[1].strip() for line in shown.splitlines() if line.startswith("| layer")] == [
        "layer, optim.lr=0.01",
        "layer, optim.lr=0.02",
    ]
    assert cli("table", str(results / "runs"), "--last-sweep", "norm=layer")[1].count("| layer") == 2
    assert "norm=batch matches no run" in cli("table", str(results), "--last-sweep", "norm=batch")[2]


def test_sweep_prints_its_table(cli, results, workers_here):
    given = ("sweep", *TINY, f"results_dir={results}", "jobs=1", "optim.lr=0.01,0.02")
    status, stdout, stderr = cli(*given)
    assert (status, stdout.count("| none, optim.lr=0.0")) == (0, 2)
    assert f"next: normexp best {results} --last-sweep --out best\n" in stderr
    assert cli(*given)[1] == stdout  # all of it was there already


STUDY = ("study=orthogonalization", "study.widths=[16,32]", "study.depth=10")
UNVALIDATED = (*TINY, "optim.lr=0.01,0.1", "dataset.validation=0")


@pytest.mark.parametrize("given", [STUDY, UNVALIDATED], ids=["a study", "no validation split"])
def test_what_a_sweep_proposes_works_when_it_is_pasted(cli, results, workers_here, given):
    _, _, stderr = cli("sweep", *given, f"results_dir={results}", "jobs=1")
    proposed = [line.partition("next: normexp ")[2] for line in stderr.splitlines() if "next: " in line]
    assert [line.split()[0] for line in proposed] == ["plot"]
    assert [cli(*shlex.split(line))[0] for line in proposed] == [0]


def test_failures_with_one_cause_are_told_once(caplog, tmp_path):
    caplog.set_level("INFO", logger="normexp")
    cells = [Cell(None, tmp_path / str(i)) for i in range(60)]
    assert say_failures([(cell, "no such file") for cell in cells[:59]] + [(cells[59], "killed")], 80) == 1
    told = [line for line in caplog.messages if line.startswith("failed")]
    assert told == [
        f"failed: {tmp_path}/0: no such file",
        "failed: 58 more with the same cause",
        f"failed: {tmp_path}/59: killed",
    ]


@pytest.mark.parametrize("runs", [["../elsewhere"], {"/tmp/elsewhere": "a"}, {"runs/\0": "a"}, ["runs/\0"], {}, []])
@pytest.mark.parametrize("words", [("plot", "--last-sweep"), ("status", "--watch")])
def test_last_sweep_that_names_runs_elsewhere_or_none_is_damaged(cli, tmp_path, runs, words):
    (tmp_path / ".last-sweep.json").write_text(json.dumps({"runs": runs}))
    status, _, stderr = cli(words[0], str(tmp_path), *words[1:])
    assert (status, stderr) == (2, f"normexp: {tmp_path}/.last-sweep.json: damaged; the next sweep writes it again\n")


def test_runs_that_left_no_record_are_named_under_the_table_of_their_sweep(results, cli, workers_here, monkeypatch):
    """What fails for want of room leaves none, and is no run of which there is nothing to say."""
    request = InProcess.request

    def full(worker: InProcess, message: dict, *rest: object) -> dict:
        if message["verb"] == "train" and "norm=batch" in message["overrides"]:
            return {"status": "failed", "cause": "no room", "no_room": True}
        return request(worker, message, *rest)

    monkeypatch.setattr(InProcess, "request", full)
    _, stdout, _ = cli("sweep", *TINY, f"results_dir={results}", "jobs=1", "norm=none,batch", "seed=0,1")
    note = "- Without a record and in no number, 2 of the 4 runs of the sweep: norm=batch seed=0; norm=batch seed=1.\n"
    assert note in stdout
    assert note in cli("table", results, "--last-sweep")[1]
    assert "Without a record" not in cli("table", results)[1]


def test_a_folder_in_the_place_of_last_sweep_is_one_line(sweep, results, cli):
    sweep("seed=0")
    place = results / ".last-sweep.json"
    place.unlink()
    place.mkdir()
    before = sorted(results.rglob("*"))
    assert sweep("seed=0")[0] == 0  # of what has ended nothing need be written
    status, stderr = sweep("seed=0,1")
    assert (status, stderr.splitlines()[-1]) == (2, f"normexp: {place}: cannot be written (Is a directory)")
    for words in (("table", results, "--last-sweep"), ("status", results, "--watch")):
        status, _, stderr = cli(*words)
        assert (status, stderr) == (2, f"normexp: {place}: damaged (not a regular file)\n")
    assert cli("status", results)[0] == 0
    assert sorted(results.rglob("*")) == before


def test_last_sweep_is_of_the_folder_that_is_named(sweep, results, cli):
    sweep("norm=none,batch")
    (results / "chosen").mkdir()
    for name, said in {"nowhere": "no such file or folder", "chosen": "lies there"}.items():
        status, _, stderr = cli("table", str(results / name), "--last-sweep")
        assert (status, stderr.count("\n")) == (2, 1)
        assert said in stderr
    assert cli("table", str(results / "runs"), "--last-sweep")[0] == 0


def test_sweep_from_python_is_the_same_sweep(results, workers_here):
    words = [*TINY, f"results_dir={results}", "seed=range(4)"]
    runs = normexp.sweep([*words, "shard=1/2"], jobs=1)
    assert [run.config["seed"] for run in runs] == [0, 2]
    assert last_sweep(results) == [run.path for run in runs]
    assert len(normexp.sweep(words, jobs=1)) == len(last_sweep(results)) == 4


def test_sweep_impossible_cell_is_left_out_and_explained(sweep, results):
    status, stderr = sweep("norm=batch,layer", "batch_size=1,2", "steps=2", "model=mlp")
    assert status == 0
    assert "3 runs: 0 finished, 3 new" in stderr
    assert "left out: batch_size=1 with norm=batch: its statistics are taken over the batch" in stderr
    assert len(find_runs([results])) == 3


def test_sweep_of_impossible_cells_only_is_refused(sweep, results):
    status, stderr = sweep("norm=batch", "batch_size=1", "seed=0,1", "model=mlp")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "batch_size=1 with norm=batch" in stderr
    assert not results.exists()


def test_sweep_dry_run_writes_nothing(sweep, results):
    status, stderr = sweep("seed=0,1", "--dry-run")
    assert status == 0
    assert "2 runs: 0 finished, 2 new, 0 to resume" in stderr
    assert "with jobs=1" in stderr
    assert not results.exists()


def test_sweep_says_why_the_time_is_not_known(sweep, monkeypatch):
    monkeypatch.setattr("normexp.runs.estimate.estimate_seconds", lambda *_: 1 // 0)
    status, stderr = sweep("seed=0,1", "--dry-run")
    assert status == 0
    assert "how long it takes is not known: ZeroDivisionError" in stderr


def test_sweep_times_no_more_kinds_of_runs_than_a_short_while_allows_and_says_so(sweep, monkeypatch):
    monkeypatch.setattr("normexp.runs.estimate.estimate_seconds", lambda *_: 30.0)
    words = ("norm=none,batch,layer", "seed=0,1", "--dry-run")
    assert "about 3.0 min with jobs=1, timed by a few steps of each kind of run\n" in sweep(*words)[1]
    monkeypatch.setattr("normexp.sweeps.time_needed.MOST_SECONDS", 0.0)
    assert "about 3.0 min with jobs=1, timed by a few steps of 1 of 3 kinds of runs\n" in sweep(*words)[1]


@pytest.mark.parametrize(("seconds", "timed"), [(2.0, 1), (100.0, 4)])
def test_sweep_times_for_a_tenth_of_what_it_tells_at_most(monkeypatch, seconds: float, timed: int):
    """Where all runs took two seconds each, timing them took as long as they did."""
    clock = itertools.count(step=1.2)  # every answer takes so long
    monkeypatch.setattr("normexp.sweeps.time_needed.time", SimpleNamespace(monotonic=lambda: next(clock)))
    cells = [SimpleNamespace(kind=kind, left=1.0, overrides=[], recipe=None) for kind in range(4)]
    worker = SimpleNamespace(request=lambda _: {"seconds": seconds})
    said = time_needed([worker], cells, force=False, trials=1)
    kinds = "each kind of run" if timed == 4 else f"{timed} of 4 kinds of runs"
    assert said.endswith(f"timed by a few steps of {kinds}")


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_sweep_of_which_no_run_works_is_refused_as_a_run_is(sweep, results, words):
    """It trained them all, each of which failed, and left their directories behind."""
    status, stderr = sweep("dataset.subset=5000", "norm=none,batch", *words)
    assert (status, results.exists()) == (2, False)
    assert stderr == "normexp: dataset.subset=5000: the training split has 1257 examples; in the run of norm=none\n"


def test_sweep_on_a_device_that_is_not_there_is_refused(sweep, results, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    status, stderr = sweep("device=cuda", "seed=0,1", "norm=none,batch")
    assert (status, results.exists()) == (2, False)
    assert stderr.splitlines()[-1] == "normexp: device=cuda: not available on this machine; available: auto, cpu"


def test_sweep_counts_only_the_steps_that_are_left(sweep, results, monkeypatch):
    sweep("seed=0,1")
    status = find_runs([results])[0].path / "status.json"
    status.write_text(status.read_text().replace('"done"', '"interrupted"').replace('"step": 6', '"step": 4'))
    monkeypatch.setattr("normexp.runs.estimate.estimate_seconds", lambda *_: 30.0)
    assert "about 40 s with jobs=1" in sweep("seed=0,1,2", "--dry-run")[1]  # a third of one run, and a new one
    assert "about 90 s with jobs=1" in sweep("seed=0,1,2", "--dry-run", "--force")[1]


# --- What is trained. ---


def test_sweep_trains_only_what_is_new(sweep, results):
    sweep("seed=0,1")
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    status, stderr = sweep("seed=0,1")
    assert status == 0
    assert "2 finished, 0 new" in stderr
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*")} == before
    assert "3 runs: 2 finished, 1 new" in sweep("seed=0,1,2")[1]
    runs = [path for path in before if path.is_file() and path.parent != results]
    assert {path: path.stat().st_mtime_ns for path in runs}.items() <= before.items()
    assert len(metrics(results)) == 3


def test_sweep_is_run_with_m(sweep, tmp_path):
    sweep("seed=0,1", place=tmp_path / "one")
    sweep("seed=0,1", verb=("run", "-m"), place=tmp_path / "two")
    assert metrics(tmp_path / "one") == metrics(tmp_path / "two")


def test_sweep_forced_trains_again(sweep, results):
    sweep("seed=0,1")
    before = metrics(results)
    for run in find_runs([results]):
        (run.path / "metrics.csv").write_text("")
    sweep("seed=0,1", "--force")
    assert metrics(results) == before


def test_sweep_diverged_cell_is_a_result(sweep, results):
    assert sweep("optim.lr=0.1,1e30", "optim.momentum=0", "model=mlp", "model.activation=identity", "steps=30")[0] == 0
    assert statuses(results) == ["diverged", "done"]


@pytest.mark.parametrize("norms", ["norm=batch", "norm=batch,layer"])
def test_a_cell_that_the_recipes_network_cannot_train_says_that_nobody_typed_it(cli, results, workers_here, norms):
    """Whether no cell works or some do: three rows leave batch normalization one to train on."""
    results.mkdir()
    (results / "rows.csv").write_text("a,b,y\n1,3,2\n2,6,4\n3,9,6\n")
    typed = ("dataset=csv", f"dataset.file={results / 'rows.csv'}", "dataset.target=y", "epochs=1", "threads=1")
    _, _, stderr = cli("sweep", *typed, norms, "jobs=1", f"results_dir={results}")
    assert "trained on; model=mlp is of the recipe (recipe=none leaves it out)\n" in stderr


@pytest.mark.parametrize("name", ["status.json", "config.yaml"])
def test_sweep_damaged_cell_is_set_aside(sweep, results, name):
    sweep("seed=0,1")
    expected, run = metrics(results), find_runs([results])[0]
    (run.path / name).write_text("{")
    status, stderr = sweep("seed=0,1")
    assert status == 0
    assert f"{run.path}: damaged; it will be set aside" in stderr
    assert Path(f"{run.path}.damaged-1", name).read_text() == "{"
    assert metrics(results) == expected
