"""The adding problem: two numbers of a long sequence are marked, their sum is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from normexp.data.base import Array, Data, Dataset, Split, check_fits, empty_like
from normexp.data.streams import numpy_generator
from normexp.data.variable_length import Reach, draw_lengths, masked, reaches


@dataclass(frozen=True, kw_only=True)
class Adding(Dataset):
    """Remember two numbers over a long time.

    Shapes: x float32 (N, T, 2), a number uniform in [0, 1) and a mark (1 at two steps, else 0); y float32 (N, 1),
    the sum of the two marked numbers. One mark lies in the first half of a sequence, one in the second.
    Answering 1 always has a mean squared error of 1/6.

    Args:
        length: number of time steps T, of the longest sequences.
        min_length: draw every length from this to `length`; None makes all as long.
        test_length: length of all test sequences; None draws them as those for training. T of the test split
            follows it.
        examples: number of sequences for training, before `validation` are held out.
        test: number of test sequences.
        mask: add the mask (see `variable_length`) as a last feature; where lengths differ, it is always there.

    Source: Hochreiter & Schmidhuber 1997, "Long short-term memory", section 5.4, with numbers and sum as in
    Le, Jaitly & Hinton 2015, arXiv:1504.00941 (they were drawn from [-1, 1] and scaled at first).
    """

    length: int = 100
    min_length: int | None = None
    test_length: int | None = None
    examples: int = 10_000
    test: int = 1000
    mask: bool = False
    validation: float = 1000

    def read(self, seed: int) -> Data:
        trained, tested = reaches("length", self.length, self.min_length, self.test_length)
        train = self._split(seed, "train", self.examples, trained)
        return Data(train, empty_like(train), self._split(seed, "test", self.test, tested), task="regression")

    def _split(self, seed: int, name: str, count: int, reach: Reach) -> Split:
        check_fits(6 * count * reach[1], f"dataset=adding with {count:,} sequences of {reach[1]:,} steps")
        rng = numpy_generator(seed, f"adding {name}")  # its size leaves the other alone
        lengths = draw_lengths(rng, count, *reach)
        numbers = rng.random((count, reach[1]), dtype=np.float32)
        marks = _two_marks(rng, lengths, reach[1])
        y = (numbers * marks).sum(axis=1, keepdims=True)
        x = np.stack([numbers, marks], axis=2)
        return Split(masked(x, lengths) if self.mask or self.min_length is not None else x, y)


def _two_marks(rng: np.random.Generator, lengths: Array, steps: int) -> Array:
    """Return float32 (N, steps): 1 at a step of each half of every sequence, else 0."""
    halves = lengths // 2
    marks = np.zeros((len(lengths), steps), dtype=np.float32)
    for place in (rng.integers(halves), rng.integers(halves, lengths)):
        np.put_along_axis(marks, place[:, None], 1, axis=1)
    return marks
