"""A worker of a shared sweep that trains nothing: it shows what claiming costs. Imports nothing heavy."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from pathlib import Path

from normexp.sweeps.claim_folder import ClaimFolder
from normexp.sweeps.pool import Worker
from normexp.sweeps.protocol import Claim, carry_out, end
from normexp.sweeps.serve import SweepWorker
from normexp.sweeps.shared import SharedSweep


class CountingFolder(ClaimFolder):
    """Counts what a worker asks of the file server."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.counts: Counter[str] = Counter()

    def create(self, name: str, content: str) -> bool:
        made = super().create(name, content)
        self.counts["files made" if made else "claims lost to another"] += 1
        return made

    def replace(self, name: str, content: str) -> None:
        self.counts["heartbeats"] += 1
        super().replace(name, content)

    def read(self, name: str) -> str | None:
        self.counts["files read"] += 1
        return super().read(name)

    def claims(self, block: int) -> list[str]:
        names = super().claims(block)
        self.counts["listings"] += 1
        self.counts["names listed"] += len(names)
        return names


class EmptyWorker(SweepWorker):
    """Claims cells and marks them done at once."""

    def train(self, claim: Claim) -> bool:
        carry_out(end(claim, "done"), self.sweep.folder)
        self.beats.ended(counts=True)
        return True


def main() -> None:
    """Work on the sweep that the first argument names; print how many cells were ended, and what that took."""
    logging.disable()
    sweep = SharedSweep(Path(sys.argv[1]))
    folder = sweep.folder = CountingFolder(sweep.path)
    ended = EmptyWorker(sweep, Worker(1)).serve()
    print(json.dumps([ended, folder.counts]))
