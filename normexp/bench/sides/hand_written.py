"""The best loop that we can write by hand for one configuration, with nothing general about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor, nn

from normexp.bench.work import Train, Work


def train(work: Work) -> Train:
    model = work.model().to(memory_format=torch.channels_last)
    optimizer, loss_of, source = work.optimizer(model, fused=True), work.loss, batches(work)

    def steps(count: int) -> list[float]:
        losses = torch.zeros(count)
        for index, (x, y) in enumerate(islice(source, count)):
            with work.autocast():
                loss = loss_of(model(x).float(), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            if work.clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), work.clip_norm)
            optimizer.step()
            losses[index] = loss.detach()
        found: list[float] = losses.tolist()
        return found

    return steps


def batches(work: Work) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches: windows of padded uint8 images and their mirror images, or rows of normalized ones."""
    if not (work.crop or work.flip):
        x = work.images.contiguous(memory_format=torch.channels_last) if work.images.dim() == 4 else work.images
        for draws, part in work.parts():
            yield x[draws[0][part]], work.labels[draws[0][part]]
        return
    windows, (scale, shift) = _windows(work), work.scale_and_shift
    n, (height, width, channels) = len(work.pixels), work.pixels.shape[1:]
    scale, shift = scale.repeat(width), shift.repeat(width)
    for draws, part in work.parts():
        order, shift_y, shift_x, mirrored = (draw[part] for draw in draws)
        x = windows[order + mirrored * n, shift_y, shift_x].flatten(2).float().mul_(scale).add_(shift)
        yield x.view(-1, height, width, channels).permute(0, 3, 1, 2), work.labels[order]


def _windows(work: Work) -> Tensor:
    """Return (2N, shifts, shifts, H, W, C): every crop of every image and its mirror image, without copies."""
    pixels = torch.from_numpy(work.pixels)
    both = torch.cat([pixels, pixels.flip(2)])
    edge = work.crop
    padded = torch.nn.functional.pad(both, (0, 0, edge, edge, edge, edge)).contiguous()
    n, height, width, channels = both.shape
    image, row, column, value = padded.stride()
    shape = (n, 2 * edge + 1, 2 * edge + 1, height, width, channels)
    return padded.as_strided(shape, (image, row, column, row, column, value))
