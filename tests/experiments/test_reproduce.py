"""`normexp reproduce`, `report`, `claims`: an experiment end to end, at the scale that takes seconds."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import InProcess

from normexp.experiments.load import load
from normexp.experiments.selection import read_choice
from normexp.records import find_runs
from normexp.report.commands.named import results_of
from normexp.runs.estimate import Speed

NAME = "ioffe2015_figure1"
SMOKE = ("reproduce", NAME, "scale=smoke", "jobs=1", "threads=1", "device=cpu")
FIGURES = {f"{name}.{suffix}" for name in ("accuracy", "percentiles") for suffix in ("svg", "png")}
TABLES = {"table.md", "table.csv", "table.tex", "table.html", "selection.csv"}
RENDERED = TABLES | {"claims.json", "figures.md"} | FIGURES


pytestmark = pytest.mark.usefixtures("workers_here")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Path:
    """The results folder of the experiment at scale smoke; tests leave it as it is."""
    from normexp.cli.verbs import main

    results = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("normexp.sweeps.workers.Worker", InProcess)
        assert main([*SMOKE, f"results_dir={results}"]) == 0
    return results


def rendered(results: Path) -> dict[str, bytes]:
    folder = results / NAME / "smoke"
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in RENDERED}


def strict(path: Path) -> dict[str, object]:
    """Read JSON as every other program does: without NaN and Infinity."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{path}: {name}")

    return json.loads(path.read_text(), parse_constant=refuse)


def test_reproduce_writes_runs_choice_table_figures_and_claims(reproduced):
    folder = reproduced / NAME / "smoke"
    assert {path.name for path in folder.iterdir()} == RENDERED | {"runs", "select", "chosen.json", "frozen.json"}
    assert len(find_runs([folder / "select"])) == 4
    assert [run.path.relative_to(folder.resolve()).as_posix() for run in find_runs([folder / "runs"])] == [
        f"runs/{arm}/seed={seed}" for arm in ("With-BN", "Without-BN") for seed in (0, 1)
    ]
    chosen = strict(folder / "chosen.json")
    assert set(chosen["chosen"]) == set(chosen["tried"]) == {"With BN", "Without BN"}
    assert [claim["n"] for claim in strict(folder / "claims.json")["claims"]] == [2] * len(load(NAME, "smoke").claims)
    assert "Preview: digits of 8 x 8 pixels" in (folder / "table.md").read_text()


def test_reproduce_runs_use_what_was_chosen(reproduced):
    experiment = load(NAME, "smoke")
    for arm, values in read_choice(experiment, reproduced).items():
        runs = [path for path in find_runs([reproduced]) if f"runs/{arm.replace(' ', '-')}/" in str(path.path)]
        assert [run.config["optim"]["lr"] for run in runs] == [values["optim.lr"]] * 2


def test_reproduce_again_trains_nothing(cli, reproduced):
    before = {path: path.stat().st_mtime_ns for run in find_runs([reproduced]) for path in run.path.iterdir()}
    shown = rendered(reproduced)
    status, stdout, stderr = cli(*SMOKE, f"results_dir={reproduced}")
    assert status == 0
    assert stderr.count("4 runs: 4 finished, 0 new, 0 to resume") == 2
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert rendered(reproduced) == shown
    assert "test accuracy (%)" in stdout


@pytest.mark.slow
def test_report_regenerates_every_file_byte_for_byte(cli, reproduced):
    before = rendered(reproduced)
    assert set(before) == RENDERED
    for name in before:
        (reproduced / NAME / "smoke" / name).unlink()
    status, stdout, _ = cli("report", f"results_dir={reproduced}")
    assert status == 0
    assert {Path(line).name for line in stdout.splitlines()} == {*RENDERED, "report.html"}
    after = rendered(reproduced)
    assert [name for name in before if after[name] != before[name]] == []


def test_claims_prints_and_writes_the_ledger(cli, reproduced):
    status, stdout, _ = cli("claims", f"results_dir={reproduced}")
    assert status == 0
    assert stdout == (reproduced / "claims.md").read_text()
    assert f"| {NAME} | smoke | " in stdout
    assert f"<code>normexp reproduce {NAME} scale=smoke</code>" in stdout
    for claim in load(NAME, "smoke").claims:
        assert f"- **preview**: {claim.text}. " in stdout
        link = "[arXiv:1502.03167](https://arxiv.org/abs/1502.03167)"
        assert f"[Ioffe & Szegedy 2015, {link}, {claim.source}]" in stdout
    (reproduced / "claims.md").unlink()


def test_claims_of_one_experiment_do_not_replace_the_ledger_of_all(cli, reproduced):
    status, stdout, _ = cli("claims", NAME, "--json", f"results_dir={reproduced}")
    assert status == 0
    assert not (reproduced / "claims.md").exists()
    ledger = json.loads(stdout)
    assert ledger["totals"]["scaled"] == {"preview": len(load(NAME, "smoke").claims)}
    assert [claim["text"] for claim in ledger["experiments"][0]["claims"]]


def test_power_says_how_many_fresh_seeds_would_decide(cli, reproduced):
    status, stdout, _ = cli("reproduce", NAME, "scale=smoke", "--power", f"results_dir={reproduced}")
    assert status == 0
    assert "claims are undecided" in stdout
    assert "seeds used so far: 0, 1, 300; " in stdout


@pytest.mark.slow
def test_reproduce_one_arm_runs_and_shows_it_alone(cli, results):
    status, stdout, stderr = cli(*SMOKE, f"results_dir={results}", "--cell", "With BN")
    assert status == 0, stderr
    assert {run.path.parent.name for run in find_runs([results])} == {"With-BN"}
    assert "| With BN |" in stdout
    assert "2 of 4 runs are trained; claims wait for all of them" in stdout
    assert set(rendered(results)) == RENDERED


def test_reproduce_dry_run_writes_nothing(cli, results):
    status, _, stderr = cli(*SMOKE, f"results_dir={results}", "--dry-run")
    assert status == 0
    assert not results.exists()
    assert stderr.count("4 runs: 0 finished, 4 new, 0 to resume") == 2  # the selection, and what follows it
    assert stderr.count("with jobs=1") == 2


def test_reproduce_dry_run_times_for_the_choice_and_the_runs_together(cli, results, monkeypatch):
    """Both train the same two networks, for as many steps as they like."""
    measured = []
    monkeypatch.setattr("normexp.sweeps.worker_process.speeds", {})
    monkeypatch.setattr(
        "normexp.runs.estimate._measured", lambda *_: measured.append(1) or Speed(1.0, 1.0, steps_per_epoch=10)
    )
    cli(*SMOKE, f"results_dir={results}", "--dry-run")
    assert len(measured) == 2


def test_reproduce_dry_run_counts_what_is_there(cli, reproduced, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(reproduced, results)
    folder = results / NAME / "smoke"
    shutil.rmtree(folder / "runs" / "With-BN" / "seed=1")
    dry_run = (*SMOKE, f"results_dir={results}", "--dry-run")
    _, _, stderr = cli(*dry_run)
    assert "4 runs: 4 finished, 0 new" in stderr
    assert "4 runs: 3 finished, 1 new" in stderr
    (folder / "chosen.json").unlink()  # then any combination will do, whatever the runs were made with
    status, _, stderr = cli(*dry_run)
    assert status == 0
    assert "4 runs: 3 finished, 1 new" in stderr


def test_reproduce_stopped_while_choosing_goes_no_further(cli, results, monkeypatch):
    def request(worker: InProcess, message: dict[str, object], *_: object) -> dict[str, object]:
        if message["verb"] == "train":
            worker.stop()
        return {"status": "done", "seconds": 1.0}

    monkeypatch.setattr(InProcess, "request", request)
    status, stdout, stderr = cli(*SMOKE, f"results_dir={results}")
    assert (status, stdout) == (130, "")
    assert "the same command continues" in stderr
    assert [path.name for path in results.rglob("*") if path.is_file()] == ["frozen.json"]


def test_reproduce_does_not_wait_for_a_planted_record(cli, results):
    place = results / NAME / "smoke" / "frozen.json"
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)  # whoever opens a pipe waits for its other end
    signal.alarm(60)
    try:
        status, stdout, stderr = cli(*SMOKE, f"results_dir={results}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)
    assert (status, stdout) == (2, "")
    assert stderr.splitlines()[-1] == f"normexp: {place}: damaged (not a regular file)"
    assert [path.name for path in results.rglob("*") if not path.is_dir()] == ["frozen.json"]


MISTAKES = {
    "name": (["reproduce", "ioffe2015_figure"], f"did you mean {NAME}?"),
    "no name": (["reproduce"], "no experiment named; give a NAME"),
    "scale": (
        ["reproduce", NAME, "scale=smok"],
        "scale=smok: must be one of smoke, cpu, desk, paper; did you mean smoke?",
    ),
    "key": (["reproduce", NAME, "scael=smoke"], "did you mean scale?"),
    "arm": ([*SMOKE, "--cell", "With B"], "arm 'With B' does not exist", "did you mean With BN?"),
    "value": ([*SMOKE, "threads=none"], "threads=none"),
    "jobs": ([*SMOKE, "jobs=0"], "jobs=0: must be an integer"),
}


@pytest.mark.parametrize(("arguments", "messages"), [(a, m) for a, *m in MISTAKES.values()], ids=MISTAKES)
def test_reproduce_mistakes_are_one_line(cli, results, arguments, messages):
    status, stdout, stderr = cli(*arguments, f"results_dir={results}")
    assert (status, stdout) == (2, "")
    assert all(message in stderr for message in messages), stderr
    assert [line for line in stderr.splitlines() if "choosing" not in line] == [stderr.splitlines()[-1]]
    assert not results.exists()


@pytest.mark.parametrize("verb", ["reproduce", "report", "claims", "laws", "freeze", "archive"])
def test_several_folders_of_results_are_refused(cli, tmp_path, monkeypatch, verb):
    """They were one folder with a comma in its name, which `reproduce` made; in quotes a name may have one."""
    monkeypatch.chdir(tmp_path)
    names = [] if verb == "laws" else ["covariate_shift"]
    status, stdout, stderr = cli(verb, *names, "results_dir=A,B")
    assert (status, stdout) == (2, "")
    assert stderr == "normexp: results_dir=A,B: one value is allowed here; quote a text with commas\n"
    assert list(tmp_path.iterdir()) == []
    assert results_of({"results_dir": "'A,B'"}) == Path("A,B")
    assert results_of({"results_dir": str(tmp_path)}) == tmp_path


def test_several_values_of_a_setting_of_every_run_are_refused(cli, results):
    status, stdout, stderr = cli("reproduce", NAME, "scale=smoke", "threads=1,2", f"results_dir={results}")
    assert (status, stdout) == (2, "")
    assert stderr == "normexp: threads=1,2: one value is allowed here; quote a text with commas\n"


def test_report_of_a_scale_without_records_is_refused(cli, reproduced):
    status, _, stderr = cli("report", f"results_dir={reproduced}", "scale=paper")
    assert status == 2
    assert "holds no such records" in stderr


@pytest.mark.parametrize("verb", ["report", "claims", "archive", "verify drift"])
def test_an_experiment_without_records_is_named_beside_one_with_some(cli, reproduced, verb):
    before = sorted(reproduced.rglob("*"))
    status, stdout, stderr = cli(*verb.split(), NAME, "covariate_shift", "scale=smoke", f"results_dir={reproduced}")
    assert (status, stdout, stderr.count("\n")) == (2, "", 1)
    assert f"covariate_shift: {reproduced} holds no " in stderr
    assert "`normexp reproduce covariate_shift scale=smoke`" in stderr
    assert sorted(reproduced.rglob("*")) == before


@pytest.mark.parametrize("verb", ["archive", "verify drift"])
def test_records_that_are_taken_as_they_are_need_no_code(cli, verb):
    status, _, stderr = cli(*verb.split(), "plugins=[os]", "results_dir=nowhere")
    assert (status, "key 'plugins' does not exist" in stderr) == (2, True)


@pytest.mark.slow
def test_experiments_of_one_command_have_the_same_workers(cli, results, monkeypatch):
    """To import torch takes longer than a small experiment; both stages of both are trained by one process."""
    made = []

    class Counted(InProcess):
        def __init__(self, threads: int) -> None:
            super().__init__(threads)
            made.append(self)

    monkeypatch.setattr("normexp.sweeps.workers.Worker", Counted)
    monkeypatch.setattr("normexp.report.commands.reproduce._show", lambda experiment, results: None)
    status, _, stderr = cli(
        "reproduce", "digits_rates_grid", "covariate_shift", "scale=smoke", "jobs=1", f"results_dir={results}"
    )
    assert (status, len(made)) == (0, 1), stderr


@pytest.mark.slow
def test_reproduce_every_experiment_at_scale_smoke_in_real_workers(results):
    command = [sys.executable, "-m", "normexp", "reproduce", "--all", "scale=smoke", f"results_dir={results}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2400, check=False)
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stderr
    assert all(run.status["attempts"] == 1 for run in find_runs([results]))
