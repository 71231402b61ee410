"""What a checkpoint counts on: curves on the disk, as it knows them, and as many threads as before."""

import errno
import os
import random
import shutil
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from mortal import Killed, train_until
from safetensors.torch import load_file
from torch import Tensor, nn

from normexp.config import compose
from normexp.errors import Taken, UserError
from normexp.evidence.curves import Made
from normexp.norms.base import Norm
from normexp.records import CHECKPOINT, ENVIRONMENT, METRICS, PROBES, TIMING, RunDirectory, read_rows
from normexp.records.fences import fenced
from normexp.runs import checkpointer, environment, trainer
from normexp.runs.python import load_model
from normexp.seeding import random_kept

TINY = ["model=mlp", "model.widths=[8]", "batch_size=32", "steps=12", "eval_every=3", "device=cpu"]
TINY += ["probe=gradient_norm"]


def train(path: Path, *overrides: str) -> RunDirectory:
    return train_until(compose([*TINY, *overrides]), path)


def kill(path: Path, *overrides: str) -> None:
    with pytest.raises(Killed):
        train_until(compose([*TINY, *overrides]), path, {7}, 8)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not say which file is written")
def test_curves_are_on_the_disk_before_the_checkpoint(tmp_path, monkeypatch):
    """A power cut leaves what was flushed to the disk, in any other order than it was written."""
    flushed: list[str] = []
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    kill(tmp_path, "threads=1")
    checkpoint = next(place for place, name in enumerate(flushed) if name.startswith(f".{CHECKPOINT}"))
    assert set(flushed[checkpoint - 3 : checkpoint]) == {METRICS, TIMING, PROBES}


DAMAGES = {
    "cut": lambda text: "".join(text.splitlines(keepends=True)[:3]),
    "zeros": lambda text: text[:-5] + "\0" * 5,
    "another digit": lambda text: text.replace("1", "2", 1) if "1" in text.partition("\n")[2] else text[:-2],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", [METRICS, PROBES])
def test_curves_that_are_not_as_the_checkpoint_knows_them_are_set_aside(tmp_path, name, damage, caplog):
    """Checkpoint and curves go aside together, and the run begins again and ends as if nothing had happened."""
    expected = train(tmp_path / "whole", "threads=1")
    caplog.set_level("INFO", logger="normexp")
    killed = tmp_path / "killed"
    kill(killed, "threads=1")
    curve = killed / name
    harmed = damage(curve.read_text())
    curve.write_text(harmed)
    again = train(killed, "threads=1")
    assert f"{name}: damaged" in caplog.text
    assert (killed / f"{name}.damaged").read_text() == harmed
    for recorded in (METRICS, PROBES):
        assert (again.path / recorded).read_bytes() == (expected.path / recorded).read_bytes()


@pytest.mark.parametrize("name", [METRICS, PROBES])
def test_a_row_that_the_checkpoint_does_not_know_is_dropped_whatever_its_step(tmp_path, name):
    """A worker that slept while another one saved may append the row that it had measured before."""
    expected = train(tmp_path / "whole", "threads=1")
    killed = tmp_path / "killed"
    kill(killed, "threads=1")
    with (killed / name).open("r+") as curve:
        curve.write(curve.readlines()[1])
    again = train(killed, "threads=1")
    assert (again.path / name).read_bytes() == (expected.path / name).read_bytes()


@pytest.mark.slow
def test_curves_that_are_too_large_for_a_table_end_no_run(tmp_path, monkeypatch, caplog):
    rows = [("gradient_norm", "x" * 100_000, "norm", 1.0)] * 120
    monkeypatch.setattr(trainer.Trainer, "_probe", lambda _: rows)
    caplog.set_level("INFO", logger="normexp")
    kill(tmp_path, "threads=1")
    train(tmp_path, "threads=1")
    assert "continuing" in caplog.text
    with (tmp_path / PROBES).open() as probes:
        assert Counter(row.partition(",")[0] for row in probes) == {"step": 1} | dict.fromkeys(
            ["0", "3", "6", "9", "12"], 120
        )
    with pytest.raises(UserError, match=r"too large to be read .*at most 33,554,432 are"):
        read_rows(tmp_path / PROBES)


def test_a_run_that_was_taken_over_sets_nothing_aside(tmp_path):
    """What it takes for damage may be what the other one has written since it looked."""
    kill(tmp_path, "threads=1")
    (tmp_path / METRICS).write_text("of another\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def taken() -> None:
        raise Taken("taken over")

    with fenced(taken), pytest.raises(Taken):
        train(tmp_path, "threads=1")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_checkpoint_and_curves_of_another_run_are_set_aside(tmp_path, caplog):
    """Together they fit: only the checkpoint can tell whose they are."""
    expected = train(tmp_path / "whole", "threads=1", "seed=1")
    caplog.set_level("INFO", logger="normexp")
    kill(tmp_path / "first", "threads=1", "seed=0")
    kill(tmp_path / "second", "threads=1", "seed=1")
    for name in (CHECKPOINT, METRICS, TIMING, PROBES):
        shutil.copy(tmp_path / "first" / name, tmp_path / "second" / name)
    again = train(tmp_path / "second", "threads=1", "seed=1")
    assert f"{CHECKPOINT}: damaged (it is of the run " in caplog.text
    assert (again.path / CHECKPOINT).read_bytes() == (expected.path / CHECKPOINT).read_bytes()
    assert (again.path / METRICS).read_bytes() == (expected.path / METRICS).read_bytes()


@pytest.mark.parametrize("fails", [CHECKPOINT, METRICS, PROBES, "memory", "torch's memory"])
def test_what_cannot_be_read_just_now_is_not_set_aside(tmp_path, monkeypatch, fails):
    """The disk does not answer, the memory is short: the next attempt goes on from the checkpoint."""
    expected = train(tmp_path / "whole", "threads=1")
    kill(tmp_path / "killed", "threads=1")
    before = {path: path.read_bytes() for path in (tmp_path / "killed").iterdir() if path.suffix != ".json"}
    real = os.open

    def refuse(path, *rest, **options):
        if str(path).endswith(f"killed/{fails}"):
            raise OSError(errno.ESTALE, "Stale file handle")
        return real(path, *rest, **options)

    def exhausted(_: bytes) -> None:
        raise MemoryError if fails == "memory" else RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        if "memory" in fails:
            patch.setattr("normexp.runs.checkpoint.load", exhausted)
        with pytest.raises((UserError, MemoryError, RuntimeError)) as refused:
            train(tmp_path / "killed", "threads=1")
    assert "memory" in fails or f"{fails}: cannot be read (Stale file handle)" in str(refused.value)
    assert {path: path.read_bytes() for path in before} == before
    again = train(tmp_path / "killed", "threads=1")
    assert (again.path / CHECKPOINT).read_bytes() == (expected.path / CHECKPOINT).read_bytes()
    assert not list(again.path.glob("*.damaged"))


def test_run_goes_on_with_as_many_threads_as_it_began_with(tmp_path, monkeypatch):
    """A sum rounds by the number of threads, and another attempt may have another number of cores to itself."""
    used: list[int] = []
    evaluate = trainer.evaluate
    monkeypatch.setattr(trainer, "evaluate", lambda *given: used.append(torch.get_num_threads()) or evaluate(*given))
    monkeypatch.setattr("normexp.training.build.choose_threads", lambda *_: 1)
    expected = train(tmp_path / "whole")
    kill(tmp_path / "killed")
    monkeypatch.setattr("normexp.training.build.choose_threads", lambda *_: 2)
    continued = train(tmp_path / "killed")
    assert set(used) == {1}
    assert continued.environment["threads"] == 1
    for name in (METRICS, CHECKPOINT):
        assert (continued.path / name).read_bytes() == (expected.path / name).read_bytes()


def test_record_tells_every_processor_that_a_run_was_computed_on(tmp_path, monkeypatch):
    """Continuing elsewhere is allowed: the run ends, perhaps in other last digits, and its record says why."""

    def on(processor):
        real = environment.describe
        monkeypatch.setattr(environment, "describe", lambda *given: real(*given) | {"processor": processor})

    on("first")
    kill(tmp_path, "threads=1")
    on("second")
    with pytest.raises(Killed):
        train_until(compose([*TINY, "threads=1"]), tmp_path, {10}, 11)
    on("third")
    record = train(tmp_path, "threads=1").environment
    assert record["processor"] == "third"
    assert [(each["until_step"], each["processor"]) for each in record["continued"]] == [(7, "first"), (10, "second")]
    assert Made.of(record).processor.count(" then ") == 2


def test_record_of_a_run_that_stays_where_it_was_tells_of_no_other(tmp_path):
    kill(tmp_path, "threads=1")
    assert "continued" not in train(tmp_path, "threads=1").environment


def test_damaged_record_of_the_machine_stops_no_run(tmp_path):
    kill(tmp_path, "threads=1")
    (tmp_path / ENVIRONMENT).write_text("{")
    assert train(tmp_path, "threads=1").status["status"] == "done"


# --- Tensors that share memory. ---


class Shared(nn.Module):
    """Tied weights, parameters that are views of one tensor, a transposed one, and a buffer of two modules."""

    def __init__(self, num_outputs: int, input_shape: tuple[int, ...], norm: Norm) -> None:
        super().__init__()
        whole = torch.randn(12, 16) / 4
        self.narrow, self.later = nn.Parameter(whole[:, :8]), nn.Parameter(whole[:, 4:12])
        self.turned = nn.Parameter(torch.randn(8, 8).t())
        self.into, self.back = nn.Linear(torch.Size(input_shape).numel(), 12), nn.Linear(12, num_outputs)
        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)
        self.two.weight = self.one.weight
        self.up = nn.Linear(8, 12)
        self.up.weight = self.narrow
        self.first, self.second = nn.BatchNorm1d(12), nn.BatchNorm1d(12)
        self.second.running_mean = self.first.running_mean

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(self.into(x.flatten(1)))
        x = self.two(self.one(x @ self.narrow).relu()) + (x @ self.later) @ self.turned
        return self.back(self.second(self.up(x)))


SHARED = ["model=test_checkpointer.Shared", "plugins=[test_checkpointer]", "batch_size=32", "steps=6", "eval_every=3"]
SHARED += ["device=cpu", "threads=1", "dataset.subset=64"]


@pytest.mark.parametrize("optim", ["sgd", "adam", "muon"])
def test_tensors_that_share_memory_are_saved_and_continued(tmp_path, optim):
    config = compose([*SHARED, f"optim={optim}"])
    train_until(config, tmp_path / "whole")
    with pytest.raises(Killed):
        train_until(config, tmp_path / "killed", {4}, 5)
    train_until(config, tmp_path / "killed")
    for name in (METRICS, CHECKPOINT):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_tensors_that_share_memory_share_it_when_they_are_loaded(tmp_path):
    train_until(compose(SHARED), tmp_path / "run")
    model = load_model(tmp_path / "run", input_shape=(1, 8, 8), num_outputs=10, plugins=["test_checkpointer"])
    assert model.two.weight is model.one.weight
    assert model.second.running_mean is model.first.running_mean
    assert model.narrow.untyped_storage().data_ptr() == model.later.untyped_storage().data_ptr()
    saved = load_file(tmp_path / "run" / CHECKPOINT)
    for name, tensor in model.state_dict().items():
        assert torch.equal(saved[f"model/{name}"], tensor), name
    assert model(torch.zeros(2, 1, 8, 8)).isfinite().all()


# --- Networks that draw from the global generators of Python and NumPy. ---


class Drawing(nn.Module):
    """Draws when it is built, in training and in evaluation."""

    def __init__(self, num_outputs: int, input_shape: tuple[int, ...], norm: Norm) -> None:
        super().__init__()
        self.mask = torch.from_numpy(np.random.rand(torch.Size(input_shape).numel()).astype("float32"))
        self.layer = nn.Linear(len(self.mask), num_outputs)
        self.layer.bias.data.fill_(random.random())

    def forward(self, x: Tensor) -> Tensor:
        noise = torch.from_numpy(np.random.randn(len(self.mask)).astype("float32"))
        return self.layer(x.flatten(1) * self.mask + noise) * random.gauss(1, 0.1)


def test_what_python_and_numpy_draw_is_that_of_the_seed_and_is_continued(tmp_path):
    config = compose([word.replace("Shared", "Drawing") for word in SHARED])
    with random_kept():
        states = random.getstate(), np.random.get_state(legacy=False)
        train_until(config, tmp_path / "whole")
        assert random.getstate() == states[0]
        np.testing.assert_equal(np.random.get_state(legacy=False), states[1])
        random.seed(8), np.random.seed(8)
        with pytest.raises(Killed):
            train_until(config, tmp_path / "killed", {4}, 5)
        random.seed(9), np.random.seed(9)
        train_until(config, tmp_path / "killed")
    for name in (METRICS, CHECKPOINT):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_saving_takes_at_most_a_twentieth_of_the_time(monkeypatch):
    monkeypatch.setattr(checkpointer.time, "monotonic", lambda: 103.0)
    assert [checkpointer.next_save(began) for began in (103.0, 100.0)] == [113.0, 163.0]


def test_recorded_seconds_are_of_training_alone(tmp_path, monkeypatch):
    """An hour goes by at every save."""
    write, clock, hours = checkpointer.Checkpointer.save, time.monotonic, []

    def save(*given: object) -> None:
        hours.append(3600)
        write(*given)

    monkeypatch.setattr(checkpointer.Checkpointer, "save", save)
    monkeypatch.setattr(time, "monotonic", lambda: clock() + sum(hours))
    assert train_until(compose(TINY), tmp_path, saves={2, 4}).status["seconds"] < 3600
    assert len(hours) == 3


def test_seconds_that_were_not_saved_are_those_of_the_attempt_that_is_lost(tmp_path):
    with pytest.raises(Killed):
        train_until(compose(TINY), tmp_path, dies=4)
    run = RunDirectory(tmp_path)
    run.write_status(**{**run.status, "seconds": 1000.0})
    assert train_until(compose(TINY), tmp_path).status["seconds"] < 500
