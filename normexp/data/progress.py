"""Progress on standard error: a bar where somebody watches, one plain line or nothing where nobody does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm


def byte_bar(total: int | None, label: str) -> tqdm[Any]:
    """Return a bar that counts bytes. It stays silent where standard error is not a terminal."""
    from tqdm import tqdm

    return tqdm(
        total=total,
        desc=label,
        unit="B",
        unit_scale=True,
        unit_divisor=1024,
        file=sys.stderr,
        disable=not sys.stderr.isatty(),
    )


def announce(line: str) -> None:
    """Print one line where no bar is shown, so that a log says what takes time."""
    if not sys.stderr.isatty():
        warn(line)


def warn(line: str) -> None:
    """Print one line on standard error, whoever watches."""
    print(f"normexp: {line}", file=sys.stderr, flush=True)
