"""What makes two runs the same run: the choices that differ from the defaults, without folders and hardware."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

ELSEWHERE = ("results_dir", "device", "threads", "plugins")  # where and on what, not what
FILES = ("dataset.archive", "dataset.path", "dataset.file")  # a moved file is still the same data


def identity(changes: Mapping[str, Any]) -> str:
    """Return 8 hexadecimal digits of the changes to the defaults.

    Because only changes count, a new key with a default leaves every old identity as it was. A file counts by
    its name; its content is compared through the fingerprint in the run's record.
    """
    relevant = {
        key: PurePath(str(value)).name if key in FILES and value is not None else value
        for key, value in changes.items()
        if key not in ELSEWHERE
    }
    text = json.dumps(relevant, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
