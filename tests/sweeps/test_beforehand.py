"""What one run of a plan would be refused for is said before any is trained, and nothing is written."""

import pytest
from in_process import InProcess

ODD = """
from dataclasses import dataclass

import numpy as np
from torch import nn

from normexp.data.base import Data, Dataset, Split
from normexp.norms.base import Norm


def net(num_outputs, lack=0):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, num_outputs - lack))


@dataclass(frozen=True, kw_only=True)
class Even(Norm):
    at: str = ""

    def normalization(self, num_features):
        if num_features % 2:
            raise ValueError(f"{num_features} channels are odd")
        return nn.LayerNorm(num_features)

    def penalty(self, model):
        return {}[0] if self.at == "penalty" else None


@dataclass(frozen=True, kw_only=True)
class Points(Dataset):
    hole: bool = False

    def read(self, seed):
        x = np.random.default_rng(seed).normal(size=(40, 2)).astype(np.float32)
        y = (x[:, 0] > 0).astype(np.int64)
        x[3] = np.nan if self.hole else 0
        return Data(Split(x, y), Split(x[:0], y[:0]), Split(x, y), "classification", ("left", "right"))


def worded(step, total, word=False):
    return "fast" if word else 1.0
"""
REFUSED = {
    "outputs": (
        "model=odd.net model.lack=0,1",
        "have shape (32, 9), they must have (32, 10); in the run of model.lack=1",
    ),
    "channels": (
        "norm=odd.Even model=mlp model.widths=[8],[7]",
        "norm=odd.Even: 7 channels are odd; in the run of mod",
    ),
    "a penalty": ("norm=odd.Even norm.at=x,penalty model=mlp", "KeyError: 0, raised by norm=odd.Even (odd.py:"),
    "data": ("dataset=odd.Points dataset.hole=false,true", "odd.Points: the train split has nan in x, in example 3"),
    "a schedule": ("schedule=odd.worded schedule.word=false,true", "odd.worded: is no schedule"),
    "a placement": (
        "model=odd.net placement=pre,post",
        "placement=post: model=odd.net has no parameters norm and placem",
    ),
    "a subset": ("dataset.subset=50,5000", "dataset.subset=5000: the training split has 1257 examples"),
    "the end of a space": (
        "model=odd.net model.lack=int(interval(0,1)) sampler=random trials=2",
        "they must have (32, 10); in the run of model.lack=1",
    ),
    "workers elsewhere": ("dataset.subset=50,5000 executor=slurm executor.print_script=true", "dataset.subset=5000: "),
}


@pytest.fixture
def odd(tmp_path, monkeypatch):
    (tmp_path / "odd.py").write_text(ODD)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["", "dry run"])
@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_one_run_would_be_refused_for_is_one_line_and_nothing_is_written(
    cli, results, odd, monkeypatch, words, said, more
):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    given = ("model=linear", "batch_size=32", "steps=2", "threads=1", "device=cpu", *words.split(), *more)
    typed = [word for word in given if not (word == "model=linear" and " model=" in f" {words}")]
    status, stdout, stderr = cli("sweep", *typed, "seed=0,1", "plugins=[odd]", f"results_dir={results}")
    assert (status, stdout, stderr.count("\n")) == (2, "", 1), stderr
    assert said in stderr
    assert not results.exists()


@pytest.mark.slow
def test_every_combination_of_parts_is_built_once_whatever_seeds_and_rates(sweep, monkeypatch):
    request, asked = InProcess.request, []

    def listen(worker: InProcess, message: dict, *rest: object) -> dict:
        asked.append(message["verb"])
        return request(worker, message, *rest)

    monkeypatch.setattr(InProcess, "request", listen)
    words = ("norm=none,batch", "optim.lr=0.1,0.2", "seed=range(50)", "model=mlp")
    assert sweep(*words, "--dry-run")[0] == 0
    assert asked.count("check") == 2


def test_what_this_machine_lacks_hinders_no_workers_elsewhere(cli, results, monkeypatch):
    monkeypatch.setattr("normexp.sweeps.workers.Worker", InProcess)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    words = ("model=linear", "device=cuda", "seed=0,1", "executor=slurm", "executor.print_script=true")
    assert cli("sweep", *words, f"results_dir={results}")[0] == 0
