"""The plain script: a torchvision data set, PIL transforms per image, a DataLoader, eager fp32 NCHW."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader
from torchvision.datasets import VisionDataset
from torchvision.transforms import functional as transform

from normexp.bench.sides.resident import plain_loop
from normexp.bench.work import Train, Work

Key = tuple[int, int, int, int]  # image, shift_y, shift_x, mirrored


class Pictures(VisionDataset):
    """The pixels as torchvision's CIFAR-10 keeps them: one array, an image decoded from it per item.

    The key carries the random choices, so that they are those of every other side; their cost is the same.
    """

    def __init__(self, work: Work) -> None:
        super().__init__(root="")
        self.work = work
        scale, shift = work.scale_and_shift
        self.mean, self.std = (-shift / scale / 255).tolist(), (1 / scale / 255).tolist()

    def __getitem__(self, key: Key) -> tuple[Tensor, int]:
        index, shift_y, shift_x, mirrored = key
        pixels = self.work.pixels[index]
        image = Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels)
        if mirrored:
            image = transform.hflip(image)
        if self.work.crop:
            height, width = pixels.shape[:2]
            image = transform.crop(transform.pad(image, [self.work.crop]), shift_y, shift_x, height, width)
        return transform.normalize(transform.to_tensor(image), self.mean, self.std), int(self.work.labels[index])

    def __len__(self) -> int:
        return len(self.work.pixels)


class Keys:
    """A batch sampler over the draws of one epoch after the other; endless, as a loop of epochs would be."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __iter__(self) -> Iterator[list[Key]]:
        for draws, part in self.work.parts():
            yield list(zip(*(draw[part].tolist() for draw in draws), strict=True))


def train(work: Work, workers: int) -> Train:
    keys: Any = Keys(work)  # torch wants a length that nothing here needs
    return plain_loop(work, iter(DataLoader(Pictures(work), batch_sampler=keys, num_workers=workers)))
