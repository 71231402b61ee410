"""Copy memory: symbols, a long silence, and then the question for one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from normexp.data.base import Data, Dataset, Split, check_fits, empty_like
from normexp.data.streams import numpy_generator
from normexp.data.variable_length import Reach, draw_lengths, masked, reaches


@dataclass(frozen=True, kw_only=True)
class Copying(Dataset):
    """Remember all symbols, as it is said only at the end which one will be asked for.

    A sequence is `items` symbols, `delay` blanks and one cue, the number of the symbol to recall. Every step is
    one of symbols + 1 + items things: a symbol, the blank, or a cue.

    Shapes: x float32 (N, items + delay + 1, symbols + 1 + items), one-hot in that order; y int64 (N,), the symbol.

    Args:
        items: number of symbols to remember.
        symbols: number of different ones; guessing is right once in so many times.
        delay: number of blanks, of the longest sequences.
        min_delay: draw every delay from this to `delay`; None makes all as long.
        test_delay: delay of all test sequences; None draws them as those for training.
        examples: number of sequences for training, before `validation` are held out.
        test: number of test sequences.
        mask: add the mask (see `variable_length`) as a last feature; where delays differ, it is always there.

    Source: Hochreiter & Schmidhuber 1997; 10 items of 8 symbols as in Arjovsky, Shah & Bengio 2016,
    arXiv:1511.06464. Differs: there the network recalls all symbols, one per step after the cue. Here
    it recalls the one that the cue names, so that a classifier with one answer per sequence can do it; as the cue
    comes last, all of them must still be remembered.
    """

    items: int = 10
    symbols: int = 8
    delay: int = 100
    min_delay: int | None = None
    test_delay: int | None = None
    examples: int = 10_000
    test: int = 1000
    mask: bool = False
    validation: float = 1000

    def read(self, seed: int) -> Data:
        trained, tested = reaches("delay", self.delay, self.min_delay, self.test_delay)
        train = self._split(seed, "train", self.examples, trained)
        test = self._split(seed, "test", self.test, tested)
        classes = tuple(str(symbol) for symbol in range(self.symbols))
        return Data(train, empty_like(train), test, task="classification", classes=classes)

    def _split(self, seed: int, name: str, count: int, reach: Reach) -> Split:
        longest = self.items + reach[1] + 1
        size = 2 * count * longest * (self.symbols + 2)
        check_fits(size, f"dataset=copy with {count:,} sequences of {longest:,} steps")
        rng = numpy_generator(seed, f"copy {name}")  # its size leaves the other alone
        ends = self.items + draw_lengths(rng, count, *reach)  # where the cue stands
        steps = np.full((count, longest), self.symbols)
        steps[:, : self.items] = rng.integers(self.symbols, size=(count, self.items))
        asked = rng.integers(self.items, size=count)
        every = np.arange(count)
        steps[every, ends] = self.symbols + 1 + asked
        x = np.eye(self.symbols + 1 + self.items, dtype=np.float32)[steps]
        y = steps[every, asked].astype(np.int64)
        return Split(masked(x, ends + 1) if self.mask or self.min_delay is not None else x, y)
