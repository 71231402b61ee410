"""A sweep's worker without a process: what it trains is the same, and torch need not be imported again."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from normexp.sweeps.pool import Worker
from normexp.sweeps.worker import VERBS


class InProcess(Worker):
    def ask(self, message: dict[str, Any], on_step: Callable[[int, int], None]) -> dict[str, Any]:
        arguments = dict(message)
        return VERBS[arguments.pop("verb")](io.StringIO(), **arguments)
