"""The run directory: the only interface between training and reporting.

    config.yaml             resolved options, with the chosen option of every group
    status.json             running | done | diverged | failed | interrupted, with cause and step; once finished, the
                            sha256 of the other files here
    metrics.csv             one row per evaluation; equal configs give equal bytes
    timing.csv              seconds spent training, images per second, peak memory
    probes.csv              step, probe, layer, statistic, value (header only under probe=none)
    environment.json        versions, commit, hardware, threads, sha256 of the data
    checkpoint.safetensors  everything that a killed run needs to go on

Many of them can be packed into one archive, `records.zip`, which is read like the folder that it lies in.
Nothing that is read back can execute code.
"""

from normexp.records.curve_file import CurveFile as CurveFile
from normexp.records.files import MOST_TABLE as MOST_TABLE
from normexp.records.files import Damaged as Damaged
from normexp.records.files import Unreadable as Unreadable
from normexp.records.files import condition as condition
from normexp.records.files import damaged as damaged
from normexp.records.files import read_json as read_json
from normexp.records.files import read_regular as read_regular
from normexp.records.files import write_atomically as write_atomically
from normexp.records.find import find_run as find_run
from normexp.records.find import find_runs as find_runs
from normexp.records.find import from_here as from_here
from normexp.records.names import CHECKPOINT as CHECKPOINT
from normexp.records.names import CONFIG as CONFIG
from normexp.records.names import DAMAGED as DAMAGED
from normexp.records.names import ENVIRONMENT as ENVIRONMENT
from normexp.records.names import FINISHED as FINISHED
from normexp.records.names import IGNORED as IGNORED
from normexp.records.names import METRICS as METRICS
from normexp.records.names import OWN_CODE as OWN_CODE
from normexp.records.names import PROBES as PROBES
from normexp.records.names import STATUS as STATUS
from normexp.records.names import STATUSES as STATUSES
from normexp.records.names import TIMING as TIMING
from normexp.records.names import TRACEBACK as TRACEBACK
from normexp.records.names import UNREACHED as UNREACHED
from normexp.records.names import UNREADABLE as UNREADABLE
from normexp.records.parsing import json_object as json_object
from normexp.records.parsing import yaml_mapping as yaml_mapping
from normexp.records.plain import plain as plain
from normexp.records.plain import plain_json as plain_json
from normexp.records.printable import printable as printable
from normexp.records.printable import printable_lines as printable_lines
from normexp.records.run import RunDirectory as RunDirectory
from normexp.records.run import environment_before as environment_before
from normexp.records.run import read_rows as read_rows
from normexp.records.scores import final_score as final_score
from normexp.records.scores import mean_score as mean_score
from normexp.records.together import Together as Together
from normexp.records.together import together_before as together_before
