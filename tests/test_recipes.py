"""CONTRIBUTING.md followed literally: in a copy of the repository, the listed files and no others are touched."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
PARTS = ("normexp", "configs", "tests", "scripts", "docs", "pyproject.toml", "CONTRIBUTING.md")
pytestmark = pytest.mark.slow

SCHEME = """'''Layer normalization without the division.'''

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from normexp.norms.base import Norm, at_least_float32


class Centred(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        wide = at_least_float32(x)
        return (wide - wide.mean(list(range(1, x.dim())), keepdim=True)).to(x.dtype)


@dataclass(frozen=True, kw_only=True)
class Centre(Norm):
    '''y = x - mean(x) over all features of a sample.'''

    def normalization(self, num_features: int) -> nn.Module:
        return Centred()
"""
REFERENCE = """import reference

INVARIANCES = "no yes no no no no"


class Formula(reference.NoNorm):
    def normalize(self, x):
        return x - x.mean(axis=tuple(range(1, x.ndim)), keepdims=True)
"""
MUTATIONS = """MUTATIONS["added"] = of(
    "added.py",
    ("nothing is taken off", "wide - wide.mean", "wide - 0 * wide.mean"),
    ("half the mean", "wide - wide.mean", "wide - 0.5 * wide.mean"),
    ("the mean of each channel", "range(1, x.dim())", "range(2, x.dim())"),
)
"""
DATA = """'''Points on two rings.'''

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from normexp.data.base import Data, Dataset, Split


@dataclass(frozen=True, kw_only=True)
class Rings(Dataset):
    '''The inner ring is class 0, the outer class 1; drawn from the seed.'''

    drawn = True

    def read(self, seed: int) -> Data:
        splits = [ring(np.random.default_rng([seed, part]), size) for part, size in enumerate((400, 100, 100))]
        return Data(*splits, task="classification", classes=("inner", "outer"))


def ring(source: np.random.Generator, size: int) -> Split:
    y = source.integers(2, size=size)
    angle = source.uniform(0, 2 * np.pi, size)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + y)[:, None]
    return Split(x.astype(np.float32), y.astype(np.int64))
"""
STUDY = """'''How many weights a network has.'''

from __future__ import annotations

from dataclasses import dataclass

from normexp.studies.base import Outcome, Study, StudyContext


@dataclass(frozen=True, kw_only=True)
class Weights(Study):
    '''One row with the number of parameters.'''

    def measure(self, context: StudyContext) -> Outcome:
        model = context.components.model
        return Outcome([{"step": 0, "parameters": sum(each.numel() for each in model.parameters())}])
"""


def listed(title: str) -> set[str]:
    """Return the files that a recipe of CONTRIBUTING.md lists, with the name `added`."""
    text = (TOP / "CONTRIBUTING.md").read_text().partition(title)[2].partition("Checks:")[0]
    return {name.replace("NAME", "added") for name in re.findall(r"^\d+\. `([^`]+)`", text, re.MULTILINE)}


class Copy:
    """A copy of the repository, and what is touched in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder, set()
        for part in PARTS:
            source = TOP / part
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / part)

    def write(self, name: str, text: str) -> None:
        self.touched.add(name)
        (self.folder / name).write_text(text)

    def append(self, name: str, text: str) -> None:
        self.write(name, (self.folder / name).read_text() + text)

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert text.count(old) == 1
        self.write(name, text.replace(old, new))

    def passes(self, *words: str) -> None:
        """Run a command of Python's in the copy, which must succeed."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            [sys.executable, *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    def pytest(self, *words: str) -> None:
        self.passes("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *words)


@pytest.fixture
def copied(tmp_path):
    return Copy(tmp_path)


def test_recipe_of_a_scheme(copied):
    copied.write("normexp/norms/added.py", SCHEME)
    about = "_about_: Layer normalization without the division\n_source_: none\n_batch_statistics_: false\n"
    copied.write("configs/norm/added.yaml", f"_target_: normexp.norms.Centre\n{about}placement: pre\n_allowed_:\n"
                 '  placement: "pre | post"\n')  # fmt: skip
    copied.append("normexp/norms/__init__.pyi", "from .added import Centre as Centre\n")
    copied.write("tests/norms/references/added.py", REFERENCE)
    copied.append("scripts/norm_mutations.py", MUTATIONS)
    copied.replace("configs/experiment/which_norm_small.yaml", "\narms:\n", "\narms:\n  added: {norm: added}\n")
    written = {"docs/schemes.md", "docs/mutants.md"}  # by commands, in minutes
    assert copied.touched == listed("## Add a scheme") - written
    run = ("model=mlp", "steps=2", "--quiet", "results_dir=results")
    copied.passes("-m", "normexp", "run", "norm=added", *run)
    files = (
        "tests/norms",
        "tests/config",
        "tests/experiments/test_which_norm.py",
        "tests/checks/test_check_mutations.py",
    )
    its_own = "added or which_norm or (test_check_mutations and not page_of_the_documentation)"
    copied.pytest(*files, "-k", its_own)
    copied.passes("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))")


def test_recipe_of_a_data_set(copied):
    copied.write("normexp/data/added.py", DATA)
    fields = "validation: 0\nsubset: null\nsplit_seed: 0\n"
    copied.write("configs/dataset/added.yaml", f"_target_: normexp.data.Rings\n_about_: Two rings\n_source_: none\n"
                 f"_kind_: table\n_task_: classification\n_allowed_:\n  validation: '[0, inf)'\n"
                 f"  subset: 'int [1, inf) or null'\n  split_seed: '[0, inf)'\n{fields}")  # fmt: skip
    copied.append("normexp/data/__init__.pyi", "from .added import Rings as Rings\n")
    assert copied.touched == listed("## Add a data set")
    copied.passes("-m", "normexp", "run", "dataset=added", "model=mlp", "steps=2", "--quiet", "results_dir=results")


def test_recipe_of_a_study(copied):
    copied.write("normexp/studies/added.py", STUDY)
    copied.write("configs/study/added.yaml", "_target_: normexp.studies.Weights\n_about_: Parameters of a network\n"
                 "_source_: none\n_reads_: [network]\n"
                 "_metrics_:\n  parameters: number of learned numbers\n")  # fmt: skip
    copied.append("normexp/studies/__init__.pyi", "from .added import Weights as Weights\n")
    assert copied.touched == listed("A study:")
    copied.passes("-m", "normexp", "run", "study=added", "model=mlp", "--quiet", "results_dir=results")
    copied.pytest("tests/config", "-k", "added")


def test_recipe_of_an_experiment(copied):
    text = (TOP / "configs/experiment/digits_five_schemes.yaml").read_text()
    copied.write("configs/experiment/added.yaml", re.sub("^paper: .*", "paper: Doe 2099, arXiv:2099.00001", text))
    copied.append("configs/papers.yaml", "'2099.00001': Rings and other things\n")
    assert copied.touched == listed("An experiment:")
    copied.passes("-m", "normexp", "reproduce", "added", "scale=smoke", "results_dir=results")
    copied.pytest("tests/experiments/test_by_paper.py", "-k", "title")
