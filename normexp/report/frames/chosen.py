"""Whether the learning rates of runs were chosen, arm by arm: `chosen.json` beside an experiment's runs says so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from normexp.errors import UserError
from normexp.experiments.experiment import folder_name
from normexp.records import RunDirectory
from normexp.records.files import read_json
from normexp.records.names import CHOSEN

RATE = "optim.lr"
AT = re.compile(r"( [\w.]+=\S+)+$")  # the point of select.per, which ends the name of a choice


def every_rate_was_chosen(runs: Iterable[RunDirectory]) -> bool:
    """Tell whether the learning rate of each run's arm was chosen; of SCALE/runs/ARM/POINT beside SCALE/chosen.json."""
    arms = {(run.path.parents[2], run.path.parents[0].name) for run in runs if len(run.path.parents) > 2}
    chosen = {folder: _arms_with_a_choice(folder) for folder, _ in arms}
    return bool(arms) and all(arm in chosen[folder] for folder, arm in arms)


def _arms_with_a_choice(folder: Path) -> set[str]:
    """Return the arms, as their folders are called, whose rate was chosen."""
    try:
        chosen = read_json(folder / CHOSEN)["chosen"]
        return {folder_name(AT.sub("", name)) for name, values in chosen.items() if RATE in values}
    except (FileNotFoundError, UserError, KeyError, TypeError, AttributeError):
        return set()
