"""scripts/paper_scale.sh: refuses without a GPU, and otherwise asks for what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from normexp.errors import UserError
from normexp.experiments.keys import REPRODUCE
from normexp.experiments.load import load, names, read, scales

SCRIPT = Path(__file__).parents[2] / "scripts" / "paper_scale.sh"


ENVIRONMENT = Path(sys.executable).parent  # its commands, also where nobody activated it


def paper_scale(*words: str, path: Path | str = ENVIRONMENT) -> subprocess.CompletedProcess[str]:
    """Run the script with the commands of `path` before those of the system."""
    env = {**os.environ, "PATH": f"{path}:/usr/bin:/bin"}
    return subprocess.run([SCRIPT, *words], capture_output=True, text=True, env=env)


def commands(folder: Path, python: str) -> Path:
    """Fill a folder with a `python` that does this and a `normexp` that prints its arguments."""
    for name, text in (("python", python), ("normexp", 'echo "$@"')):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def gpu(tmp_path) -> Path:
    """A folder with commands of a machine with a GPU."""
    return commands(tmp_path, "exit 0")


def test_paper_scale_without_a_gpu_is_refused_in_one_line(tmp_path):
    """What the script has `python` ask is asked here, where torch is imported already."""
    asked = tmp_path / "asked"
    words = ("salimans2016_table1", "results_dir=/nonexistent")
    done = paper_scale(*words, path=commands(tmp_path, f'echo "$2" > {asked}; exit 1'))
    with pytest.raises(SystemExit) as answered:
        exec(asked.read_text(), {})
    assert answered.value.code == (not torch.cuda.is_available())
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "no CUDA GPU" in done.stderr
    assert "`normexp reproduce salimans2016_table1 scale=cpu`" in done.stderr


def test_paper_scale_outside_an_environment_says_so_in_one_line(tmp_path):
    done = paper_scale("salimans2016_table1", path=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("paper_scale.sh: no command normexp on the PATH")
    assert len(done.stderr.splitlines()) == 1


def test_paper_scale_with_a_gpu_reproduces_fast(gpu):
    done = paper_scale("salimans2016_table1", "jobs=1", path=gpu)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "reproduce scale=paper device=cuda precision=bf16 compile=true salimans2016_table1 jobs=1\n"
    words = done.stdout.split()
    assert {word.partition("=")[0] for word in words if "=" in word} <= set(REPRODUCE)


@pytest.mark.parametrize("words", [[], ["--help"], ["scale=cpu"]])
def test_paper_scale_wants_a_name(words, gpu):
    done = paper_scale(*words, path=gpu)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: scripts/paper_scale.sh NAME")


def test_reproduce_takes_precision_and_compile(cli, results):
    given = ("reproduce", "ioffe2015_figure1", "scale=smoke", f"results_dir={results}")
    for wrong in ("precision=bf8", "compile=maybe"):
        status, _, stderr = cli(*given, wrong)
        assert status == 2
        assert wrong in stderr


def test_overrides_of_reproduce_reach_every_run():
    experiment = load("ioffe2015_figure1", "smoke").with_extra({"precision": "bf16", "compile": True})
    config = experiment.config("With BN", experiment.points()[0])
    assert (config["precision"], config["compile"]) == ("bf16", True)
    with pytest.raises(UserError):
        experiment.with_extra({"precision": "bf8"}).config("With BN", experiment.points()[0])


def test_what_has_a_paper_scale_judges_its_printed_numbers_by_a_declared_margin() -> None:
    """Or shows them only: a table of several columns passes no verdict."""
    there = [read(name, "paper") for name in names() if "paper" in scales(name)]
    printed = [each for each in there if any(not (entry.ours or entry.said) for entry in each.published)]
    assert [each.name for each in printed if each.table.margin is None] == ["rezero_table"]
    assert [each.name for each in printed if each.table.columns] == ["rezero_table"]
