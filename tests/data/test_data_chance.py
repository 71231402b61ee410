"""`_chance_` of a data set is what somebody gets who always names the most frequent class of its test split."""

from pathlib import Path

import numpy as np
import pytest

from normexp.config.options import option, options
from normexp.data import Cifar10, Digits, FashionMnist, Mnist, Mnist1d, SequentialDigits, SequentialMnist

KINDS = {"digits": Digits, "sequential_digits": SequentialDigits, "mnist1d": Mnist1d}
FILES = {
    "mnist": (Mnist, "MNIST/raw"),
    "sequential_mnist": (SequentialMnist, "MNIST/raw"),
    "fashion_mnist": (FashionMnist, "FashionMNIST/raw"),
    "cifar10": (Cifar10, "cifar10-jpeg75.tar.gz"),
}


def share(labels: object) -> float:
    return np.bincount(np.asarray(labels)).max() / len(np.asarray(labels))


def test_chance_is_told_by_the_data_sets_that_are_tested_here() -> None:
    told = {name for name in options("dataset") if "_chance_" in option("dataset", name)}
    assert told == {*KINDS, *FILES}


@pytest.mark.parametrize("name", KINDS)
def test_chance_of_what_is_made_here(name: str) -> None:
    assert option("dataset", name)["_chance_"] == share(KINDS[name]().load(0).test.y)


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_chance_of_files(name: str, shared_data: Path) -> None:
    kind, place = FILES[name]
    assert option("dataset", name)["_chance_"] == share(kind(archive=str(shared_data / place)).load(0).test.y)
