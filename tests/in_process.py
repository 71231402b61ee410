"""A sweep's worker without a process: what it trains is the same, and torch need not be imported again."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import Any

from normexp.sweeps.pool import Worker
from normexp.sweeps.worker import VERBS


class InProcess(Worker):
    def request(self, message: dict[str, Any], on_step: Callable[[int, int], None]) -> dict[str, Any]:
        arguments, logger = dict(message), logging.getLogger("normexp")
        logger.disabled = True  # what a worker says nobody hears
        try:
            return VERBS[arguments.pop("verb")](io.StringIO(), **arguments)
        finally:
            logger.disabled = False
