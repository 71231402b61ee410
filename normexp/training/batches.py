"""Examples as batches: one tensor per split on the device, gathers by index, augmentation of whole batches."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from normexp.data.base import Array
from normexp.data.inputs import Affine, Transform
from normexp.seeding import generator

Batch = tuple[Tensor, Tensor]
EVALUATION_BATCH = 256
_FLOAT_BYTES = 2**28  # data that are no larger than this in float32 are normalized once, not batch by batch
_CHUNK = 4096  # examples normalized at once: bounds the memory that this takes


class Examples:
    """One split on a device, normalized: images as (N, C, H, W) in channels_last memory, rows as (N, D).

    Images that are cropped, flipped or large stay uint8 pixels (N, H, W, C). Where nothing has to be changed, the
    split's own memory is used: of a memory-mapped file, the system keeps only what it has room for.

    Args:
        x, y: the split's arrays, see `normexp.data.base.Split`.
        transform: the fitted input normalization.
        crop: pixels of zero padding around each image for random crops.
        flip: keep a mirrored copy of every image, for random flips.
        large: normalize images batch by batch; see `is_large`.
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        transform: Transform,
        device: torch.device,
        crop: int = 0,
        flip: bool = False,
        large: bool = False,
    ) -> None:
        self.transform, self.crop, self.flip, self.size = transform, crop, flip, len(x)
        self.y = torch.from_numpy(np.array(y)).to(device)
        self._affine: tuple[Tensor, Tensor] | None = None
        if isinstance(transform, Affine) and x.dtype == np.uint8 and x.ndim == 4 and (crop or flip or large):
            self._affine = _rows(transform, x.shape[1:], device)
            stored = x
        else:
            stored = _normalized(x, transform)
        self.x = _augmentable(stored, crop, flip, device)

    def __len__(self) -> int:
        return self.size

    def take(self, index: Tensor) -> Batch:
        """Return the examples at `index`, as they are."""
        return self._finish(self._window(index, self.crop, self.crop)), self.y[index]

    def first(self, count: int) -> Batch:
        """Return the first `count` examples as they are (all, if there are fewer)."""
        return self.take(torch.arange(min(count, len(self)), device=self.y.device))

    def augmented(self, index: Tensor, shift_y: Tensor, shift_x: Tensor, mirrored: Tensor) -> Batch:
        """Return the examples at `index`, each cropped at its own shift and mirrored or not."""
        return self._finish(self._window(index + mirrored * self.size, shift_y, shift_x)), self.y[index]

    def _window(self, index: Tensor, shift_y: Tensor | int, shift_x: Tensor | int) -> Tensor:
        return self.x[index, shift_y, shift_x] if self.crop else self.x[index]

    def _finish(self, x: Tensor) -> Tensor:
        """Return float32, normalized, channels first (a view: the memory stays channels last)."""
        if self._affine is not None:
            scale, shift = self._affine
            x = x.flatten(2).float().mul_(scale).add_(shift).view(x.shape)  # (N, H, W*C) and back
        return x.permute(0, 3, 1, 2) if x.dim() == 4 else x


def is_large(splits: Iterable[Array]) -> bool:
    """Tell whether the splits together are too large for float32; tiny networks are faster where they are not."""
    return 4 * sum(x.size for x in splits) > _FLOAT_BYTES


def _rows(transform: Affine, shape: tuple[int, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return scale and shift for a whole row of pixels (W*C,) or image (H, W*C): long rows are far faster."""
    full = (
        np.broadcast_to(part, shape if np.ndim(part) == 3 else shape[1:]).astype(np.float32)
        for part in (transform.scale, transform.shift)
    )
    scale, shift = (torch.from_numpy(np.array(part)).flatten(-2).to(device) for part in full)
    return scale, shift


def _normalized(x: Array, transform: Transform) -> Array:
    normalized = np.empty(x.shape, np.float32)
    for start in range(0, len(x), _CHUNK):
        part = slice(start, start + _CHUNK)
        normalized[part] = transform.apply(x[part])
    return normalized


def _augmentable(x: Array, crop: int, flip: bool, device: torch.device) -> Tensor:
    """Return x followed by its mirror images, padded, and seen as windows (N, shifts, shifts, H, W, C).

    The windows overlap: moved to a device as such they would be copied one by one, 81 times the images.
    """
    if not (crop or flip):
        return _shared(x).to(device)
    n, height, width, channels = x.shape
    padded = np.zeros((n + n * flip, height + 2 * crop, width + 2 * crop, channels), x.dtype)
    inside = padded[:, crop : crop + height, crop : crop + width]
    inside[:n] = x
    inside[n:] = x[:, :, ::-1] if flip else x[:0]
    whole = torch.from_numpy(padded).to(device)
    if not crop:
        return whole
    image, row, column, value = whole.stride()
    shifts = 2 * crop + 1
    shape = (len(whole), shifts, shifts, height, width, channels)
    return whole.as_strided(shape, (image, row, column, row, column, value))


def _shared(x: Array) -> Tensor:
    """Return a tensor over the array's own memory."""
    with warnings.catch_warnings():  # torch warns of memory that must not be written; nobody does
        warnings.simplefilter("ignore")
        return torch.from_numpy(np.ascontiguousarray(x))


class TrainingBatches:
    """An endless stream of training batches, a pure function of (seed, step): any step can be the first.

    The last incomplete batch of an epoch is dropped, so that every update sees `batch_size` examples; a split
    smaller than that is one batch.
    """

    def __init__(self, examples: Examples, batch_size: int, seed: int) -> None:
        self.examples, self.seed = examples, seed
        self.batch_size = min(batch_size, len(examples))
        self.steps_per_epoch = len(examples) // self.batch_size

    def from_step(self, step: int) -> Iterator[Batch]:
        """Yield the batches of step, step + 1, ..."""
        epoch, skip = divmod(step, self.steps_per_epoch)
        for current in itertools.count(epoch):
            yield from self._epoch(current, skip)
            skip = 0

    def first(self, count: int) -> Batch:
        """Return the first `count` examples of the first epoch's order, unaugmented (all, if there are fewer)."""
        return self.examples.take(self.order(0)[:count])

    def order(self, epoch: int) -> Tensor:
        """Return the order of an epoch's examples, a permutation (N,)."""
        order = torch.randperm(len(self.examples), generator=generator(self.seed, "order", epoch))
        return order.to(self.examples.y.device)

    def _epoch(self, epoch: int, skip: int) -> Iterator[Batch]:
        examples, order = self.examples, self.order(epoch)
        choices = self._augmentation(epoch, order.device) if examples.crop or examples.flip else ()
        for step in range(skip, self.steps_per_epoch):
            part = slice(step * self.batch_size, (step + 1) * self.batch_size)
            if choices:
                yield examples.augmented(order[part], *(choice[part] for choice in choices))
            else:
                yield examples.take(order[part])

    def _augmentation(self, epoch: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Draw (shift_y, shift_x, mirrored) for the whole epoch at once."""
        source, n, crop = generator(self.seed, "augmentation", epoch), len(self.examples), self.examples.crop
        shifts = torch.randint(0, 2 * crop + 1, (2, n), generator=source)
        mirrored = torch.randint(0, 2, (n,), generator=source) * int(self.examples.flip)
        return shifts[0].to(device), shifts[1].to(device), mirrored.to(device)


def sequential_batches(examples: Examples, batch_size: int) -> Iterator[Batch]:
    """Yield all examples once, unaugmented, the last batch as small as it is."""
    for start in range(0, len(examples), batch_size):
        stop = min(start + batch_size, len(examples))
        yield examples.take(torch.arange(start, stop, device=examples.y.device))
