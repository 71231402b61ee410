"""What is raced: one configuration, its examples, initial weights and batches, the same for every side.

Pixels are random, only their shape matters; tables are the data set's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from normexp.config import compose
from normexp.config.instantiate import instantiate, locate
from normexp.data.base import Data, Split
from normexp.seeding import generator, seeded
from normexp.training.build import INIT_EXAMPLES, build_autocast, build_model, build_norm

SHAPES = {"cifar10": (32, 32, 3), "mnist": (28, 28, 1), "fashion_mnist": (28, 28, 1), "digits": (8, 8, 1)}
EXAMPLES = 4096
Draws = tuple[Tensor, Tensor, Tensor, Tensor]  # of one epoch: order, shift_y, shift_x, mirrored; each (EXAMPLES,)
Train = Callable[[int], list[float]]  # steps -> the losses of these steps
Loss = Callable[[Tensor, Tensor], Tensor]


def token_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over all positions: (N, T, V) and (N, T) -> ()."""
    return F.cross_entropy(outputs.flatten(0, 1), targets.flatten())


class Work:
    """One configuration ready to be trained by any side; only weights, examples and draws come from normexp.

    Args:
        overrides: as of `normexp run`.
    """

    def __init__(self, overrides: Sequence[str]) -> None:
        self.config = compose(["device=cpu", *overrides])  # where the other sides compute
        self.seed: int = self.config["seed"]
        self.batch_size: int = self.config["batch_size"]
        self.bf16 = self.config["precision"] == "bf16"
        self.autocast = build_autocast(self.config["precision"], torch.device("cpu"))
        self.clip_norm: float | None = self.config["clip_norm"]
        self.crop: int = self.config["dataset"].get("crop", 0)
        self.flip: bool = self.config["dataset"].get("flip", False)

    @cached_property
    def data(self) -> Data:
        name = self.config.choices["dataset"]
        if name not in SHAPES:
            data: Data = instantiate(self.config["dataset"]).load(self.seed)
            return data
        random = np.random.default_rng(0)

        def split(n: int) -> Split:
            return Split(random.integers(0, 256, (n, *SHAPES[name]), dtype=np.uint8), random.integers(0, 10, n))

        return Data(split(EXAMPLES), split(0), split(16), task="classification", classes=tuple("0123456789"))

    @property
    def pixels(self) -> np.ndarray:
        """The training examples as stored: (N, H, W, C) uint8, or (N, D) float64."""
        return self.data.train.x

    @cached_property
    def labels(self) -> Tensor:
        return torch.from_numpy(np.asarray(self.data.train.y))

    @cached_property
    def scale_and_shift(self) -> tuple[Tensor, Tensor]:
        """Per channel (C,) or feature (D,): normalized = scale * stored + shift."""
        transform = instantiate(self.config["inputs"]).fit(self.data.train.x)
        zero, one = (transform.apply(np.full_like(self.pixels[:1], value)) for value in (0, 1))
        shape = (-1, self.pixels.shape[-1])
        shift = torch.from_numpy(zero).float().reshape(shape)[0]
        return torch.from_numpy(one).float().reshape(shape)[0] - shift, shift

    @cached_property
    def images(self) -> Tensor:
        """All examples as people keep them: float32, normalized, (N, C, H, W) contiguous or (N, D)."""
        scale, shift = self.scale_and_shift
        x = torch.from_numpy(self.pixels).float() * scale + shift
        return x.permute(0, 3, 1, 2).contiguous() if x.dim() == 4 else x

    @property
    def loss(self) -> Loss:
        losses: dict[str, Loss] = {"classification": F.cross_entropy, "language": token_loss}
        return losses.get(self.data.task, F.mse_loss)

    def model(self) -> nn.Module:
        """Build the network with the weights that every side begins with."""
        norm = build_norm(self.config)
        model = build_model(self.config, norm, self.data.input_shape, self.data.num_outputs)
        with seeded(self.seed, "data initialization"):
            norm.initialize(model, self.images[next(self.draws())[0][:INIT_EXAMPLES]])
        return model

    def optimizer(self, model: nn.Module, **options: bool) -> Optimizer:
        given = {key: value for key, value in self.config["optim"].items() if key != "_target_"}
        made: Optimizer = locate(self.config["optim"]["_target_"])(model.parameters(), **given, **options)
        return made

    def draws(self) -> Iterator[Draws]:
        """Yield the random choices of every epoch, drawn as normexp draws them."""
        n = len(self.pixels)
        for epoch in itertools.count():
            order = torch.randperm(n, generator=generator(self.seed, "order", epoch))
            source = generator(self.seed, "augmentation", epoch)
            shifts = torch.randint(0, 2 * self.crop + 1, (2, n), generator=source)
            yield order, shifts[0], shifts[1], torch.randint(0, 2, (n,), generator=source) * int(self.flip)

    def parts(self) -> Iterator[tuple[Draws, slice]]:
        """Yield every batch as (the epoch's draws, the part of them); the last incomplete batch is dropped."""
        size = min(self.batch_size, len(self.pixels))
        for draws in self.draws():
            for start in range(0, len(self.pixels) - size + 1, size):
                yield draws, slice(start, start + size)
