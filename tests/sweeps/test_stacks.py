"""`stack=true`: ordinary records of runs that were trained together, refusals before anything is written, ends."""

import csv
import os
import signal
from pathlib import Path

import pytest
import torch
from in_process import InProcess
from killed import KILLED, command, run_until
from one_line import one_line_error
from torch import nn

import normexp
from normexp.config import Config, compose
from normexp.data.loading import Loader
from normexp.errors import Interrupted, UserError
from normexp.norms.base import Norm
from normexp.records import CHECKPOINT, RunDirectory, find_runs
from normexp.runs import stack, stack_checkpoint, trainer
from normexp.runs.checkpoint import step_of
from normexp.runs.progress import NullProgress
from normexp.runs.python import load_model
from normexp.sweeps.plan import make_plan
from normexp.sweeps.shared import Pace, write_plan
from normexp.training.components import Components

pytestmark = pytest.mark.slow  # tests/training/test_stacked.py has the quick ones

SMALL = ("dataset=digits", "model=mlp", "model.widths=[16]", "batch_size=50", "steps=9", "eval_every=4", "device=cpu")
RATES = (0.003, 0.001)  # that of the run which ends first is the larger one
GRID = (*SMALL, "recipe=none", "threads=1", "jobs=1", "norm=batch", "seed=0,1", "optim.lr=0.05,0.01")


@pytest.fixture
def sweep(cli, tmp_path, monkeypatch):
    """Run `normexp sweep` with a worker in this process: sweep("folder", *words) -> (status, stderr, runs by name)."""
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)

    def call(folder: str, *words: str) -> tuple[int, str, dict[str, RunDirectory]]:
        status, _, stderr = cli("sweep", *GRID, f"results_dir={tmp_path / folder}", *words)
        found = find_runs([tmp_path / folder]) if (tmp_path / folder).exists() else []
        return status, stderr, {run.path.name: run for run in found}

    return call


def rows(run: RunDirectory) -> list[list[float]]:
    lines = list(csv.reader((run.path / "metrics.csv").read_text().splitlines()))[1:]
    return [[float(value) for value in line if value] for line in lines]


def test_records_are_those_of_single_runs_and_say_that_they_were_stacked(sweep, tmp_path):
    status, stderr, stacked = sweep("stacked", "stack=true")
    assert status == 0, stderr
    assert "4 of 4 runs are trained in 1 stack," in stderr
    _, _, alone = sweep("alone")
    assert stacked.keys() == alone.keys()
    for name, single in alone.items():
        other = stacked[name]
        assert other.names() == single.names()
        assert other.environment["stacked"] == 4
        assert "stacked" not in single.environment
        config = other.text("config.yaml").replace("/stacked", "/alone")
        assert config == single.text("config.yaml")
        assert len(rows(other)) == len(rows(single)) == 4
        for line, wanted in zip(rows(other), rows(single), strict=True):
            assert line == pytest.approx(wanted, rel=1e-2, abs=1e-2)  # 9 steps of float32; float64: test_stacked.py
        kept, wanted = load_model(other.path).state_dict(), load_model(single.path).state_dict()
        for key, tensor in wanted.items():
            assert float((kept[key].double() - tensor.double()).norm()) <= 1e-3 * (1 + float(tensor.double().norm()))
    again, stderr, _ = sweep("stacked", "stack=true")
    assert (again, "4 finished, 0 new" in stderr) == (0, True)


def test_without_the_word_runs_are_single_ones_to_the_byte(sweep):
    _, _, one = sweep("one", "stack=false")
    _, _, two = sweep("two")
    assert one
    assert one.keys() == two.keys()
    for name, run in one.items():
        assert run.read("metrics.csv") == two[name].read("metrics.csv")
        assert run.read("checkpoint.safetensors") == two[name].read("checkpoint.safetensors")


REFUSED = {
    "what cannot": (("norm=online", "stack=true"), "stack=true: digits-mlp-online-seed0: torch.vmap: "),
    "convolutions": (("model=cnn", "stack=true"), "convolutions are no faster stacked; stack=auto trains"),
    "word": (("stack=yes",), "stack=yes: allowed: false, true, auto"),
    "executor": (("stack=true", "executor=local"), "trains on this machine, without executor="),
    "logger": (("stack=true", "logger=tensorboard"), "logger= is of single runs"),
    "compiled norms": (("stack=true", "compile=norms"), "compile=norms is of single runs"),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_stacked_is_refused_before_anything_is_written(cli, results, monkeypatch, words, message):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    monkeypatch.setattr("normexp.config.extras.find_spec", lambda name: name)
    kept = [word for word in GRID if not (word.startswith("model") and words[0] == "model=cnn")]
    kept = [word for word in kept if not (word.startswith("jobs") and "executor=local" in words)]
    status, _, stderr = cli("sweep", *kept, f"results_dir={results}", *words)
    assert status == 2
    (line,) = stderr.splitlines()
    assert message in line
    assert not results.exists()


@pytest.mark.parametrize(
    ("words", "given", "together"),
    [((), {"stack": True}, 4), ((), {"stack": "true"}, 4), (("stack=auto",), {}, 4), ((), {}, None)],
)
def test_from_python_as_from_the_command_line(words, given, together, tmp_path, monkeypatch):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    grid = [word for word in GRID if word != "jobs=1"]
    runs = normexp.sweep([*grid, f"results_dir={tmp_path}", *words], jobs=1, **given)
    assert [run.environment.get("stacked") for run in runs] == [together] * 4
    assert {run.status["status"] for run in runs} == {"done"}


@pytest.mark.parametrize("word", ["yes", 1])
def test_from_python_another_word_is_refused(word, tmp_path):
    with pytest.raises(UserError, match=f"stack={word}: allowed: false, true, auto"):
        normexp.sweep([*SMALL, f"results_dir={tmp_path}"], stack=word)
    assert not list(tmp_path.iterdir())


def test_auto_trains_alone_what_cannot_be_stacked_and_says_so(sweep):
    status, stderr, runs = sweep("auto", "stack=auto", "norm=online,batch", "optim.lr=0.05")
    assert status == 0
    assert "2 not stacked: digits-mlp-online-seed0: torch.vmap: " in stderr
    stacked = {name: run.environment.get("stacked") for name, run in runs.items()}
    assert [stacked[name] for name in sorted(stacked)] == [2, 2, None, None]  # batch, then online


@pytest.mark.parametrize("more", [("stack=true",), ("stack=auto",), ("stack=true", "--dry-run")])
def test_a_sweep_that_workers_share_is_not_stacked(cli, results, monkeypatch, more):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    words = [*(word for word in GRID if word != "jobs=1"), f"results_dir={results}"]
    write_plan(make_plan(words).cells, results, Pace(0.2, 2.0))
    before = sorted(results.rglob("*"))
    status, _, stderr = cli("sweep", *words, *more)
    (line,) = stderr.splitlines()
    assert (status, "was begun with executor=" in line) == (2, True)
    assert sorted(results.rglob("*")) == before


def test_runs_that_none_is_stacked_with_take_no_less_time(sweep):
    status, stderr, _ = sweep("alone", "stack=auto", "seed=0", "optim.lr=0.05")
    assert (status, "no run is stacked" in stderr, "less time" in stderr) == (0, True, False)


def test_a_run_that_diverges_is_recorded_as_alone_and_the_others_end(sweep):
    words = ("norm=none", "model.activation=identity", "model.widths=[16,16]", "optim.lr=0.05,1e5", "seed=0")
    _, _, stacked = sweep("stacked", *words, "stack=true")
    _, _, alone = sweep("alone", *words)
    ends = {name: run.status["status"] for name, run in alone.items()}
    assert sorted(ends.values()) == ["diverged", "done"]
    assert {name: run.status["status"] for name, run in stacked.items()} == ends
    for name, run in stacked.items():
        for key in ("step", "cause", "first_nonfinite"):
            assert run.status.get(key) == alone[name].status.get(key)
        assert len(rows(run)) == len(rows(alone[name]))
        assert run.environment["stacked"] == 2


def configs_of_pair(*more: str) -> list[Config]:
    own = [f"seed={seed} optim=adam optim.lr={rate} schedule=cosine".split() for seed, rate in enumerate(RATES)]
    return [compose([*SMALL, *words, *more]) for words in own]


@pytest.fixture
def pair(tmp_path):
    """Two runs of one shape: (configurations, folders)."""
    configs = configs_of_pair(f"results_dir={tmp_path}")
    return configs, [tmp_path / "runs" / config.name for config in configs]


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the runs gets to know it."""


def train_pair(pair, stop_at: int | None = None, error: BaseException | None = None) -> list[str]:
    """Train two runs together; at a step raise the error, or ask as a batch system does."""

    class Stopping(NullProgress):
        def poll(self, done: int, loss: float) -> None:
            if done == stop_at and error is not None:
                raise error
            if done == stop_at:
                os.kill(os.getpid(), signal.SIGTERM)

    return stack.train_stack(*pair, False, Stopping, Loader())


@pytest.fixture
def watched(monkeypatch, caplog):
    """A stack that looks at its other duties after every update, and is heard."""
    caplog.set_level("INFO", "normexp")
    monkeypatch.setattr(stack, "POLL_INTERVAL", 0.0)
    monkeypatch.setattr(stack.Member, "_environment", lambda self: self.place._asdict())
    monkeypatch.setattr("normexp.runs.recorder.Recorder.failed", lambda *_: None)


def trained_at_once(configs: list[Config], folder: Path) -> list[bytes]:
    """Return curves and checkpoints of two runs that are trained without a stop."""
    paths = [folder / config.name for config in configs]
    stack.train_stack(configs, paths, False, NullProgress, Loader())
    return [record(path) for path in paths]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> list[bytes]:
    """What the runs of `pair` come to without a stop."""
    return trained_at_once(configs_of_pair(), tmp_path_factory.mktemp("whole"))


def record(path: Path) -> bytes:
    return metrics(path) + (path / CHECKPOINT).read_bytes()


def test_a_stack_depends_on_nothing_that_was_drawn_before_it(pair, whole):
    torch.manual_seed(7)
    train_pair(pair)
    torch.manual_seed(8)
    assert [record(path) for path in pair[1]] == whole


def test_a_forced_stack_that_is_refused_at_its_second_run_leaves_the_first_as_it_was(pair, monkeypatch):
    configs, paths = pair
    stack.train_stack(configs, paths, False, NullProgress, Loader())
    before = {file: file.read_bytes() for path in paths for file in path.iterdir()}
    begun = []

    def refuse(components: Components) -> None:
        begun.append(components)
        if len(begun) == 2:
            raise UserError("the data are too few")

    monkeypatch.setattr("normexp.runs.trainer.initialize_from_data", refuse)
    with one_line_error("the data are too few"):
        stack.train_stack(configs, paths, True, NullProgress, Loader())
    assert {file: file.read_bytes() for path in paths for file in path.iterdir()} == before


def test_a_stack_that_a_second_ctrl_c_stops_has_not_failed(pair, whole, monkeypatch):
    monkeypatch.setattr(stack, "POLL_INTERVAL", 0.0)
    with pytest.raises(KeyboardInterrupt):
        train_pair(pair, 4, KeyboardInterrupt())
    assert [RunDirectory(path).status["status"] for path in pair[1]] == ["running", "running"]
    train_pair(pair)
    assert [record(path) for path in pair[1]] == whole


@pytest.mark.parametrize("step", [1, 4, 6, 9])
def test_a_stack_that_is_stopped_goes_on_to_the_same_bytes(pair, whole, watched, step):
    with pytest.raises(Interrupted, match=f"stopped at step {step}; the same command continues 2 stacked runs"):
        train_pair(pair, step)
    for path in pair[1]:
        assert (status := RunDirectory(path).status)["status"] == "interrupted"
        assert status["step"] == step
    assert train_pair(pair) == ["done", "done"]
    assert [record(path) for path in pair[1]] == whole


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self, num_outputs: int, input_shape: tuple[int, ...], norm: Norm) -> None:
        super().__init__()
        self.into = nn.Linear(torch.Size(input_shape).numel(), 8)
        self.one, self.two, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, num_outputs)
        self.two.weight = self.one.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.two(self.one(self.into(x.flatten(1)).relu()).relu()).relu())


def test_a_stack_of_networks_with_tied_weights_goes_on_to_the_same_bytes(tmp_path, watched):
    own = ["model=test_stacks.Tied", "plugins=[test_stacks]", f"results_dir={tmp_path}"]
    small = [word for word in SMALL if not word.startswith("model")]
    configs = [compose([*small, *own, f"seed={seed}", "optim=adam"]) for seed in range(2)]
    tied = configs, [tmp_path / "runs" / config.name for config in configs]
    with pytest.raises(Interrupted, match="stopped at step 4"):
        train_pair(tied, 4)
    assert train_pair(tied) == ["done", "done"]
    assert [record(path) for path in tied[1]] == trained_at_once(tied[0], tmp_path / "once")


@pytest.mark.parametrize("dies", [1, 4, 8])
@pytest.mark.parametrize("renamed", [0, 1, 2])
def test_a_stack_that_is_killed_while_it_saves_goes_on_from_one_step(
    pair, whole, tmp_path, watched, monkeypatch, dies, renamed
):
    """Killed when so many of its two runs' new checkpoints had taken the place of the old ones."""
    monkeypatch.setattr(stack.Stack, "_due", lambda self: True)
    saves, replace = [], os.replace

    def dying(source, target):
        if Path(source).name == stack_checkpoint.NEXT:
            saves.append(target)
            if len(saves) > 2 * (dies - 1) + renamed:
                raise Killed
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(Killed):
            train_pair(pair, dies + 1, Killed())
    steps, settle = [], stack.settle

    def settled(paths):
        settle(paths)
        steps.append([step_of(path / CHECKPOINT) for path in paths])
        assert not list(tmp_path.rglob(stack_checkpoint.NEXT))

    monkeypatch.setattr(stack, "settle", settled)
    assert train_pair(pair) == ["done", "done"]
    assert steps == [[dies, dies]]  # all were written: none is lost
    assert [record(path) for path in pair[1]] == whole


def test_a_stack_that_is_killed_before_all_are_written_goes_on_from_the_save_before(pair, whole, watched):
    with pytest.raises(Interrupted):
        train_pair(pair, 3)
    folder = pair[1][1]
    (folder / stack_checkpoint.NEXT).write_bytes(
        (folder / CHECKPOINT).read_bytes().replace(b'"step\\": 3', b'"step\\": 5')
    )
    assert step_of(folder / stack_checkpoint.NEXT) == 5
    assert train_pair(pair) == ["done", "done"]
    assert [record(path) for path in pair[1]] == whole


def test_a_stack_with_a_damaged_checkpoint_begins_again_together(pair, whole, watched, caplog):
    with pytest.raises(Interrupted):
        train_pair(pair, 6)
    (pair[1][1] / CHECKPOINT).write_bytes(b"no checkpoint")
    assert train_pair(pair) == ["done", "done"]
    assert "set aside as *.damaged" in caplog.text
    assert [record(path) for path in pair[1]] == whole


def test_a_stack_of_which_one_has_ended_goes_on_in_a_program_of_the_same_size(pair, whole, watched, caplog):
    with pytest.raises(Interrupted):
        train_pair(pair, 6)
    RunDirectory(pair[1][0]).write_status("diverged", step=5, steps=9, attempts=1, seconds=1.0)
    (pair[1][0] / CHECKPOINT).unlink()
    (pair[1][1] / CHECKPOINT).rename(pair[1][1] / stack_checkpoint.NEXT)  # a save that was cut off at its end
    sizes, prepare = [], stack.Stack._prepare

    def noted(self):
        prepare(self)
        sizes.append((len(self.members), len(self.stacked.runs)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack.Stack, "_prepare", noted)
        assert train_pair(pair) == ["diverged", "done"]
    assert sizes == [(1, 2)]
    assert "begins again" not in caplog.text
    assert record(pair[1][1]) == whole[1]
    assert RunDirectory(pair[1][1]).environment["stacked"] == 2


@pytest.mark.parametrize(("step", "going"), [(1, 2), (3, 2), (6, 1)])  # before, at, after what is not finite
def test_a_stack_of_which_one_diverges_goes_on_to_the_same_bytes(tmp_path, watched, step, going):
    """What was not finite first is found by a repetition, which sets the generators: by a seed or from a checkpoint."""
    own = ["model.activation=identity", "norm=none", "optim=sgd", f"results_dir={tmp_path}"]
    configs = [compose([*SMALL, *own, f"optim.lr={rate}"]) for rate in (1e20, 0.01)]
    runs = configs, [tmp_path / "runs" / config.name for config in configs]
    with pytest.raises(Interrupted, match=f"stopped at step {step}; the same command continues {going} stacked run"):
        train_pair(runs, step)
    assert train_pair(runs) == ["diverged", "done"]
    first, second = (metrics(path) for path in runs[1])
    last = (runs[1][1] / CHECKPOINT).read_bytes()
    once = [tmp_path / "once" / path.name for path in runs[1]]
    stack.train_stack(configs, once, False, NullProgress, Loader())
    assert [first, second + last] == [metrics(once[0]), record(once[1])]
    found, wanted = (RunDirectory(path).status["first_nonfinite"] for path in (runs[1][0], once[0]))
    assert found == wanted is not None


def test_a_run_that_was_begun_in_a_stack_and_goes_on_alone_begins_again(sweep, pair, watched, caplog, tmp_path):
    with pytest.raises(Interrupted):
        train_pair(pair, 6)
    configs, paths = pair
    trainer.train(configs[0], Loader().load(configs[0]), RunDirectory(paths[0]), False)
    assert "the run was begun in a stack: training begins again" in caplog.text
    alone = tmp_path / "alone" / paths[0].name
    trainer.train(configs[0], Loader().load(configs[0]), RunDirectory(alone), False)
    assert record(paths[0]) == record(alone)
    assert "stacked" not in RunDirectory(paths[0]).environment


def metrics(path: Path) -> bytes:
    return (path / "metrics.csv").read_bytes()


def test_a_cell_that_was_begun_alone_goes_on_alone(sweep):
    _, _, runs = sweep("mixed", "seed=0", "optim.lr=0.05")
    (begun,) = runs.values()
    begun.write_status("interrupted", step=9, steps=9, attempts=1, seconds=1.0)
    status, _, runs = sweep("mixed", "stack=true")
    assert status == 0
    assert sorted(run.environment.get("stacked", 1) for run in runs.values()) == [1, 3, 3, 3]


@pytest.mark.parametrize(
    ("grid", "cells"),
    [pytest.param(["seed=range(3)", "optim.lr=0.05,0.01"], 6, id="many cells"),
     pytest.param(["seed=range(4)", "norm=batch,layer"], 16, id="arms")],
)  # fmt: skip
def test_there_is_a_stack_for_every_worker(sweep, grid, cells):
    status, stderr, runs = sweep("many", "stack=true", "jobs=2", "steps=2", *grid)
    assert status == 0
    assert f"{cells} of {cells} runs are trained in 2 stacks" in stderr
    assert {run.environment["stacked"] for run in runs.values()} == {cells // 2}


def test_a_stack_that_was_stopped_when_another_had_ended_goes_on_whole(sweep):
    """With jobs=2 there would be two stacks of two, without what environment.json says of the one that was begun."""
    grid = ("stack=true", "seed=range(4)", "optim.lr=0.05,0.01")
    _, _, runs = sweep("parted", *grid, "jobs=2")
    assert {run.environment["stacked"] for run in runs.values()} == {4}
    assert len({run.environment["stack"] for run in runs.values()}) == 2
    expected = {name: run.read("metrics.csv") + run.read(CHECKPOINT) for name, run in runs.items()}
    for run in runs.values():
        if run.config["seed"] > 1:
            (run.path / CHECKPOINT).unlink()
            run.write_status("running", step=4, steps=9, attempts=1, seconds=1.0)
    status, stderr, runs = sweep("parted", *grid, "jobs=2")
    assert (status, "4 of 4 runs are trained in 1 stack," in stderr) == (0, True), stderr
    assert {name: run.read("metrics.csv") + run.read(CHECKPOINT) for name, run in runs.items()} == expected


def test_the_last_run_of_a_stack_that_was_killed_while_it_ended_goes_on_in_its_program(sweep):
    _, _, runs = sweep("last", "stack=true")
    expected = {name: run.read("metrics.csv") + run.read(CHECKPOINT) for name, run in runs.items()}
    last = max(runs.values(), key=lambda run: run.environment["row"])
    (last.path / CHECKPOINT).unlink()
    last.write_status("running", step=0, steps=9, attempts=1, seconds=0.0)
    status, stderr, runs = sweep("last", "stack=true")
    assert (status, "1 of 1 runs are trained in 1 stack," in stderr) == (0, True), stderr
    assert {name: run.read("metrics.csv") + run.read(CHECKPOINT) for name, run in runs.items()} == expected
    assert {run.environment["stacked"] for run in runs.values()} == {4}


def test_a_damaged_run_of_a_stack_that_was_stopped_is_trained_afresh_and_the_others_go_on(sweep):
    _, _, runs = sweep("damaged", "stack=true")
    expected = {name: run.read("metrics.csv") + run.read(CHECKPOINT) for name, run in runs.items()}
    first, *others = sorted(runs.values(), key=lambda run: run.environment["row"])
    for run in runs.values():
        (run.path / CHECKPOINT).unlink()
        run.write_status("running", step=0, steps=9, attempts=1, seconds=0.0)
    (first.path / "status.json").write_text("no status")
    status, stderr, runs = sweep("damaged", "stack=true")
    assert (status, "3 of 4 runs are trained in 1 stack," in stderr) == (0, True), stderr
    for run in others:
        found = RunDirectory(run.path)
        assert found.read("metrics.csv") + found.read(CHECKPOINT) == expected[run.path.name]


@pytest.mark.slow
def test_an_experiment_is_refused_and_stacked_alike(cli, results, monkeypatch):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    words = ("reproduce", "digits_rates_grid", "scale=smoke", "jobs=1", f"results_dir={results}")
    status, _, stderr = cli(*words, "stack=true")
    assert (status, results.exists()) == (2, False)
    (line,) = stderr.splitlines()
    assert "weight" in line
    status, _, stderr = cli(*words, "stack=true", "--cell", "batch")
    assert status == 0, stderr
    assert {run.environment.get("stacked") for run in find_runs([results])} == {2, 3}


def _weights_and_curves(folder: Path) -> dict[str, bytes]:
    return {
        str(run.path.relative_to(folder)): run.read("metrics.csv") + run.read(CHECKPOINT) for run in find_runs([folder])
    }


@pytest.mark.slow
def test_a_stack_that_is_killed_at_any_file_operation_ends_in_the_same_bytes(tmp_path):
    stacked_sweep = ["sweep", *GRID, "stack=true"]
    whole = tmp_path / "whole"
    status, operations = run_until(None, command(*stacked_sweep, f"results_dir={whole}"), whole)
    assert status == 0
    expected = _weights_and_curves(whole)
    assert operations > 4
    for dies in range(4, operations, 20):
        folder = tmp_path / str(dies)
        here = command(*stacked_sweep, f"results_dir={folder}")
        assert run_until(dies, here, folder)[0] == KILLED
        assert run_until(None, here, folder)[0] == 0
        assert _weights_and_curves(folder) == expected
        assert {run.environment["stacked"] for run in find_runs([folder])} == {4}
        assert not [path for path in folder.rglob(".*.????????") if path.is_file()]
