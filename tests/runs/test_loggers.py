"""`logger=`: the curves as the real programs read them back, once each, and nothing of a record depends on them."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from mortal import Killed, train_until
from read_logs import READERS, assert_same, loggers, of_tensorboard, recorded

from normexp.config import compose
from normexp.config.extras import LIBRARIES
from normexp.errors import UserError
from normexp.records import RunDirectory, find_runs
from normexp.runs.loggers import tensorboard

SHORT = ("model=linear", "batch_size=32", "steps=20", "device=cpu", "threads=1")
TINY = (*SHORT, "eval_every=5")
DIVERGES = ("optim.lr=1e30", "optim.momentum=0", "model=mlp", "model.activation=identity")
pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries', about each other


@pytest.fixture
def train(cli, results) -> Callable[..., tuple[RunDirectory, str]]:
    """Run the command line; return the run and what was said."""

    def call(*words: str) -> tuple[RunDirectory, str]:
        usual = SHORT if "study=train_and_test" in words else TINY
        status, stdout, stderr = cli("run", *usual, f"results_dir={results}", *words, "--quiet")
        assert status == 0, stderr
        assert len(stdout.splitlines()) == 1  # the run directory, and nothing of a library
        return RunDirectory(Path(stdout.strip())), stderr

    return call


@pytest.mark.parametrize("name", loggers())
def test_log_has_the_curves_and_the_record_nothing_of_it(train, results, name):
    words = "norm=batch", "model.normalize_output=true"
    plain, _ = train(*words)
    kept = {each: (plain.path / each).read_bytes() for each in ("metrics.csv", "config.yaml", "checkpoint.safetensors")}
    logged, said = train(*words, f"logger={name}", "--force")
    assert (logged.path, said) == (plain.path, "")
    assert {each: (logged.path / each).read_bytes() for each in kept} == kept
    curves, words = READERS[name](results, logged.path.name)
    assert_same(curves, logged)
    assert "norm=batch" in words
    assert "logger" not in words


@pytest.mark.parametrize("name", loggers())
def test_log_of_a_run_that_was_killed_has_every_point_once(results, name):
    config = compose([*TINY, f"logger={name}"])
    path = results / "runs" / config.name
    for saved, dies in ((7, 12), (13, 18)):  # each time a row is written that its checkpoint does not know
        with pytest.raises(Killed):
            train_until(config, path, {saved}, dies)
        assert_same(READERS[name](results, path.name)[0], RunDirectory(path))
    run = train_until(config, path)
    assert run.status["status"] == "done"
    assert_same(READERS[name](results, path.name)[0], run)


@pytest.mark.parametrize("name", loggers())
def test_log_of_a_run_that_diverges_says_so(train, results, name):
    run, _ = train(*DIVERGES, f"logger={name}")
    words = READERS[name](results, run.path.name)[1]
    assert run.status["status"] == "diverged"
    assert "diverged" in words
    assert run.status["cause"] in words


def test_several_loggers_at_once_and_again_from_the_start(train, results):
    names = [name for name in ("tensorboard", "trackio") if find_spec(LIBRARIES[name][0])]
    for _ in range(2):
        run, _ = train(f"logger=[{','.join(names)}]", "--force")
    for name in names:
        assert_same(READERS[name](results, run.path.name)[0], run)


def test_run_that_is_done_tells_a_logger_that_it_gets_nothing(train, cli, results):
    train()
    _, _, said = cli("run", *TINY, f"results_dir={results}", "logger=tensorboard")
    assert "normexp: done already (step 20), so logger=tensorboard gets no curves; --force trains it again\n" in said
    assert not (results / "tensorboard").exists()


@pytest.mark.parametrize("method", ["begin", "add", "end"])
def test_log_that_fails_costs_one_line_and_no_training(train, results, monkeypatch, method):
    plain, _ = train()
    before = (plain.path / "metrics.csv").read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space\nleft")

    monkeypatch.setattr(tensorboard.Log, method, fail)
    run, said = train("logger=tensorboard", "--force")
    assert said == "normexp: logger=tensorboard: OSError: no space; the run goes on without this log\n"
    assert (run.status["status"], (run.path / "metrics.csv").read_bytes()) == ("done", before)


def test_study_is_logged_when_it_is_done(train, results):
    run, _ = train("study=train_and_test", "logger=tensorboard")
    curves, words = of_tensorboard(results, run.path.name)
    assert curves == {
        name: [(step, pytest.approx(value, rel=1e-6)) for step, value in points]
        for name, points in recorded(run).items()
    }
    assert "done" in words


# --- What is typed. ---


@pytest.mark.parametrize("verb", ["run", "sweep"])
@pytest.mark.parametrize("name", READERS)
def test_logger_whose_extra_is_missing_is_one_line(cli, results, monkeypatch, verb, name):
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda library: None)
    status, stdout, stderr = cli(verb, *TINY, f"results_dir={results}", f"logger={name}")
    library = LIBRARIES[name][0]
    assert (status, stdout) == (2, "")
    assert stderr == f"normexp: logger={name}: {library} is not installed; pip install 'normexp[{name}]'\n"
    assert not results.exists()


def test_logger_is_one_of_three_and_no_part_of_what_a_run_is():
    with pytest.raises(UserError, match=r"logger=\[tensorbord\]: .* did you mean tensorboard\?"):
        compose(["logger=[tensorbord]"])
    assert compose(["logger=tensorboard"])["logger"] == ["tensorboard"]
    assert compose(["logger=tensorboard"]).name == compose([]).name
    assert "logger: []" in compose([]).to_yaml()  # `run --cfg` shows the key,
    assert "logger" not in compose(["logger=tensorboard"]).recorded().to_yaml()  # and no record has it


# --- Sweeps. ---


def test_cells_of_a_sweep_are_logged_by_who_trains_them(cli, results, workers_here):
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "seed=0,1", "logger=tensorboard", "jobs=1")
    assert status == 0, stderr
    runs = find_runs([results])
    assert len(runs) == 2
    for run in runs:
        assert_same(of_tensorboard(results, run.path.name)[0], run)


def test_loggers_are_no_axis_of_a_grid(cli, results):
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", "logger=[],tensorboard")
    assert (status, stderr.count("\n"), results.exists()) == (2, 1, False)
    assert "'logger=[ONE,OTHER]'" in stderr


@pytest.mark.slow
def test_what_a_worker_warns_of_is_said_once_by_its_sweep(cli, results):
    results.mkdir()
    (results / "tensorboard").write_text("no folder")
    words = ("seed=range(3)", "logger=tensorboard", "jobs=1")
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", *words)
    assert status == 0, stderr
    assert len(re.findall(r"^normexp: logger=tensorboard: .*goes on without", stderr, re.MULTILINE)) == 1
    assert all(run.status["status"] == "done" for run in find_runs([results]))


@pytest.mark.slow
@pytest.mark.parametrize("name", loggers())
def test_worker_of_a_shared_folder_logs(cli, results, name):
    words = ("seed=0,1", f"logger={name}", "executor=local", "executor.workers=2", "executor.heartbeat=0.1")
    status, _, stderr = cli("sweep", *TINY, f"results_dir={results}", *words, "executor.takeover=60")
    assert status == 0, stderr
    for run in find_runs([results]):
        assert_same(READERS[name](results, run.path.name)[0], run)


# --- No network. ---

OFFLINE = """
import sys
from normexp import run
asked = []
sys.addaudithook(lambda event, given: asked.append(event) if event in ("socket.connect", "socket.getaddrinfo") else 0)
run(sys.argv[1:])
import time; time.sleep(1)  # whoever reports does so from a thread
assert not asked, asked
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", loggers())
def test_log_reaches_no_network(results, name):
    """In a process that does not look like a test: some libraries report to their makers, but not from tests."""
    bare = {key: os.environ[key] for key in ("PATH", "HOME", "PYTHONPATH", "NORMEXP_DATA") if key in os.environ}
    elsewhere = {"MLFLOW_TRACKING_URI": "http://localhost:9", "TRACKIO_SERVER_URL": "http://localhost:9/?write_token=x"}
    words = [*TINY, f"results_dir={results}", f"logger={name}"]
    asked = subprocess.run(
        [sys.executable, "-c", OFFLINE, *words], env=bare | elsewhere, capture_output=True, text=True, timeout=300
    )
    assert asked.returncode == 0, asked.stderr
    (run,) = find_runs([results])
    assert_same(READERS[name](results, run.path.name)[0], run)
