"""A run's data; runs one after the other in one process share them where they are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from normexp.config import Config, flat
from normexp.config.identity import FILES
from normexp.config.instantiate import instantiate

if TYPE_CHECKING:
    from normexp.data.base import Data, Dataset  # imports NumPy


def load(config: Config) -> Data:
    """Load a configuration's data. Raises UserError where they cannot be had."""
    dataset: Dataset = instantiate(config["dataset"])
    return dataset.load(config["seed"])


def content_of(config: Config) -> str:
    """Return the sha256 of the data that the user brings; nothing, or PUBLISHED, where the data set's name says all.

    Raises UserError where there are none.
    """
    if not any(key in flat(config.values) for key in FILES):
        return ""  # before NumPy is imported
    dataset: Dataset = instantiate(config["dataset"])
    return dataset.content()


class LastLoaded:
    """`load`, but for the data that were loaded last: reading and hashing them takes longer than a tiny run."""

    def __init__(self) -> None:
        self._key: object = None
        self._data: Data | None = None

    def __call__(self, config: Config) -> Data:
        dataset: Dataset = instantiate(config["dataset"])
        key = (dataset, dataset.content(), config["seed"] if dataset.drawn else None)
        if self._data is None or key != self._key:
            self._data = None  # first, so that two never are in memory
            self._data, self._key = dataset.load(config["seed"]), key
        return self._data
