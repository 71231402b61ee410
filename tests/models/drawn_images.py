"""Images of noise: what networks for images are looked at with."""

import torch

CIFAR = (3, 32, 32)


def images(count: int = 6, shape: tuple[int, ...] = CIFAR) -> torch.Tensor:
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(1))
