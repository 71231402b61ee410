"""A run's data: what runs share, and what they do not."""

import dis
import io
import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from normexp.config import compose
from normexp.config.instantiate import locate
from normexp.config.options import option, options
from normexp.data.base import Data, Dataset, Split
from normexp.data.loading import Loader, load
from normexp.sweeps.worker_process import train


def test_loading_shares_what_no_seed_changes():
    last = Loader().load
    first = last(compose(["seed=0"]))
    assert last(compose(["seed=1", "norm=batch", "optim.lr=0.1"])) is first
    other = last(compose(["seed=1", "dataset.subset=100"]))
    assert len(other.train) == 100
    assert last(compose(["seed=0"])) is not first  # only the last is kept


def test_loading_draws_generated_data_for_every_seed():
    last = Loader().load
    words = ["dataset=house_prices", "model=linear"]
    zero, one = last(compose([*words, "seed=0"])), last(compose([*words, "seed=1"]))
    assert zero.fingerprint != one.fingerprint
    assert one.fingerprint == load(compose([*words, "seed=1"])).fingerprint


@pytest.mark.parametrize("name", options("dataset"))
def test_loading_shares_nothing_that_uses_its_seed(name):
    """`drawn` is what a data set says of itself; here is what its code does (to hand the seed on is no use of it)."""
    dataset = locate(option("dataset", name)["_target_"])
    loaded = [step.argval for step in dis.get_instructions(dataset.read) if step.opname.startswith("LOAD")]
    assert dataset.drawn or loaded.count("seed") <= loaded.count("super")


def test_loading_happens_once_for_the_cells_of_a_worker(results, monkeypatch):
    loads = []
    digits = locate("normexp.data.digits.Digits")
    monkeypatch.setattr(digits, "read", lambda self, seed, read=digits.read: loads.append(seed) or read(self, seed))
    monkeypatch.setattr("normexp.sweeps.worker_process.loader", Loader())
    words = ["model=linear", "steps=2", "device=cpu", "threads=1", f"results_dir={results}"]
    for seed in range(3):
        answer = train(io.StringIO(), [*words, f"seed={seed}"], str(results / str(seed)), force=False)
        assert answer == {"status": "done"}
    assert loads == [0]


@dataclass(frozen=True, kw_only=True)
class Drawn(Dataset):
    """A data set of the user's own that draws from every generator but one of its seed."""

    def read(self, seed):
        x = np.random.rand(60, 4) + vars(self)["offset"] + float(torch.rand(()))
        split = Split(x.astype("float32"), np.array([random.randrange(2) for _ in range(60)]))
        return Data(split, split, split, "classification", ("a", "b"))

    def __post_init__(self):
        object.__setattr__(self, "offset", np.random.rand())


def test_loading_data_of_the_users_own_are_those_of_the_seed():
    words = ["dataset=test_loading.Drawn", "plugins=[test_loading]", "model=linear"]
    zero, again, one = (load(compose([*words, f"seed={seed}"])).fingerprint for seed in (0, 0, 1))
    assert zero == again != one
    assert Loader().load(compose([*words, "seed=0"])).fingerprint == zero
