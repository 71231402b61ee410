"""Move labels apart along one axis, as little as possible."""

from __future__ import annotations

from collections.abc import Sequence


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions at least `gap` apart in [low, high], in the order of `wanted`, nearest to it.

    Subtracting i * gap from the i-th position turns "at least gap apart" into "non-decreasing", so the least
    squares solution is isotonic regression by pooling adjacent violators (Barlow et al. 1972). Where the room
    is too small, the gap shrinks to what there is.
    """
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], -i))
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    fitted = _non_decreasing([wanted[i] - rank * gap for rank, i in enumerate(order)])
    ceiling = high - (len(wanted) - 1) * gap
    positions = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        positions[i] = min(max(fitted[rank], low), ceiling) + rank * gap
    return positions


def _non_decreasing(values: Sequence[float]) -> list[float]:
    """Return the nearest non-decreasing sequence: blocks (mean, length) merge while they fall."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        average, length = value, 1
        while blocks and blocks[-1][0] > average:
            before, count = blocks.pop()
            average = (before * count + average * length) / (count + length)
            length += count
        blocks.append((average, length))
    return [average for average, length in blocks for _ in range(length)]
