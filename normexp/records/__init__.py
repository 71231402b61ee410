"""The run directory: the only interface between training and reporting.

    config.yaml             resolved options, with the chosen option of every group
    status.json             running | done | diverged | failed | interrupted, with cause and step; once finished, the
                            sha256 of every other file
    metrics.csv             one row per evaluation; equal configs give equal bytes
    timing.csv              seconds spent training, images per second, peak memory
    probes.csv              step, probe, layer, statistic, value (header only under probe=none)
    environment.json        versions, commit, hardware, threads, sha256 of the data
    checkpoint.safetensors  everything that a killed run needs to go on

Many of them can be packed into one archive, `records.zip`, which is read like the folder that it lies in.
Nothing that is read back can execute code.
"""

from normexp.records.curve_file import CurveFile, cell
from normexp.records.files import (
    MOST_ROWS,
    MOST_TEXT,
    Damaged,
    damaged,
    read_json,
    read_regular,
    sweep_temporaries,
    write_atomically,
)
from normexp.records.find import find_run, find_runs
from normexp.records.names import (
    ARCHIVE,
    ASIDE,
    CHECKPOINT,
    CONFIG,
    ENVIRONMENT,
    FINISHED,
    LOCK,
    METRICS,
    PROBES,
    STATUS,
    STATUSES,
    TIMING,
    TRACEBACK,
)
from normexp.records.parsing import json_object, yaml_mapping
from normexp.records.plain import plain, plain_json
from normexp.records.printable import printable
from normexp.records.public_names import public_name, with_public_names
from normexp.records.run import RunDirectory, read_rows

__all__ = [
    "ARCHIVE",
    "ASIDE",
    "CHECKPOINT",
    "CONFIG",
    "ENVIRONMENT",
    "FINISHED",
    "LOCK",
    "METRICS",
    "MOST_ROWS",
    "MOST_TEXT",
    "PROBES",
    "STATUS",
    "STATUSES",
    "TIMING",
    "TRACEBACK",
    "CurveFile",
    "Damaged",
    "RunDirectory",
    "cell",
    "damaged",
    "find_run",
    "find_runs",
    "json_object",
    "plain",
    "plain_json",
    "printable",
    "public_name",
    "read_json",
    "read_regular",
    "read_rows",
    "sweep_temporaries",
    "with_public_names",
    "write_atomically",
    "yaml_mapping",
]
