"""What programs read: values that every parser of JSON takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def plain(value: object) -> Any:
    """Return what JSON has: inf, -inf and NaN, which it has not, become texts."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def plain_json(content: object) -> str:
    """Return content as indented JSON, with a line break at its end."""
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
