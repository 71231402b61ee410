"""The data of a plan: looked for before anything starts, and fetched once, not by every worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from normexp.config import Config
from normexp.data.loading import dataset_of
from normexp.errors import Unavailable, UserError

if TYPE_CHECKING:
    from normexp.data.base import Dataset  # imports NumPy


def to_download(configs: Iterable[Config]) -> list[str]:
    """Return the data sets that the network has to provide. Looks only. Raises Unavailable where files are missing."""
    found = _with_each(configs, lambda dataset: dataset.find())
    return list(dict.fromkeys(config.choices["dataset"] for config, here in found if not here))


def prefetch(configs: Iterable[Config]) -> None:
    """Download and decode what is not in the cache yet. Raises Unavailable where that cannot be."""
    _with_each(configs, lambda dataset: dataset.fetch())


def _with_each(configs: Iterable[Config], do: Callable[[Dataset], object]) -> list[tuple[Config, object]]:
    """Do it with every different data set, and say of all at once what cannot be had."""
    different = {str(config["dataset"]): config for config in configs}
    done, problems = [], []
    for config in different.values():
        try:
            done.append((config, do(dataset_of(config))))
        except UserError as error:
            problems.append(str(error))
    if problems:
        raise Unavailable("\n".join(dict.fromkeys(problems)))
    return done
