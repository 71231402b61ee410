"""Commands of README, SKILL, docs and CONTRIBUTING work as they stand there, up to what is meant to be replaced.

Every `run` is run for two steps, what reads runs on the runs of a sweep, what lists or begins something at once. Sweeps
are planned, and experiments and scales are looked up: to run them takes hours. That a command ends well is all that is
asked here; what it prints and writes, and what else there is (check, diagnose, worker, completion, verify resume and
drift), has tests of its own.
"""

import os
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from normexp.cli.command_line import parsers
from normexp.cli.measure_parsers import SUITES
from normexp.data import Cifar10, Mnist, SequentialMnist
from normexp.data.base import Data
from normexp.experiments.keys import REPRODUCE

Cli = Callable[..., tuple[int, str, str]]

TOP = Path(__file__).resolve().parent.parent
DOCUMENTS = (
    TOP / "README.md",
    TOP / "CONTRIBUTING.md",
    TOP / "normexp" / "SKILL.md",
    *sorted((TOP / "docs").glob("*.md")),
)
SHARED = Path(os.environ.get("NORMEXP_SHARED_DATA") or TOP.parent / "shared" / "data")
BLOCK = re.compile(r"^```(?:\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(normexp [a-z]+ [^`]+)`")
ANY = re.compile(r"\.\.\.|\[[A-Z-]|\bRUN|\bFILE\b|(?<!results/runs/)\bNAME\b")  # what stands for something
REAL = {  # file of the text -> real data
    "PATH/TO/MNIST/raw": "MNIST/raw", "cifar-10-python.tar.gz": "cifar10-jpeg75.tar.gz", "housing.csv":
    "california_housing.csv", "real_estate.csv": "real_estate_valuation.csv", "tasks_1-20_v1-2.tar.gz":
    "tasks_1-20_v1-2.tar.gz",
}  # fmt: skip
ARCHIVES = {"mnist": "MNIST/raw", "sequential_mnist": "MNIST/raw", "cifar10": "cifar10-jpeg75.tar.gz"}
LONG = ("steps=", "epochs=", "eval_every=")  # replaced: two steps show that it trains
OWN = """from dataclasses import dataclass

import torch
from torch import nn

from normexp.norms.base import Norm


class Times(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(start))

    def forward(self, x):
        return self.scale * x


@dataclass(frozen=True, kw_only=True)
class Scale(Norm):
    start: float = 1.0

    def normalization(self, num_features):
        return Times(self.start)
"""


def commands(verb: str) -> list[str]:
    """Return the commands of a verb in the documents' blocks and lines, each once, without their comments.

    Those with words that stand for something are left out, but for `results/runs/NAME`.
    """
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
        lines += [" ".join(line.split()) for line in INLINE.findall(text)]
        found += [line.split(" #")[0].strip() for line in lines if f"{line} ".startswith(f"normexp {verb} ")]
    return [line for line in dict.fromkeys(found) if not ANY.search(line)]


def here(words: list[str]) -> list[str]:
    """Return the words with real data in place of the text's files; skip where there are none."""
    for name, real in REAL.items():
        words = [word.replace(f"={name}", f"={SHARED / real}") for word in words]
    given = {word.partition("=")[2] for word in words if word.startswith("dataset=")}
    if not any(word.startswith("dataset.archive=") for word in words):
        words += [f"dataset.archive={SHARED / ARCHIVES[name]}" for name in given if name in ARCHIVES]
    if any(str(SHARED) in word for word in words) and not SHARED.is_dir():
        pytest.skip(f"no real data in {SHARED}")
    return words


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands name: a table, images, a scheme."""
    from PIL import Image

    (tmp_path / "my_norms.py").write_text(OWN)
    (tmp_path / "my.csv").write_text("rooms,city,price\n" + "".join(f"{i % 5},c{i % 3},{i}\n" for i in range(40)))
    for split, count in (("tree/train", 4), ("tree/test", 4), ("my_images", 10)):
        for kind in ("cat", "dog"):
            (tmp_path / split / kind).mkdir(parents=True)
            for i in range(count):
                pixels = np.full((8, 8, 3), 25 * i, np.uint8)
                Image.fromarray(pixels).save(tmp_path / split / kind / f"{i}.png")
    shutil.make_archive(str(tmp_path / "my_images"), "zip", tmp_path / "tree")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train on 1,000 images and evaluate 100: two steps see no more, and to normalize or evaluate all takes longer."""
    for kind in (Cifar10, Mnist, SequentialMnist):
        monkeypatch.setattr(kind, "load", loading_few(kind.load))


def loading_few(load: Callable[..., Data]) -> Callable[..., Data]:
    def few(*given: object) -> Data:
        data, first = load(*given), np.arange(1000)
        evaluated = {name: getattr(data, name).take(first[:100]) for name in ("validation", "test")}
        return replace(data, train=data.train.take(first), **evaluated)

    return few


@pytest.mark.slow
@pytest.mark.parametrize("command", commands("run"))
def test_what_trains_is_done_after_two_steps(folder, cli, few_images, command):
    words = [word for word in shlex.split(command)[1:] if not word.startswith(LONG)]
    if "my_parts" in command:
        pytest.skip("tests of parts of one's own write the page's module and run it")
    studied = any(word.startswith("study=") for word in words)
    short = [] if studied else ["steps=2"]
    status, stdout, stderr = cli(*here(words), *short, "threads=1", f"results_dir={folder / 'results'}")
    assert status == 0, stderr
    assert "diverged" not in stderr
    assert "--cfg" in words or (Path(stdout.splitlines()[-1]) / "status.json").read_text().find('"done"') > 0


def ends_well(cli: Cli, command: str) -> None:
    status, stdout, stderr = cli(*shlex.split(command)[1:])
    assert status == 0, f"{command}\n{stderr}"
    assert stdout.strip(), command


def test_the_documents_have_commands():
    assert len(commands("run")) >= 15
    assert "normexp run norm=batch model=cnn" in commands("run")
    assert commands("reproduce")


@pytest.mark.parametrize("command", commands("sweep"))
def test_sweeps_of_the_documents_can_be_planned(folder, command):
    from normexp.sweeps.plan import make_plan
    from normexp.sweeps.sampler import take_search

    if "my_parts" in command:
        pytest.skip("tests of parts of one's own write the page's module and run it")
    words = [word for word in shlex.split(command)[2:] if not word.startswith(("--dry-run", "executor", "jobs="))]
    _, grid = take_search(words)
    assert len(make_plan([word for word in grid if "interval(" not in word]).cells) > 1


@pytest.mark.parametrize("command", [each for verb in ("list", "laws", "new") for each in commands(verb)])
def test_what_needs_no_run_works_at_once(folder, cli, monkeypatch, command):
    if "--matrix" in command:  # a scheme takes up to seconds; the slow tests measure all, and compare the document
        monkeypatch.setattr("normexp.cli.list_verb.options", lambda kind: ["layer"])
    ends_well(cli, command)


@pytest.mark.parametrize("command", commands("claims"))
def test_claims_are_looked_up_in_their_reports(folder, cli, command):
    for judged in (TOP / "results").glob("*/*/claims.json"):
        copy = folder / judged.relative_to(TOP)
        copy.parent.mkdir(parents=True)
        shutil.copy(judged, copy)
    ends_well(cli, command)


def test_experiments_of_the_documents_are_there():
    from normexp.experiments.load import names, scales

    for command in commands("reproduce"):
        given = [word for word in shlex.split(command)[2:] if not word.startswith(("-", "results/"))]
        for name in (word for word in given if "=" not in word and not word.endswith(".yaml")):
            assert name in names(), command
            wanted = [word.partition("=")[2] for word in given if word.startswith("scale=")]
            assert set(wanted) <= set(scales(name)), command
        keys = [word.partition("=")[0] for word in given if "=" in word]
        assert {key for key in keys if not key.startswith("executor.")} <= set(REPRODUCE), command


@pytest.mark.parametrize("verb", parsers()[1])
def test_flags_of_the_documents_are_those_of_their_command(verb):
    for command in commands(verb):
        _, left = parsers()[0].parse_known_args(shlex.split(command)[1:])
        assert not [word for word in left if word.startswith("-")], command


def test_suites_of_the_documents_are_there():
    words = {word for command in commands("bench") for word in shlex.split(command)[2:]}
    assert {word for word in words if re.fullmatch("[a-z]+", word)} <= {*SUITES}


@pytest.mark.slow
def test_what_is_done_with_runs_works_on_runs(folder, cli, monkeypatch):
    """Compare and look: the sweep of the README for two steps, then every command that reads results/runs."""
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    (sweep,) = [each for each in commands("sweep") if "weight_mean_only" in each]
    ends_well(cli, f"{sweep} steps=2 jobs=1 threads=1")
    reading = [*commands("plot"), *commands("table"), *commands("status")]
    reading += [each for verb in ("verify", "report") for each in commands(verb) if " results" in each]
    assert len(reading) >= 10
    for command in reading:
        if "results/mine" not in command:  # of an experiment of one's own
            ends_well(cli, command)


@pytest.mark.slow
def test_a_scheme_of_ones_own_stands_beside_recorded_ones_as_its_page_says(folder, cli):
    """With the archive of this repository; what it trains, and the table behind it, have tests of their own."""
    shutil.copytree(TOP / "results/mnist1d_schemes/cpu", folder / "results/mnist1d_schemes/cpu")
    (begin,) = [each for each in commands("new") if "--like" in each]
    (train,) = [each for each in commands("reproduce") if "--take" in each]
    ends_well(cli, begin)
    written = (folder / "mine.yaml").read_text().replace("{norm: ssnorm}", "{norm: my_norms.Scale, norm.start: 0.1}")
    (folder / "mine.yaml").write_text(written)
    status, _, stderr = cli(*shlex.split(train)[1:], "--dry-run")
    assert status == 0, stderr
    assert "87 runs taken from results/mnist1d_schemes" in stderr
    assert "3 new" in stderr


@pytest.mark.slow
def test_the_best_are_chosen_after_a_sweep_of_rates(folder, cli):
    ends_well(cli, "normexp sweep model=mlp norm=none,batch optim.lr=0.02,0.1 seed=0,1 steps=2 jobs=1 threads=1")
    assert len(commands("best")) >= 3
    for command in commands("best"):
        ends_well(cli, command)


@pytest.mark.slow
def test_a_network_of_a_text_writes(folder, cli):
    small = "model.width=16 model.layers=1 model.heads=2 steps=2 threads=1"
    ends_well(cli, f"normexp run dataset=text model=gpt {small} results_dir=results")
    (run,) = (folder / "results" / "runs").iterdir()
    (command,) = commands("sample")
    ends_well(cli, command.replace("NAME", run.name))
