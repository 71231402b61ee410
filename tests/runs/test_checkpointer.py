"""What a checkpoint counts on: curves on the disk, as it knows them, and as many threads as before."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from mortal import Killed, train_until

from normexp.config import compose
from normexp.evidence.curves import Made
from normexp.records import CHECKPOINT, ENVIRONMENT, METRICS, PROBES, TIMING, RunDirectory
from normexp.runs import environment, trainer

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
