"""Names of the files of a run directory, and the words of its status."""

import re

CONFIG, STATUS, METRICS, TIMING = "config.yaml", "status.json", "metrics.csv", "timing.csv"
PROBES = "probes.csv"
ENVIRONMENT, CHECKPOINT, TRACEBACK = "environment.json", "checkpoint.safetensors", "traceback.txt"
IGNORED = "ignored_norm"  # the key of environment.json that says of a scheme that it changes nothing
UNREACHED = "unreached_options"  # the key that says which of its options wait for more updates than the run has
OWN_CODE = "own_code"  # the key that has the sha256 of the files of the user's own parts
STATUSES = ("running", "done", "diverged", "failed", "interrupted")
FINISHED = ("done", "diverged")
DAMAGED = "damaged"  # said of a run that is not what it should be; no status.json has it,
UNREADABLE = "unreadable"  # nor this one: of a run that cannot be read just now, or not as a whole
LOCK = ".lock"
ASIDE = ".damaged-"  # a run directory NAME that cannot be read is set aside as NAME.damaged-1, -2, ...
ARCHIVE = "records.zip"  # in a folder: the packed run directories below it; more than fit are in records.2.zip, ...
SUMS = "SHA256SUMS"  # an archive's first member: its checksums, as `sha256sum -c` reads them
FROZEN = "frozen.json"  # beside the runs of an experiment: what was declared before them,
CHOSEN = "chosen.json"  # what was chosen by those of its selection,
JOURNAL = "optuna.journal"  # what was scored for a sampler,
CLAIMS = "claims.json"  # and its claims, judged

_ARCHIVE = re.compile(r"records(\.[2-9]|\.[1-9]\d+)?\.zip")


def archive_name(part: int) -> str:
    """Return what a part of a folder's packed runs is called, counted from 1."""
    return ARCHIVE if part == 1 else f"records.{part}.zip"


def is_archive(name: str) -> bool:
    """Tell whether a file of this name holds packed runs of the folder that it lies in."""
    return _ARCHIVE.fullmatch(name) is not None
