"""A sweep's worker without a process: what it trains is the same, and torch need not be imported again."""

import io
import logging
import threading
from typing import Any

from normexp.sweeps.pool import Worker
from normexp.sweeps.worker_process import VERBS


class InProcess(Worker):
    def request(self, message: dict[str, Any], *_: object) -> dict[str, Any]:
        arguments, logger, here = dict(message), logging.getLogger("normexp"), threading.get_ident()

        def of_others(record: logging.LogRecord) -> bool:
            return record.thread != here

        logger.addFilter(of_others)  # what a worker says nobody hears; another thread may be the sweep's own
        try:
            return VERBS[arguments.pop("verb")](io.StringIO(), **arguments)
        finally:
            logger.removeFilter(of_others)
