"""Progress on standard error: a bar where somebody watches, one plain line or nothing where nobody does."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

logger = logging.getLogger("normexp")


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
    """Log one line where no bar is shown, so that a log says what takes time."""
    if not sys.stderr.isatty():
        logger.info(line)
