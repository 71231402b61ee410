"""Which jobs of a batch system were submitted for a sweep, so that whoever comes later finds them."""

from __future__ import annotations

import json

from normexp.records.files import read_json, write_atomically
from normexp.sweeps.shared import SharedSweep

JOBS = "jobs.json"


def submitted(sweep: SharedSweep) -> list[str]:
    """Return the numbers of the jobs that were submitted for a sweep."""
    try:
        return [str(job) for job in read_json(sweep.path / JOBS)["slurm"]]
    except (FileNotFoundError, KeyError, TypeError):
        return []


def note_submitted(sweep: SharedSweep, job: str) -> None:
    write_atomically(sweep.path / JOBS, json.dumps({"slurm": [*submitted(sweep), job]}) + "\n")
