"""One configuration -> one run directory: equal bytes however often, and however brokenly, it is trained."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from mortal import Killed, train_until
from random_images import random_images

from normexp.config import compose
from normexp.config.recipe import with_recipe
from normexp.data.base import Data, Split
from normexp.data.loading import Loader
from normexp.errors import Interrupted, UserError
from normexp.records import RunDirectory, read_rows
from normexp.runs import checkpoint, trainer
from normexp.runs.run import _status, check_writable, duration
from normexp.sweeps.status import state

FILES = {
    "config.yaml",
    "status.json",
    "metrics.csv",
    "timing.csv",
    "probes.csv",
    "environment.json",
    "checkpoint.safetensors",
}
TINY = ("model=linear", "batch_size=32", "steps=30", "eval_every=7", "device=cpu", "threads=1")


@pytest.fixture
def train(cli, results) -> Callable[..., RunDirectory]:
    """Run the command line on digits and return the run directory."""

    def call(*arguments: str) -> RunDirectory:
        status, stdout, stderr = cli("run", *TINY, f"results_dir={results}", *arguments, "--quiet")
        assert status == 0, stderr
        return RunDirectory(Path(stdout.splitlines()[-1]))

    return call


def outcome(directory: RunDirectory | Path) -> dict[str, bytes]:
    """What must not depend on how the run came about."""
    path = directory if isinstance(directory, Path) else directory.path
    return {name: (path / name).read_bytes() for name in ("metrics.csv", "checkpoint.safetensors", "config.yaml")}


def test_run_leaves_the_files_of_a_run_directory(train):
    run = train()
    assert {path.name for path in run.path.iterdir()} == FILES | {".lock"}
    assert run.path.name == compose(with_recipe(TINY)).name
    facts = run.status
    assert {key: facts[key] for key in ("status", "step", "steps", "attempts")} == {
        "status": "done",
        "step": 30,
        "steps": 30,
        "attempts": 1,
    }
    environment = run.environment
    assert environment["data"]["examples"] == {"train": 1257, "validation": 180, "test": 360}
    assert len(environment["data"]["sha256"]) == 64
    assert environment["parameters"] == 650
    assert (environment["device"], environment["threads"]) == ("cpu", 1)


def test_run_records_the_load_of_the_machine_at_its_begin_and_at_its_end(train, monkeypatch):
    monkeypatch.setattr("normexp.training.machine.hardware.load_average", lambda: [1.0])
    monkeypatch.setattr("normexp.runs.recorder.load_average", lambda: [2.0])
    environment = train().environment
    assert (environment["load"], environment["load_at_end"]) == ([1.0], [2.0])


def test_run_metrics_have_one_row_per_evaluation_and_fixed_columns(train):
    header, *rows = (line.split(",") for line in (train().path / "metrics.csv").read_text().splitlines())
    assert header[:3] == ["step", "epoch", "lr"]
    assert header[3:] == [f"{s}/{name}" for s in ("train", "validation", "test") for name in ("loss", "accuracy")]
    assert [row[0] for row in rows] == ["0", "7", "14", "21", "28", "30"]
    assert rows[0][3:5] == ["", ""]  # nothing is trained at step 0
    assert float(rows[-1][-1]) > float(rows[0][-1])


def test_run_without_validation_split_has_no_columns_for_it(train):
    assert "validation" not in (train("dataset.validation=0").path / "metrics.csv").read_text()


def test_run_config_composes_to_the_same_run(train):
    run = train("norm=batch", "model.normalize_output=true")
    overrides = [f"{key}={value}" for key, value in run.config["_changes_"].items()]
    assert compose(overrides).name == run.path.name


@pytest.mark.parametrize("norm", ["none", "weight_mean_only"])
def test_run_twice_gives_equal_bytes(cli, tmp_path, norm):
    outcomes = []
    for place in ("one", "two"):
        arguments = ["run", "model=mlp", f"norm={norm}", "model.normalize_output=true", *TINY[1:], "--quiet"]
        _, stdout, _ = cli(*arguments, f"results_dir={tmp_path / place}")
        outcomes.append(outcome(Path(stdout.strip())))
    assert outcomes[0]["metrics.csv"] == outcomes[1]["metrics.csv"]
    assert outcomes[0]["checkpoint.safetensors"] == outcomes[1]["checkpoint.safetensors"]


def test_run_finished_is_skipped(train, cli, results):
    run = train()
    before = {path: path.stat().st_mtime_ns for path in run.path.iterdir()}
    status, stdout, stderr = cli("run", *TINY, f"results_dir={results}", "--quiet")
    assert (status, stdout.strip()) == (0, str(run.path))
    assert "done already" in stderr
    assert {path: path.stat().st_mtime_ns for path in run.path.iterdir()} == before


def test_run_forced_trains_again_to_the_same_bytes(train):
    before = outcome(train())
    run = train()
    (run.path / "metrics.csv").write_text("something else\n")
    run = train("--force")
    assert outcome(run) == before
    assert run.status["attempts"] == 1


def test_run_of_a_longer_configuration_is_another_run(train):
    assert train().path != train("steps=31").path


def test_run_clips_the_gradient_where_that_is_asked_for(train):
    unclipped, clipped, far = train(), train("clip_norm=0.1"), train("clip_norm=1e6")
    assert outcome(clipped)["metrics.csv"] != outcome(unclipped)["metrics.csv"]
    assert outcome(far)["metrics.csv"] == outcome(unclipped)["metrics.csv"]
    assert train("clip_norm=null").path == unclipped.path != clipped.path


def test_run_clipped_diverges_where_the_norm_is_not_finite(train):
    """By a factor of 0 the clipped gradient would leave the network as it is, and the run would end `done`."""
    run = train("model=mlp", "model.activation=identity", "init=gaussian", "init.std=1e7", "clip_norm=1")
    assert (run.status["status"], run.status["step"]) == ("diverged", 2)


DIVERGES = ("optim.lr=1e30", "optim.momentum=0", "model=mlp", "model.activation=identity")


def test_run_diverged_is_recorded_with_its_step_and_last_finite_loss(train):
    run = train(*DIVERGES)
    facts = run.status
    assert facts["status"] == "diverged"
    assert "loss became" in facts["cause"]
    assert 1 < facts["step"] < 7
    assert np.isfinite(facts["last_finite_loss"])
    assert (run.path / "metrics.csv").read_text().count("\n") == 2  # header and step 0: nothing made up


def test_run_diverged_is_skipped_next_time(train, cli, results):
    run = train(*DIVERGES)
    before = (run.path / "status.json").read_bytes()
    status, stdout, stderr = cli("run", *TINY, *DIVERGES, f"results_dir={results}", "--quiet")
    assert (status, stdout.strip()) == (0, str(run.path))
    assert "diverged already" in stderr
    assert (run.path / "status.json").read_bytes() == before


def test_run_diverged_says_so(cli, results):
    _, _, stderr = cli("run", *TINY, *DIVERGES, f"results_dir={results}", "--quiet")
    assert "diverged at step" in stderr


# --- Killed and continued, in this process: every step can be the last one saved or the last one done. ---


NOISY = ("model=convpool", "model.width=0.03", "norm=weight_mean_only", "optim=adam", "batch_size=5")
NOISY += ("steps=12", "eval_every=5", "dataset.crop=1", "dataset.flip=true", "device=cpu", "threads=1")
NOISY += ("clip_norm=0.5",)


def train_noisy(path: Path, saves: set[int], dies: int | None, data: Data | None = None, **flags: bool) -> None:
    train_until(compose(NOISY), path, saves, dies, data or random_images(), **flags)


def killed_and_continued(path: Path, saved: int, dies: int) -> None:
    with pytest.raises(Killed):
        train_noisy(path, {saved}, dies)
    torch.rand(3)  # another process has another random state
    train_noisy(path, set(), None)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("uninterrupted")
    train_noisy(path, set(), None)
    return outcome(path)


CASES = {
    "before the first checkpoint": (99, 3),
    "at a checkpoint, mid-window": (3, 3),
    "mid-window": (3, 4),
    "an evaluation later": (3, 7),
    "two evaluations later": (2, 11),
    "checkpoint at an evaluation": (5, 5),
    "checkpoint at an evaluation that was recorded": (5, 7),
    "a step after an evaluation": (6, 8),
    "checkpoint at the end of an epoch": (4, 6),
    "at the last step": (12, 12),
}


@pytest.mark.parametrize(("saved", "dies"), CASES.values(), ids=CASES)
def test_run_killed_and_continued_ends_in_the_same_bytes(tmp_path, uninterrupted, saved, dies):
    killed_and_continued(tmp_path, saved, dies)
    assert outcome(tmp_path) == uninterrupted
    assert RunDirectory(tmp_path).status["attempts"] == 2


def test_run_killed_after_the_last_checkpoint_ends_in_the_same_bytes(tmp_path, uninterrupted):
    train_noisy(tmp_path, set(), None)
    status = tmp_path / "status.json"
    status.write_text(status.read_text().replace('"done"', '"running"'))
    train_noisy(tmp_path, set(), None)
    assert outcome(tmp_path) == uninterrupted
    assert RunDirectory(tmp_path).status["status"] == "done"


def test_run_without_the_random_states_would_end_in_other_bytes(tmp_path, uninterrupted, monkeypatch):
    """The negative test: were the random states not restored, the tests above would notice."""
    monkeypatch.setattr(checkpoint, "set_random_states", lambda states: None)
    killed_and_continued(tmp_path, 3, 4)
    assert outcome(tmp_path)["checkpoint.safetensors"] != uninterrupted["checkpoint.safetensors"]


def test_run_without_the_optimizer_state_would_end_in_other_bytes(tmp_path, uninterrupted, monkeypatch):
    monkeypatch.setattr(checkpoint, "_restore_optimizer", lambda optimizer, saved: None)
    killed_and_continued(tmp_path, 3, 4)
    assert outcome(tmp_path)["metrics.csv"] != uninterrupted["metrics.csv"]


def test_run_begun_with_other_data_is_refused(tmp_path, caplog):
    caplog.set_level("INFO", logger="normexp")
    with pytest.raises(Killed):
        train_noisy(tmp_path, {3}, 4)
    before = outcome(tmp_path)
    with pytest.raises(UserError, match="other data"):
        trainer.train(compose(NOISY), random_images(seed=1), RunDirectory(tmp_path), force=False, notes=["continuing"])
    assert (outcome(tmp_path), caplog.text) == (before, "")
    train_noisy(tmp_path, set(), None, data=random_images(seed=1), force=True)
    assert RunDirectory(tmp_path).status["status"] == "done"


DAMAGES = {
    "garbage": ("checkpoint.safetensors", lambda data: b"garbage"),
    "a flipped bit of a weight": ("checkpoint.safetensors", lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]),
    "cut off": ("checkpoint.safetensors", lambda data: data[:-100]),
    "another loss": ("metrics.csv", lambda data: data.replace(b"1", b"2", 1)),
    "no rows": ("metrics.csv", lambda data: data[: data.index(b"\n") + 1]),
    "no UTF-8": ("metrics.csv", lambda data: b"\xff" + data),
    "no probe rows": ("probes.csv", lambda data: b""),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_run_damaged_state_is_set_aside_and_the_run_starts_afresh(tmp_path, uninterrupted, caplog, damage):
    name, change = DAMAGES[damage]
    caplog.set_level("INFO", "normexp")
    with pytest.raises(Killed):
        train_noisy(tmp_path, {3}, 4)
    bad = change((tmp_path / name).read_bytes())
    (tmp_path / name).write_bytes(bad)
    train_noisy(tmp_path, set(), None)
    assert f"{name}: damaged (" in caplog.text
    assert "starting again" in caplog.text
    assert "continuing" not in caplog.text
    assert (tmp_path / f"{name}.damaged").read_bytes() == bad
    assert {n: b for n, b in outcome(tmp_path).items() if not n.endswith(".damaged")} == uninterrupted


@pytest.mark.parametrize("content", [b"\xff\xfe", b"step\n" + b"9" * 200_000 + b"\n"])
def test_run_damaged_timings_do_not_stop_it(tmp_path, uninterrupted, content):
    with pytest.raises(Killed):
        train_noisy(tmp_path, {3}, 4)
    (tmp_path / "timing.csv").write_bytes(content)
    train_noisy(tmp_path, set(), None)
    assert {n: b for n, b in outcome(tmp_path).items() if not n.endswith(".damaged")} == uninterrupted


def test_run_that_fails_is_recorded_with_its_traceback_and_can_continue(tmp_path, uninterrupted, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(trainer, "evaluate", fail)
    with pytest.raises(RuntimeError):
        trainer.train(compose(NOISY), random_images(), RunDirectory(tmp_path), force=True)
    monkeypatch.undo()
    assert RunDirectory(tmp_path).status["cause"] == "RuntimeError: no memory"
    assert "in fail" in (tmp_path / "traceback.txt").read_text()
    train_noisy(tmp_path, set(), None)
    assert outcome(tmp_path) == uninterrupted
    assert not (tmp_path / "traceback.txt").exists()


@pytest.mark.parametrize("cleaned_up", [True, False])
def test_run_stopped_by_a_second_ctrl_c_has_not_failed(tmp_path, uninterrupted, monkeypatch, cleaned_up):
    """It is not waited for, not even by a library that fails on the way out, and continues as if it had been killed."""

    def stopped(self: trainer.Trainer) -> bool:
        if self.position.step == 3:
            self.save("running")
        if self.position.step < 4:
            return False
        try:
            raise KeyboardInterrupt
        finally:
            if not cleaned_up:
                raise RuntimeError("the queue is closed")

    with monkeypatch.context() as patch:
        patch.setattr(trainer.Trainer, "_poll", stopped)
        with pytest.raises((KeyboardInterrupt, RuntimeError)):
            trainer.train(compose(NOISY), random_images(), RunDirectory(tmp_path), force=False)
    assert (state(RunDirectory(tmp_path))[0], (tmp_path / "traceback.txt").exists()) == ("stopped", False)
    train_noisy(tmp_path, set(), None)
    assert outcome(tmp_path) == uninterrupted


@pytest.mark.parametrize("step", [0, 5, 12])
def test_run_stopped_in_an_evaluation_continues_to_the_same_bytes(tmp_path, uninterrupted, monkeypatch, step):
    """A long evaluation is not waited for: its first batch is its last."""
    batches: list[int] = []

    class Stopped(trainer.Trainer):
        def _evaluate(self) -> dict[str, float]:
            if self.position.step == step:
                self.stopped.set()
                monkeypatch.setattr(trainer, "sequential_batches", lambda *_: batches)
                batches.append(1)
            return super()._evaluate()

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "Trainer", Stopped)
        with pytest.raises(Interrupted, match=f"stopped at step {step}; the same command continues"):
            trainer.train(compose(NOISY), random_images(), RunDirectory(tmp_path), force=False)
    monkeypatch.undo()
    facts = RunDirectory(tmp_path).status
    assert (facts["status"], facts["step"]) == ("interrupted", step)
    train_noisy(tmp_path, set(), None)
    assert outcome(tmp_path) == uninterrupted


def test_run_force_killed_at_once_does_not_look_finished(tmp_path, monkeypatch):
    train_noisy(tmp_path, set(), None)
    monkeypatch.setattr(trainer.Recorder, "begin", lambda *_: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        train_noisy(tmp_path, set(), None, force=True)
    assert RunDirectory(tmp_path).status["status"] == "running"


def test_run_force_that_is_refused_leaves_the_finished_run_as_it_was(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise UserError("weights without direction")

    train_noisy(tmp_path, set(), None)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(trainer, "initialize_from_data", refuse)
    with pytest.raises(UserError, match="weights without direction"):
        train_noisy(tmp_path, set(), None, force=True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_run_parts_that_do_not_fit_leave_no_trace(tmp_path):
    data = replace(random_images(), train=Split(np.zeros((20, 6, 6, 3), np.uint8), np.arange(20) % 10))
    with pytest.raises(UserError, match="at least 12 x 12"):
        trainer.train(compose(NOISY), data, RunDirectory(tmp_path / "run"), force=True)
    assert list(tmp_path.iterdir()) == []


def test_run_with_more_steps_between_evaluations_than_fit_leaves_one_line_and_no_trace(cli, results):
    many = 10**13
    status, _, stderr = cli("run", *TINY, f"steps={many}", f"eval_every={many}", f"results_dir={results}", "--quiet")
    assert (status, stderr.count("\n")) == (2, 1)
    assert stderr.startswith(f"normexp: eval_every={many}: the memory has no room for 10,000,000,000,000 losses")
    assert not results.exists()


def test_run_refused_at_its_first_evaluation_leaves_one_line_and_no_trace(cli, tmp_path):
    """Only what a probe finds in the network can refuse it; the batch would be worth a note if the run were made."""
    applies = ("model=mlp", "norm=batch", "probe=equilibrium")
    refused = ("run", *TINY, *applies, "batch_size=5000", f"results_dir={tmp_path / 'results'}")
    status, stdout, stderr = cli(*refused)
    assert (status, stdout, stderr.count("\n")) == (2, "", 1)
    assert stderr.startswith("normexp: weight_decay=0: without weight decay")
    assert list(tmp_path.iterdir()) == []


def test_run_refused_takes_nothing_of_another_away(train, cli, results):
    other = train()
    cli("run", *TINY, "probe=equilibrium", f"results_dir={results}")
    assert [path.name for path in (results / "runs").iterdir()] == [other.path.name]


# --- Damaged directories, unwritable folders. ---


@pytest.mark.parametrize("name", ["status.json", "config.yaml"])
def test_run_directory_that_is_damaged_is_set_aside(train, cli, results, name):
    run = train()
    expected = outcome(run)
    (run.path / name).write_text("{")
    status, stdout, stderr = cli("run", *TINY, f"results_dir={results}", "--quiet")
    aside = Path(f"{run.path}.damaged-1")
    assert (status, stdout.strip()) == (0, str(run.path))
    assert f"set aside as {aside}" in stderr
    assert (aside / name).read_text() == "{"
    assert outcome(run) == expected


def test_run_directory_that_has_lost_its_status_is_set_aside(train, cli, results):
    """Its curves and its weights are no new run's, to be written over without a word."""
    run = train()
    expected = outcome(run)
    run.path.joinpath("status.json").unlink()
    status, _, stderr = cli("run", *TINY, f"results_dir={results}", "--quiet")
    aside = Path(f"{run.path}.damaged-1")
    assert (status, f"status.json: damaged (it is missing); set aside as {aside}" in stderr) == (0, True)
    assert (aside / "checkpoint.safetensors").is_file()
    assert outcome(run) == expected


@pytest.mark.parametrize("name", ["status.json", "config.yaml"])
def test_run_directory_that_somebody_trains_is_not_set_aside(train, cli, results, name):
    """Its process would go on writing, by the old names, into the record of the one that begins anew."""
    run = train()
    (run.path / name).write_text("{")
    before = outcome(run)
    with run.lock():
        status, _, stderr = cli("run", *TINY, f"results_dir={results}", "--quiet")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "another normexp process is running this right now" in stderr
    assert ([*run.path.parent.iterdir()], outcome(run)) == ([run.path], before)


def test_run_that_was_set_aside_meanwhile_is_not_set_aside_again(train, monkeypatch):
    run = train()
    sound = (run.path / "config.yaml").read_text()
    (run.path / "config.yaml").write_text("{")
    monkeypatch.setattr("normexp.runs.run.check_writable", lambda path: (path / "config.yaml").write_text(sound))
    assert _status(run)["status"] == "done"
    assert [*run.path.parent.iterdir()] == [run.path]


def test_run_results_folder_without_permission_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UserError, match="is not writable; choose another"):
        check_writable(tmp_path / "results")
    assert list(tmp_path.iterdir()) == []


# --- Real signals. ---

PROGRAM = """
import os, signal, sys
from normexp.runs import checkpointer, trainer
from normexp.cli.verbs import main
checkpointer.SAVE_INTERVAL = trainer.POLL_INTERVAL = 0
step, poll = int(sys.argv[1]), trainer.Trainer._poll

def signalled(self):
    if self.position.step == step:
        os.kill(os.getpid(), signal.SIGKILL)
    return poll(self)

trainer.Trainer._poll = signalled
raise SystemExit(main(sys.argv[2:]))
"""
LONG = ("model=mlp", "norm=batch", "steps=150", "eval_every=40", "batch_size=64", "device=cpu", "threads=1")


def killed_at(results: Path, step: int) -> tuple[int, dict[str, object]]:
    """Train in a process of its own that is killed after so many steps; return exit status and recorded status."""
    run = ["run", *LONG, f"results_dir={results}", "--quiet"]
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(step), *run], capture_output=True)
    status = results / "runs" / compose(with_recipe(LONG)).name / "status.json"
    return done.returncode, json.loads(status.read_text())


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> dict[str, bytes]:
    """The outcome of LONG, never interrupted."""
    from normexp.cli.verbs import main

    results = tmp_path_factory.mktemp("finished")
    assert main(["run", *LONG, f"results_dir={results}", "--quiet"]) == 0
    return without_folder(results / "runs" / compose(with_recipe(LONG)).name)


def without_folder(path: Path) -> dict[str, bytes]:
    return {name: content for name, content in outcome(path).items() if name != "config.yaml"}


def check_continues(results: Path, finished: dict[str, bytes], cli, said: str = "continuing a run that was") -> None:
    status, stdout, stderr = cli("run", *LONG, f"results_dir={results}", "--quiet")
    assert status == 0, stderr
    assert said in stderr
    assert without_folder(Path(stdout.strip())) == finished


@pytest.mark.parametrize("step", [20, *(pytest.param(step, marks=pytest.mark.slow) for step in (1, 149))])
def test_run_killed_by_the_system_continues_to_the_same_bytes(results, finished, cli, step):
    code, facts = killed_at(results, step)
    assert (code, facts["status"]) == (-signal.SIGKILL, "running")
    check_continues(results, finished, cli, "continuing a run that was" if step > 1 else "before its first checkpoint")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_run_stopped_by_the_user_continues_to_the_same_bytes(results, finished, cli, monkeypatch, sent):
    poll = trainer.Trainer._poll

    def signalled(training):
        if training.position.step == 20:
            signal.raise_signal(sent)
        return poll(training)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "POLL_INTERVAL", 0)
        patch.setattr(trainer.Trainer, "_poll", signalled)
        assert cli("run", *LONG, f"results_dir={results}", "--quiet")[0] == 130
    assert RunDirectory(results / "runs" / compose(with_recipe(LONG)).name).status["status"] == "interrupted"
    check_continues(results, finished, cli)


def test_finished_run_that_is_not_as_it_was_is_set_aside_and_trained_again(train, cli, results):
    run = train()
    whole = (run.path / "metrics.csv").read_bytes()
    (run.path / "metrics.csv").write_bytes(whole.replace(b"1", b"7", 1))
    status, _, stderr = cli("run", *TINY, f"results_dir={results}", "--quiet")
    assert (status, stderr.count("\n")) == (0, 1)
    assert "metrics.csv: damaged" in stderr
    assert "set aside as" in stderr
    assert (run.path / "metrics.csv").read_bytes() == whole
    assert Path(f"{run.path}.damaged-1").is_dir()


def test_older_run_that_lost_its_curves_is_no_finished_run(train, cli, results):
    run = train()
    run.write_status(**{key: value for key, value in run.status.items() if key != "sha256"})
    (run.path / "metrics.csv").unlink()
    status, _, stderr = cli("run", *TINY, f"results_dir={results}", "--quiet")
    assert (status, stderr.count("\n")) == (2, 1)
    assert "metrics.csv: damaged" in stderr
    assert "--force" in stderr


@pytest.mark.parametrize(("often", "expected"), [(1, [0, 10, 20]), (3, [0, 4, 8, 12, 16, 20]), (99, list(range(21)))])
def test_run_evaluates_as_often_an_epoch_as_it_is_told(cli, results, often, expected):
    """20 steps are two epochs of ten; what ends between two evaluations is seen at the end."""
    tiny = ("model=linear", "dataset.subset=80", "batch_size=8", "epochs=2", "threads=1", "--quiet")
    status, stdout, stderr = cli("run", *tiny, f"evals_per_epoch={often}", f"results_dir={results}")
    assert status == 0, stderr
    assert [int(row["step"]) for row in read_rows(Path(stdout.strip()) / "metrics.csv")] == expected


@pytest.mark.parametrize(
    ("status", "said"), [({}, "8 s"), ({"step": 5, "steps": 10}, "4 s"), ({"step": 0, "steps": 0}, "8 s")]
)
def test_what_is_left_of_a_run_takes_its_part_of_the_time(monkeypatch, status, said):
    monkeypatch.setattr("normexp.runs.estimate.estimate_seconds", lambda *_: 8.0)
    assert f"about {said} on this machine" in duration(compose(), status, Loader())
