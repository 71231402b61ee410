"""The residual stream: how a branch, attention or feed-forward, is joined to what passes by."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Residual(nn.Module):
    """s = first(x); after(skip s + within(branch(before(s)))).

    Args:
        branch: attention or feed-forward, (N, T, C) -> (N, T, C).
        skip: factor of what passes by the branch.
        dropout: of what the branch adds, in training.
    """

    def __init__(
        self,
        branch: nn.Module,
        before: nn.Module | None = None,
        within: nn.Module | None = None,
        after: nn.Module | None = None,
        first: nn.Module | None = None,
        skip: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.first, self.before = first or nn.Identity(), before or nn.Identity()
        self.branch, self.within, self.after = branch, within or nn.Identity(), after or nn.Identity()
        self.skip, self.dropout = skip, nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        stream = self.first(x)
        added = self.dropout(self.within(self.branch(self.before(stream))))
        return self.after((stream if self.skip == 1.0 else self.skip * stream) + added)


class Times(nn.Module):
    """x multiplied by a constant."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x

    def extra_repr(self) -> str:
        return f"{self.factor:.4g}"


class Gain(nn.Module):
    """x multiplied by one learned number, or by those of a shape; what is stored is the number times `stored`.

    Args:
        start: the number at the start.
        stored: the larger it is, the slower Adam's steps of a given rate change the number.
    """

    def __init__(self, start: float, shape: tuple[int, ...] = (), stored: float = 1.0) -> None:
        super().__init__()
        self.factor = 1 / stored
        self.weight = nn.Parameter(torch.full(shape, start * stored))

    @property
    def value(self) -> Tensor:
        return self.weight * self.factor

    def forward(self, x: Tensor) -> Tensor:
        return self.value * x


class Shift(nn.Module):
    """x plus one learned number, which starts at 0."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias


class Borrowed(nn.Module):
    """Another module, which belongs to somebody else: its parameters count, move and are saved once."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._lent = (module,)  # a tuple, so that it is registered as nobody's part

    def forward(self, x: Tensor) -> Tensor:
        return self._lent[0](x)
