"""What every data set returns, and the steps they share: hold out a validation split, take a subset."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from normexp.config.text import amount
from normexp.data.contract import check_contract
from normexp.data.splits import Array as Array
from normexp.data.splits import Data as Data
from normexp.data.splits import Split as Split
from normexp.data.targets import in_float32, standardize_target
from normexp.errors import UserError, kind_and_line, kind_of, line_in


def _checked(name: str, data: object) -> Data:
    """Return what was read. Raises UserError where it is no Data of arrays."""
    if not isinstance(data, Data):
        raise UserError(f"{name}: read returned a {kind_of(data)}, not a normexp.data.base.Data")
    for array in (array for split in data.splits for array in (split.x, split.y)):
        if type(array) not in (np.ndarray, np.memmap):  # a masked one would be taken without its mask
            raise UserError(f"{name}: a Split holds NumPy arrays, not a {kind_of(array)}")
    return data


def _as_numbers(split: Split) -> Split:
    """Return a text's split with tokens that do not count as pixels, as uint8 does."""
    return replace(split, x=split.x.astype(np.float32)) if split.x.dtype == np.uint8 else split


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A data set's options. Subclasses add their own fields and implement `read`; those with files, `find` and `fetch`.

    Args:
        validation: training examples held out to choose things with: a number of them, class-balanced, or the share
            of every class (0.1); 0 for none.
        subset: number of training examples to keep after that, class-balanced; None keeps all.
        split_seed: seed of the held-out choice and of the subset; apart from the run's seed on purpose, so
            that every seed of an experiment trains on the same examples.
        crop: pixels of zero padding for random crops in training; 0 switches them off. In uint8 images whose
            `inputs` scale and shift (standardize, minmax, ...) the padding is black; under the others (per_image, zca)
            and in images of floats it is the 0 behind `inputs`, which is the mean where these take it away.
        flip: random horizontal flips in training.
        standardize_target: give regression targets mean 0 and standard deviation 1 (of the training split).
    """

    drawn: ClassVar[bool] = True  # by `read`, from its seed; where False, all seeds share one reading

    validation: float = 0
    subset: int | None = None
    split_seed: int = 0
    crop: int = 0
    flip: bool = False
    standardize_target: bool = False

    def read(self, seed: int) -> Data:
        """Return all of the data. `seed` is for generated data only. `validation` may be empty."""
        raise NotImplementedError("the class has no `read(self, seed)` of its own")

    def content(self) -> str:
        """Return the sha256 of the data that the user brings; nothing, or PUBLISHED, where the name says all.

        Cheap: reads a file only where it changed since. Raises UserError where there is none.
        """
        return ""

    def find(self) -> bool:
        """Tell whether `read` can do without the network. Looks only: reads no data, writes nothing.

        Raises UserError where a file is named that is not there.
        """
        return True

    def fetch(self) -> None:
        """Download and decode what `read` would, where that is not done: several processes then find it done."""

    def load(self, seed: int) -> Data:
        """Read, hold out the validation split, take the subset.

        Raises UserError where the data cannot be had, or has too few examples for what is asked.
        """
        data = self._read(seed)
        self._check_crop(data)
        if len(data.validation) == 0:
            data = hold_out(data, self.validation, self.split_seed)
        if self.subset is not None:
            data = replace(data, train=data.train.take(self._subset(data)))
        return standardize_target(data) if self.standardize_target else in_float32(data)

    def _read(self, seed: int) -> Data:
        """Return all of the data. Raises UserError, which says so, where code of the user's own fails."""
        name = f"{type(self).__module__}.{type(self).__name__}"
        own = not name.startswith("normexp.")
        try:
            data = _checked(name, self._read_seeded(seed) if own else self.read(seed))
            if own:
                check_contract(name, data)
                self._check_validation(name, data)
            return data.map(_as_numbers) if data.task == "language" else data
        except UserError:
            raise
        except Exception as error:
            if not own:
                raise
            why = f"{kind_and_line(error)}{line_in(error, type(self).__module__)}"
            raise UserError(f"{name}: read failed ({why}); --debug shows where") from error

    def _check_validation(self, name: str, data: Data) -> None:
        """Raise UserError for a wish, other than the class's own, where `read` has made the validation split."""
        if len(data.validation) and self.validation != type(self).validation:
            raise UserError(
                f"dataset.validation={self.validation}: {name} has a validation split of its own; "
                "leave dataset.validation out"
            )

    def _read_seeded(self, seed: int) -> Data:
        """Call `read` of a class of the user's own, which may draw from global generators: with a seed, the same."""
        from normexp.seeding import seeded  # imports torch

        with seeded(seed if self.drawn else 0, "data"):
            return self.read(seed)

    def _check_crop(self, data: Data) -> None:
        if (self.crop or self.flip) and data.train.x.ndim != 4:
            shape = data.train.x.shape[1:]
            raise UserError(f"dataset.crop and dataset.flip need images (H, W, C), an example has shape {shape}")
        side = min(data.train.x.shape[1:3])
        if self.crop > side:
            raise UserError(f"dataset.crop={self.crop}: images of {side} pixels are padded by at most as many")

    def _subset(self, data: Data) -> Array:
        assert self.subset is not None
        if self.subset > len(data.train):
            raise UserError(
                f"dataset.subset={self.subset}: the training split has {amount(len(data.train), 'example')}"
            )
        if data.task == "language":
            return np.arange(self.subset)  # a text is read from its beginning
        return balanced(data.train, self.subset, data.task, self.split_seed)


def check_fits(numbers: int, what: str) -> None:
    """Raise UserError where so many float32 numbers do not fit into the memory of this machine."""
    pages = getattr(os, "sysconf", lambda name: 0)  # unknown on Windows, where allocating them fails by itself
    memory = pages("SC_PHYS_PAGES") * pages("SC_PAGE_SIZE")
    if memory and 4 * numbers > memory:
        raise UserError(f"{what}: takes {4 * numbers / 2**30:,.0f} GB, this machine has {memory / 2**30:,.0f}")


def empty_like(split: Split) -> Split:
    """Return a split of no examples with the same shapes."""
    return Split(split.x[:0], split.y[:0])


def hold_out(data: Data, wish: float, seed: int) -> Data:
    """Move training examples, chosen by `seed`, to the validation split: a number, class-balanced, or a share."""
    if wish == 0:
        return replace(data, validation=empty_like(data.train))  # a memory map stays one
    whole = len(data.train) + (len(data.test) if data.drawn_test else 0)
    what = f"dataset.validation={wish}" + (" (0 holds none out)" if wish < 1 else "")
    chosen = choose(data, wish, seed, what, whole)
    return move(data, chosen, "validation")


def move(data: Data, chosen: Array, to: Literal["validation", "test"]) -> Data:
    """Move the training examples at these indices to another split, which is replaced."""
    rest = np.setdiff1d(np.arange(len(data.train)), chosen)
    splits = {"train": data.train.take(rest), to: data.train.take(chosen)}
    return replace(data, **splits, drawn_test=data.drawn_test or to == "test")  # type: ignore[arg-type]


def choose(data: Data, wish: float, seed: int, what: str, whole: int | None = None) -> Array:
    """Return indices, sorted, of training examples: so many, class-balanced, or below 1 that share of every class.

    Args:
        what: who wishes, for the error where too few examples would be left.
        whole: number of examples that a share is of; None: the training examples alone.
    """
    total = len(data.train)
    if wish >= 1:
        if wish >= total:
            raise UserError(f"{what}: the training split has only {amount(total, 'example')}")
        return balanced(data.train, int(wish), data.task, seed)
    share = wish if whole is None else wish * whole / total
    order, rank = _dealt(data.train, data.task, seed)
    groups = data.train.y[order] if data.task == "classification" else np.zeros(total, dtype=np.int64)
    sizes = np.bincount(groups)
    wanted = np.maximum(1, np.round(share * sizes)).astype(int)
    if (short := np.flatnonzero((wanted >= sizes) & (sizes > 0))).size:
        whose = f"class {data.classes[short[0]]!r}" if data.classes else "the training split"
        raise UserError(f"{what}: leaves no example to train on: {whose} has {sizes[short[0]]}")
    return np.sort(order[rank < wanted[groups]])


def balanced(split: Split, count: int, task: str, seed: int) -> Array:
    """Return `count` indices, sorted, spread over the classes as evenly as the classes allow.

    Examples are dealt round by round: one of each class in random order, until `count` are dealt. A smaller
    count is therefore contained in a larger one.
    """
    order, rank = _dealt(split, task, seed)
    return np.sort(order[np.argsort(rank, kind="stable")[:count]])


def _dealt(split: Split, task: str, seed: int) -> tuple[Array, Array]:
    """Return all indices in random order, and of each the number of its class that come before it."""
    order = np.random.default_rng([seed, len(split)]).permutation(len(split))
    rank = np.arange(len(order))
    if task == "classification":
        labels = split.y[order]
        for label in np.unique(labels):
            members = labels == label
            rank[members] = np.arange(members.sum())
    return order, rank
