"""A run's data; runs one after the other in one process may share them where they are the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from normexp.config import Config, flat
from normexp.config.identity import PATH_KEYS
from normexp.config.instantiate import instantiate_part

if TYPE_CHECKING:
    from normexp.data.base import Data, Dataset  # imports NumPy

Value = TypeVar("Value")


def load(config: Config) -> Data:
    """Load a configuration's data. Raises UserError where they cannot be had."""
    return _seeded(config).load(config["seed"])


def content_of(config: Config) -> str:
    """Return the sha256 of the data that the user brings; nothing, or PUBLISHED, where the data set's name says all.

    Raises UserError where there are none.
    """
    if not _is_own(config) and not any(key in flat(config.values) for key in PATH_KEYS):
        return ""  # before NumPy is imported
    return _content(dataset_of(config), config)


def dataset_of(config: Config) -> Dataset:
    """Build the data set of a configuration, which reads nothing yet. Raises UserError where it is none."""
    from normexp.data.base import Dataset

    return instantiate_part(config, "dataset", Dataset)


def _is_own(config: Config) -> bool:
    """Tell whether the data set is a class of the user's own, which may leave to us what ours do themselves."""
    return "." in config.choices["dataset"]


def _seeded(config: Config) -> Dataset:
    """Build the data set; one of the user's own may draw from global generators while it is built."""
    if not _is_own(config):
        return dataset_of(config)
    from normexp.seeding import seeded  # imports torch

    with seeded(config["seed"], "data set"):
        return dataset_of(config)


def _content(dataset: Dataset, config: Config) -> str:
    """Return the sha256 of the data that the user brings, of a data set that is built."""
    if not _is_own(config):
        return dataset.content()
    from normexp.data.files.own_content import content_of_own

    return content_of_own(dataset, config["dataset"], Path(config["results_dir"]))


class LastValue(Generic[Value]):
    """A cache of one value, which is dropped before another one is made: two never are in memory."""

    def __init__(self) -> None:
        self._kept: list[tuple[Hashable, Value]] = []

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of `key`: the last one, if it has this key, else what `make` returns."""
        if not self._kept or self._kept[0][0] != key:
            self._kept.clear()
            self._kept.append((key, make()))
        return self._kept[0][1]


class Loader:
    """Loads data for runs one after the other, and keeps the last: to read and hash them takes longer than a tiny run.

    Attributes:
        examples: what the last run has put on its device, see `normexp.training.build.build_examples`.
    """

    def __init__(self) -> None:
        self._data: LastValue[Data] = LastValue()
        self.examples: LastValue[Any] = LastValue()  # of {split: Examples}, which data know nothing of

    def load(self, config: Config) -> Data:
        """Load a configuration's data, or return the last ones. Raises UserError where they cannot be had."""
        dataset = _seeded(config)
        key = (str(config["dataset"]), _content(dataset, config), config["seed"] if dataset.drawn else None)
        return self._data.get(key, lambda: dataset.load(config["seed"]))
