"""The loop that most people write once their data fit in memory: resident float32 tensors, eager, NCHW."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor, nn

from normexp.bench.work import Draws, Train, Work


def train(work: Work) -> Train:
    return plain_loop(work, batches(work))


def plain_loop(work: Work, source: Iterator[tuple[Tensor, Tensor]], model: nn.Module | None = None) -> Train:
    """Return the loop of every tutorial over a stream of batches; `model` is normexp's if none is given."""
    model = model or work.model()
    optimizer, loss_of = work.optimizer(model), work.loss

    def steps(count: int) -> list[float]:
        losses = []
        for x, y in islice(source, count):
            with work.autocast():
                loss = loss_of(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if work.clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), work.clip_norm)
            optimizer.step()
            losses.append(loss.item())
        return losses

    return steps


def batches(work: Work) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield gathered, flipped and cropped batches, one tensor operation after the other."""
    images, labels = work.images, work.labels
    black = work.scale_and_shift[1]
    for draws, part in work.parts():
        index = draws[0][part]
        x = images[index]
        yield (augmented(x, draws, part, work, black) if work.crop or work.flip else x), labels[index]


def augmented(x: Tensor, draws: Draws, part: slice, work: Work, black: Tensor) -> Tensor:
    """Mirror and crop a batch (N, C, H, W); outside the image lies black, normalized."""
    _, shift_y, shift_x, mirrored = (draw[part] for draw in draws)
    size, channels, height, width = x.shape
    if work.flip:
        x = torch.where(mirrored.bool().view(-1, 1, 1, 1), x.flip(3), x)
    if not work.crop:
        return x
    edge = work.crop
    padded = black.view(1, -1, 1, 1).expand(size, -1, height + 2 * edge, width + 2 * edge).clone()
    padded[:, :, edge:-edge, edge:-edge] = x
    rows = (shift_y[:, None] + torch.arange(height))[:, None, :, None]
    columns = (shift_x[:, None] + torch.arange(width))[:, None, None, :]
    every = torch.arange(size)[:, None, None, None]
    return padded[every, torch.arange(channels)[None, :, None, None], rows, columns]
