"""What programs read: values that every parser of JSON takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from normexp.records.printable import is_hidden


def plain(value: object) -> Any:
    """Return what JSON has: inf, -inf, NaN and paths, which it has not, become texts."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    is_text = isinstance(value, PurePath) or (isinstance(value, float) and not math.isfinite(value))
    return str(value) if is_text else value


def plain_json(content: object) -> str:
    """Return content as indented JSON, with a line break at its end.

    Letters of any language stand as they are; what would move the cursor, and bytes of a name that are no text, as
    escapes: whoever reads the JSON gets the same name.
    """
    text = json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)
    return "".join(json.dumps(each)[1:-1] if each > "~" and is_hidden(each) else each for each in text) + "\n"
