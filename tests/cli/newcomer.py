"""The folder in which the commands of mistakes.md are typed: tables, images, modules, experiments; sound and broken."""

import os
from pathlib import Path

import pytest

from normexp.config import extras

PROGRAMS = {
    "sinfo": 'case "$*" in *--partition*) case "$*" in *short) ;; *) exit 0 ;; esac ;; esac; echo "4 gpu:1"',
    "sbatch": "echo 'sbatch: error: nothing is submitted here' >&2; exit 1",
}
TABLE = "rooms,area,city,price\n" + "".join(f"{i % 5},{30 + i}.5,c{i % 3},{100 + 3 * i}\n" for i in range(40))
PATIENTS = 'visit date;clinic;"height, cm";empty;weight\n' + "".join(
    f"2024-{1 + i // 30:02}-{1 + i % 30:02};c{i % 3};{150 + i % 40}.5;;{50 + i}\n" for i in range(120)
)
TEXTS = {
    "patients.csv": PATIENTS,
    "notes.txt": "Things to try: batch normalization, layer normalization.\n",
    "table.csv": TABLE,
    "gaps.csv": TABLE + "1,,c0,5\n",
    "empty.csv": "",
    "header.csv": "rooms,area,city,price\n",
    "one.csv": "rooms,price\n1,2\n",
    "two.csv": "rooms,price\n1,2\n2,3\n",
    "ragged.csv": TABLE + "1,2,3\n",
    "twice.csv": TABLE.replace("area", "rooms", 1),
    "huge.csv": "rooms,price\n" + "".join(f"{i},{'3e38' if i else '1e400'}\n" for i in range(20)),
    "semicolons.csv": TABLE.replace(",", ";"),
    "open.csv": TABLE.replace("30.5,c0", '"30.5,c0', 1),
    "spaces.csv": TABLE.replace(",", " "),
    "constant.csv": "rooms,price\n" + "".join(f"{i},7\n" for i in range(20)),
    "gappy.csv": "rooms,area,price\n" + "".join(f",{i},{i}\n" for i in range(20)),
    "long.csv": "id,y\n" + "".join(f"{10**25 + i},{i}\n" for i in range(1, 41)),
    "hex.csv": TABLE + "0x1F,2,c0,3\n",
    "percent.csv": TABLE + "1,2,c0,5%\n",
    "broken.zip": "PK\x03\x04 and nothing else",
    "broken.tar.gz": "no archive",
    "broken_images/train/a/0.png": "no image",
    "broken_images/test/a/0.png": "no image",
    "flat/a/notes.txt": "no image",
    "folder.yaml/notes.txt": "a folder whose name ends like a file's",
    "mine.py": '''
from dataclasses import dataclass

from normexp.norms.base import Norm

number = 3


class Plain:
    """No scheme."""


@dataclass(frozen=True, kw_only=True)
class Scale(Norm):
    start: float = 1.0

    def __post_init__(self):
        if self.start < 0:
            raise ValueError(f"norm.start={self.start}: must be at least 0")

    def pool(self, module):
        return module


@dataclass(frozen=True, kw_only=True)
class Fails(Scale):
    def __post_init__(self):
        raise KeyError("a mistake in the scheme itself")


@dataclass(frozen=True, kw_only=True)
class Shapes(Norm):
    def normalization(self, num_features):
        import torch

        return torch.nn.Linear(num_features + 1, num_features)


@dataclass(frozen=True, kw_only=True)
class Divides(Norm):
    def normalization(self, num_features):
        return 1 / 0
''',
    "nets.py": """
import torch

images = torch.zeros(4, 3, 8, 8)


def net(device=None):
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, device=device), torch.nn.BatchNorm2d(4, device=device))


def valueless():
    return net("meta")


def batch():
    return images


def empty():
    return images[:0]


def infinite():
    return images / 0


def nothing():
    return None
""",
    "parts.py": """
from dataclasses import dataclass

import numpy as np
import torch

from normexp.data.base import Data, Dataset, Split


class Net(torch.nn.Module):
    def __init__(self, input_shape, num_outputs, norm, width=4):
        super().__init__()
        self.layer = norm.block(torch.nn.Conv2d(input_shape[0], int(width), 3), torch.nn.ReLU())
        self.head = torch.nn.Linear(int(width), num_outputs)

    def forward(self, x):
        return self.head(self.layer(x).mean((2, 3)))


class Lazy(torch.nn.Module):
    def __init__(self, num_outputs, norm):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(num_outputs))

    def forward(self, x):
        return self.layers(x)


@dataclass(frozen=True, kw_only=True)
class Points(Dataset):
    count: int = 60

    def read(self, seed):
        x = np.random.default_rng(seed).normal(size=(self.count, 2)).astype(np.float32)
        third = self.count // 3
        split = [Split(each, (each[:, 0] > 0).astype(np.int64)) for each in np.split(x, [third, 2 * third])]
        return Data(split[0], split[1], split[2], "classification", ("left", "right"))


def deep(num_classes, title: str = ""):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, num_classes))


def falling(step, total, floor=0.0):
    return floor + (1 - floor) * (1 - step / total)
""",
    "pack/__init__.py": "from .wide import (\n    Net,\n)\n",
    "pack/wide.py": "class Net:\n    pass\n",
    "misspelt.py": "class Scale(:\n    pass\n",
    "raises.py": "raise RuntimeError('two\\nlines')\n",
    "leaves.py": "import sys\nsys.exit(0)\n",
    "lacks.py": "import nosuchmodule\n",
}
OWN = """\
paper: Mine
item: mine
title: Mine
about: Mine.
common: {dataset: digits, model: mlp, steps: 2}
arms:
  none: {norm: none}
  batch: {norm: batch}
grid: {seed: [0, 1, 2, 3, 4]}
scales:
  smoke: {}
  cpu: {}
table:
  columns: [test/accuracy]
figures: []
claims: []
deviations: []
"""
CLAIM = """
claims:
  - text: batch is better
    source: mine
    compare: difference
    metric: test/accuracy
    of: batch
    than: none
    in: "> 0"
"""
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{64 * '0'}\nsize 12345\n"
EXPERIMENTS = {
    "pointer": POINTER,
    "settings": "norm: batch\nmodel: mlp\n",
    "settings_typo": "norm: batch\nmodle: mlp\n",
    "octal": "norm: batch\nsteps: 010\n",
    "truth": "norm: batch\ndataset: csv\ndataset.target: yes\n",
    "date": "norm: batch\ndataset.file: 2020-01-01\n",
    "sexagesimal": "norm: batch\nsteps: 1:30\n",
    "unlimited": "norm: batch\noptim.lr: .inf\n",
    "own_octal": OWN.replace("steps: 2", "steps: 010"),
    "own_truth": OWN.replace("  none: {norm: none}", "  off: {norm: none}"),
    "own_infinite": OWN.replace("[test/accuracy]", "[{metric: test/accuracy, target: .inf}]"),
    "settings_twice": "norm: batch\nnorm: layer\n",
    "own": OWN,
    "which_norm_small": OWN,
    "empty": "",
    "list": "- a\n- b\n",
    "broken": "arms: {a: [\n",
    "tabs": "arms:\n\ta: {}\n",
    "tag": "arms: !!python/object/apply:os.system ['touch proof']\n",
    "documents": "norm: batch\n---\nnorm: layer\n",
    "recursive": "&a {arms: *a}\n",
    "deep": "arms: " + "[" * 20_000 + "\n",
    "bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "code": OWN.replace("{norm: none}", "{norm._target_: os.system, norm.command: touch proof}"),
    "plugins": OWN.replace("steps: 2", "steps: 2, plugins: [os]"),
    "key": OWN.replace("title:", "titel:"),
    "arm": OWN.replace("{norm: batch}", "{norm.nosuch: 3}"),
    "option": OWN.replace("{norm: batch}", "{norm: bacth}"),
    "value": OWN.replace("steps: 2", "steps: 0"),
    "no_seed": OWN.replace("grid: {seed: [0, 1, 2, 3, 4]}", "grid: {optim.lr: [0.1]}"),
    "no_arms": OWN.replace("arms:\n  none: {norm: none}\n  batch: {norm: batch}\n", "arms: {}\n"),
    "duplicate": OWN.replace("  batch: {norm: batch}", "  none: {norm: batch}"),
    "metric": OWN.replace("[test/accuracy]", "[test/acuracy]"),
    "claim": OWN.replace("\nclaims: []", CLAIM.replace("difference", "diference")),
    "region": OWN.replace("\nclaims: []", CLAIM.replace("> 0", "about 3")),
    "targets": OWN.replace(
        "\nclaims: []",
        CLAIM.replace("difference", "steps")
        .replace("> 0", "> 1")
        .replace("than: none", "than: none\n    target: [0.5, 95]"),
    ),
    "closed_region": OWN.replace("\nclaims: []", CLAIM.replace("> 0", ">= 0")),
    "quoted_region": OWN.replace("\nclaims: []", CLAIM.replace("> 0", "[-0.05, 0.05]")),
    "bare_region": OWN.replace("\nclaims: []", CLAIM.replace('"> 0"', "> 0")),
    "range": OWN.replace("[0, 1, 2, 3, 4]", "range(5)"),
    "no_split": OWN.replace("steps: 2", "steps: 2, dataset.validation: 0")
    + "select: {search: {optim.lr: [0.1, 0.2]}, seeds: [100], metric: validation/accuracy}\n",
    "impossible": OWN.replace("\nclaims: []", CLAIM.replace("> 0", "> 3")),
    "figure": OWN.replace("figures: []", "figures: [{name: a, kind: curvs, metric: test/accuracy}]"),
    "target": OWN.replace("[test/accuracy]", "[{metric: test/accuracy, target: 95}]"),
    "select": OWN + "select: {search: {optim.lrr: [1]}, seeds: [100], metric: validation/accuracy}\n",
    "ties": OWN
    + "select: {search: {optim.lr: [0.1, 0.2]}, seeds: [100], ties: [100, 101], metric: validation/accuracy}\n",
    "ties_of_one": OWN
    + "select: {search: {optim.lr: [0.1, 0.2]}, seeds: [100], ties: [101], metric: validation/loss}\n",
    "scale": OWN.replace("smoke: {}", "tiny: {}"),
    "scale_arm": OWN.replace("cpu: {}", "cpu: {arms: {bacth: {norm.var: unbiased}}}"),
    "scale_arm_key": OWN.replace("cpu: {}", "cpu: {arms: {batch: {norm.vra: unbiased}}}"),
    "unicode_seed": OWN.replace("[0, 1, 2, 3, 4]", "[½]"),
}


def make(folder: Path) -> None:
    """Write all of it."""
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name, text in EXPERIMENTS.items():
        (folder / f"{name}.yaml").write_text(text)
    for name in ("binary.csv", "binary.yaml"):
        (folder / name).write_bytes(bytes(range(256)))
    (folder / "latin.csv").write_bytes(TABLE.replace("city", "größe").encode("latin-1"))
    for name in ("pointer.csv", "pointer.zip", "fetched/a/1.png", "fetched/b/1.png", "unfetched/records.zip"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(POINTER)
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (folder / "unfetched" / f"{name}-ubyte.gz").write_text(POINTER)
    (folder / "empty_folder").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "gone.csv").symlink_to("table_of_last_year.csv")
    (folder / "linked").mkdir()
    (folder / "linked" / "runs").symlink_to("../images")
    (folder / "utf16.csv").write_bytes(TABLE.encode("utf-16"))
    (folder / "nul.csv").write_bytes(TABLE.replace("31.5", "31\0").encode())
    os.mkfifo(folder / "pipe")
    (folder / "pipe.yaml").symlink_to("pipe")
    _images(folder)


def _images(folder: Path) -> None:
    """Draw images of two sizes in two classes, and the same of one class and one size."""
    from PIL import Image

    for name, classes in {"images": "ab", "one_class": "a"}.items():
        for split in ("train", "test"):
            for kind in classes:
                (folder / name / split / kind).mkdir(parents=True)
                for i in range(4):
                    size = 8 + i if name == "images" else 8
                    Image.new("RGB", (size, size), (20 * i, 0, 0)).save(folder / name / split / kind / f"{i}.png")


def stage_cluster(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Stage a login node: a SLURM with one partition of nodes of 4 CPUs and a GPU, submitit there, Ray missing."""
    for name, program in PROGRAMS.items():
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{program}\n")
        path.chmod(0o755)
    patch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = extras.find_spec
    staged = {"ray": None, "submitit": found("json")}
    patch.setattr(extras, "find_spec", lambda name: staged[name] if name in staged else found(name))
