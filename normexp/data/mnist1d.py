"""MNIST-1D: ten shapes of a line, stretched, moved and hidden in noise, which small networks can tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from scipy.ndimage import gaussian_filter

from normexp.data.base import Array, Data, Dataset, Split, empty_like

EXAMPLES, TRAINING, LENGTH = 5000, 4000, 40
SEED = 42  # the authors'
PADDING, SHIFT = (36, 60), 48  # zeros behind a shape; places that it is moved by, below this
SCALE, SHEAR = 0.4, 0.75  # ranges, around 1 and 0
SMOOTH_NOISE, NOISE = 0.25, 0.02
SHAPES = np.array([  # the line of each digit, drawn by the authors
    [5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5],
    [5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5],
    [5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5],
    [5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5],
    [5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5],
    [5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5],
    [5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5],
    [5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5],
    [5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5],
    [5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5],
])  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Mnist1d(Dataset):
    """4,000 training and 1,000 test lines of 40 points, float32 (N, 40), 10 classes; generated, always the same.

    Args:
        shuffled: permute the points, by one permutation for all lines (drawn with `split_seed`): what a convolution
            can use of their order is gone, and all that a fully connected network can see is still there.

    Source: Greydanus & Kobak 2024, "Scaling down deep learning with MNIST-1D", arXiv:2011.14439; the recipe, its
    numbers and its seed are those of their package `mnist1d` (Apache-2.0), and so are the lines.
    """

    drawn = False
    shuffled: bool = False

    def read(self, seed: int) -> Data:
        x, y = lines()
        if self.shuffled:
            x = x[:, np.random.default_rng(self.split_seed).permutation(LENGTH)]
        train, test = Split(x[:TRAINING], y[:TRAINING]), Split(x[TRAINING:], y[TRAINING:])
        return Data(train, empty_like(train), test, task="classification", classes=tuple("0123456789"))


def lines() -> tuple[Array, Array]:
    """Return all lines, float32 (5000, 40), and their digits, int64 (5000,), in the order of the package."""
    random, shapes = RandomState(SEED), _templates()
    labels = np.repeat(np.arange(len(shapes)), EXAMPLES // len(shapes))
    drawn = np.stack([_line(random, shapes[label]) for label in labels])
    order = random.permutation(EXAMPLES)
    return ((drawn - drawn.mean()) / drawn.std()).astype(np.float32)[order], labels[order]


def _templates() -> Array:
    """Return the shapes with deviation 1/6, each beginning at 0."""
    centred = SHAPES - SHAPES.mean(1, keepdims=True)
    scaled = centred / centred.std(1, keepdims=True)
    return (scaled - scaled[:, :1]) / 6


def _line(random: RandomState, shape: Array) -> Array:
    """Return one line (40,). The draws, and their order, are the package's."""
    low, high = PADDING
    zeros = low + int(random.rand() * (high - low + 1))
    line = _resampled(np.pad(shape + 1e-8, (0, zeros)), len(shape) + high)  # the 1e-8 tells the shape from the zeros
    line = np.roll(line * (1 + SCALE * (random.rand() - 0.5)), random.choice(SHIFT))
    smooth = gaussian_filter(SMOOTH_NOISE * random.randn(len(line)), 2)
    line = np.where(line == 0, smooth, line) + NOISE * random.randn(len(line))
    line -= SHEAR * (random.rand() - 0.5) * np.linspace(-0.5, 0.5, len(line))
    return _resampled(line, LENGTH)


def _resampled(line: Array, count: int) -> Array:
    return np.interp(np.linspace(0, 1, count), np.linspace(0, 1, len(line)), line)
