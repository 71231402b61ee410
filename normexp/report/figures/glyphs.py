"""Signs that the font of the figures does not have: one line, in place of matplotlib's warnings at every place."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from normexp.records import printable

logger = logging.getLogger("normexp")
MISSING = re.compile(r"Glyph (\d+) .* missing from")


@contextmanager
def missing_glyphs_told() -> Iterator[None]:
    """Say in one line which signs are boxes in what is drawn here; other warnings are as ever."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    signs: dict[str, None] = {}
    for each in caught:
        if found := MISSING.match(str(each.message)):
            signs[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if signs:
        _tell(", ".join(signs))


@cache
def _tell(signs: str) -> None:
    logger.warning("the figures' font has no %s: boxes stand there in .png and .pdf", printable(signs))
