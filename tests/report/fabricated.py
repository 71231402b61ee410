"""Run directories made up through the format of normexp.records: no training, every value is known."""

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from normexp.records import CONFIG, METRICS, CurveFile, RunDirectory

CLASSIFICATION = ("step", "epoch", "lr", "train/loss", "train/accuracy", "test/loss", "test/accuracy")
REGRESSION = ("step", "epoch", "lr", "train/loss", "train/rmse", "test/loss", "test/rmse")
DEFAULTS: dict[str, dict[str, Any]] = {
    "none": {},
    "batch": {"momentum": 0.1, "eps": 1e-5},
    "layer": {"eps": 1e-5},
    "group": {"eps": 1e-5, "num_groups": 32},
}
RATES = {"sgd": 0.1, "adam": 0.001}
GROUPS = {"dataset": "digits", "inputs": "standardize", "model": "cnn", "norm": "none", "optim": "sgd"}


def config(overrides: dict[str, Any]) -> dict[str, Any]:
    """Return a resolved config as normexp.config writes it, from overrides by dotted key or group."""
    choices = {**GROUPS, **{key: value for key, value in overrides.items() if key in GROUPS}}
    values: dict[str, Any] = {"seed": 0, "epochs": 20, "eval_every": None, "results_dir": "results"}
    values |= {group: {"_target_": f"{group}.{option}"} for group, option in choices.items()}
    values["norm"] |= DEFAULTS.get(choices["norm"], {})
    values["optim"] |= {"lr": RATES.get(choices["optim"], 0.1)}
    values["dataset"] |= {"archive": None}
    for key, value in overrides.items():
        group, dot, name = key.partition(".")
        if dot:
            values.setdefault(group, {})[name] = value
        elif key not in GROUPS:
            values[key] = value
    return {**values, "_choices_": choices, "_changes_": deepcopy(overrides)}


def rows(accuracy: float, steps: Sequence[int]) -> list[dict[str, object]]:
    """Return evaluations that end at `accuracy`; step 0 has no training loss yet."""
    made: list[dict[str, object]] = []
    for step in steps:
        done = step / max(steps) if max(steps) else 0.0
        test = {"test/loss": 2.3 - 2.0 * done, "test/accuracy": 0.1 + (accuracy - 0.1) * done}
        train = {"train/loss": 2.0 - 1.5 * done, "train/accuracy": done} if step else {}
        made.append({"step": step, "epoch": step / 10, "lr": 0.1, **train, **test})
    return made


class Fabric:
    """Makes run directories below one folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.count = root, 0

    def __call__(
        self,
        accuracy: float = 0.9,
        *,
        name: str | None = None,
        status: str = "done",
        steps: Sequence[int] = (0, 10, 20, 30),
        table: Sequence[dict[str, object]] | None = None,
        columns: Sequence[str] = CLASSIFICATION,
        note: str = "",
        sha256: str = "5ha",
        **overrides: Any,
    ) -> RunDirectory:
        """Make one run; overrides are written `norm="batch", optim__lr=0.3`."""
        self.count += 1
        run = RunDirectory(self.root / (name or f"run{self.count:03}"))
        run.path.mkdir(parents=True)
        keys = {key.replace("__", "."): value for key, value in overrides.items()}
        (run.path / CONFIG).write_text(yaml.safe_dump(config(keys), sort_keys=False))
        content = rows(accuracy, steps) if table is None else table
        curve = CurveFile(run.path / METRICS, columns)
        curve.start(keep_until=-1)
        for row in content:
            curve.append(row)
        last = int(str(content[-1]["step"])) if content else 0
        run.write_status(status, step=last if status == "done" else last + 7)
        run.write_environment({"data": {"note": note, "sha256": sha256}})
        return run
