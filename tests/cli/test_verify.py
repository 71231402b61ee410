"""`normexp verify`: what it says of sound, damaged and stale records, and of a run that is killed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from normexp.children import child
from normexp.records import RunDirectory, find_runs
from normexp.records.packing import pack
from normexp.verify import resume

TINY = ("model=linear", "dataset.subset=80", "steps=2", "threads=1", "--quiet")


@pytest.fixture
def folder(results, cli):
    for seed in (0, 1):
        status, _, stderr = cli("run", *TINY, f"seed={seed}", f"results_dir={results}")
        assert status == 0, stderr
    return results


@pytest.mark.parametrize("kept", ["folders", "folders without weights", "archive"])
def test_sound_records(folder, cli, kept):
    for run in find_runs([folder]) if kept == "folders without weights" else ():
        (run.path / "checkpoint.safetensors").unlink()
    if kept == "archive":
        pack(folder)
    status, stdout, _ = cli("verify", "records", folder)
    assert (status, stdout) == (0, "2 records: all sound\n")


@pytest.mark.parametrize("name", ["metrics.csv", "config.yaml", "checkpoint.safetensors", "environment.json"])
def test_one_flipped_bit_is_found(folder, cli, name):
    path = find_runs([folder])[0].path / name
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    status, stdout, _ = cli("verify", "records", folder)
    assert (status, stdout.count("\n")) == (1, 2)
    assert stdout.startswith(f"damaged: {path}: damaged (")


def test_missing_and_stale_records_are_found(folder, cli):
    one, two = find_runs([folder])
    (one.path / "metrics.csv").unlink()
    config = two.path / "config.yaml"
    config.write_text(config.read_text().replace("momentum: 0.9", "momentum: 0.8"))
    run = RunDirectory(two.path)
    run.write_status(**{key: value for key, value in run.status.items() if key != "sha256"})
    status, stdout, _ = cli("verify", "records", folder)
    assert status == 1
    assert f"damaged: {one.path / 'metrics.csv'}: damaged (it is missing)" in stdout
    assert f"stale: {two.path}: stale, its optim.momentum was 0.8" in stdout


def test_own_code_of_a_record_is_never_composed(folder, cli):
    run = find_runs([folder])[0]
    config = run.path / "config.yaml"
    config.write_text(config.read_text() + "  plugins:\n  - os\n  norm._target_: os.system\n")
    run.write_status(**{key: value for key, value in run.status.items() if key != "sha256"})
    status, stdout, _ = cli("verify", "records", folder)
    assert "of 1, which names code of your own" in stdout
    assert status == 0


def test_a_run_that_ended_before_it_was_killed_proves_nothing(cli, monkeypatch):
    outcome = resume.Outcome({"metrics.csv": b""}, {})
    monkeypatch.setattr(resume, "uninterrupted", lambda *_: (outcome, 0.1))
    monkeypatch.setattr(resume, "interrupted", lambda *_: (outcome, 0))
    status, stdout, _ = cli("verify", "resume", "model=linear", "steps=2")
    assert (status, stdout.count("ended before it could be killed, which proves nothing; give more steps")) == (1, 2)
    assert "equal" not in stdout


@pytest.mark.slow
def test_a_killed_run_ends_in_the_same_bits_and_the_control_does_not(cli):
    status, stdout, stderr = cli("verify", "resume", "--kills", "2")
    assert status == 0, stdout + stderr
    assert "every bit is equal" in stdout
    assert "differ, as they must" in stdout


@pytest.mark.slow
def test_what_run_refuses_is_refused_in_the_same_line(cli, tmp_path):
    words = ("model=mlp", "probe=equilibrium", "norm=none", "steps=1", "threads=1")
    status, _, refused = cli("run", *words, f"results_dir={tmp_path}", "--quiet")
    assert status == 2
    assert "no weight is scale-invariant" in refused
    assert cli("verify", "resume", *words) == (2, "", refused)


def test_an_attempt_that_takes_too_long_is_ended(cli, monkeypatch):
    started = []

    @contextmanager
    def sleeping(*_: object, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
        with child(["sleep", "60"], **streams) as process:
            started.append(process)
            yield process

    monkeypatch.setattr(resume, "child", sleeping)
    monkeypatch.setattr(resume, "LONGEST", 0.1)
    status, _, stderr = cli("verify", "resume", *TINY[:-1])
    assert (status, stderr) == (2, "normexp: verify resume: not over after 0.1 s; give a shorter run, with steps=N\n")
    assert started[0].poll() is not None
