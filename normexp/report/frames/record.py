"""One run directory as the reports see it: who it is, how it ended, and what it measured. Read when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from normexp.config import flat
from normexp.config.identity import staleness
from normexp.config.options import said_by
from normexp.errors import UserError
from normexp.evidence.curves import PROBE, SECONDS_PER_STEP, Cell, Column, Curve, Made
from normexp.evidence.metrics import error_of
from normexp.records import DAMAGED, FINISHED, PROBES, TIMING, UNREADABLE, RunDirectory, condition
from normexp.report.frames.measurements import Columns, measurements, whole_rows
from normexp.report.frames.options import Options, run_options

STALE = "stale"  # made with settings that are not those of the experiment
OWN = {"run": "run", "experiment": "experiment", "scale": "scale", "arm": "arm", "seed": "seed", "status": "state"}
NOT_METRICS = ("step", "epoch")


@dataclass(frozen=True, eq=False)
class Record:
    """One run.

    Args:
        run: its path below the folder that all runs of a report share, so that no output names a machine's path.
        experiment, scale: whose run it is; empty for a run of no experiment.
        arm: as the experiment calls it, or the scheme and the keys that vary; empty where no config can be read.
        point: (axis, value) of the experiment's grid; data set and model for a run of no experiment.
        seed: None where no config can be read.
        known_options: what its config says, where that was read already.
        error: why its config cannot be read; a run that failed early may have none.
        settings: what the experiment sets for it today; a run that was made with others is stale.
    """

    directory: RunDirectory
    run: str
    experiment: str = ""
    scale: str = ""
    arm: str = ""
    point: tuple[tuple[str, Any], ...] = ()
    seed: int | None = None
    known_options: Options | None = None
    error: UserError | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def options(self) -> Options | None:
        """What its config says, by dotted key; None where it cannot be read."""
        if self.known_options is not None or self.error:
            return self.known_options
        try:
            return run_options(self.directory)
        except UserError:
            return None

    def value(self, key: str) -> Any:
        """Return the value of an axis, a column of the runs, or a key of the config; None where it has none."""
        if key in OWN:
            return getattr(self, OWN[key])
        axes: dict[str, Any] = dict(self.point)
        return axes[key] if key in axes else self.options.get(key) if self.options else None

    @property
    def cell(self) -> Cell:
        return Cell(self.arm, self.point)

    @property
    def status(self) -> Mapping[str, Any]:
        """Return status.json; `damaged` or `unreadable`, with the cause, of a record that cannot be trusted."""
        return self._read[0]

    @property
    def state(self) -> str:
        return str(self.status["status"])

    @property
    def finished(self) -> bool:
        """Done or diverged: both are results."""
        return self.state in FINISHED

    @property
    def unreadable(self) -> str:
        """Why the run cannot be in any table or figure; empty for one that can."""
        if self.state in (DAMAGED, UNREADABLE, STALE):
            return str(self.status["cause"])
        return self._cause(self.error) if self.error else ""

    @property
    def columns(self) -> Columns:
        """The columns of metrics.csv; of an unfinished run, its whole rows; of a damaged one, nothing."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[Mapping[str, Any], Columns]:
        try:
            status = self.directory.status
            if status["status"] in FINISHED:
                if self.error:
                    raise self.error
                if other := self._other_setting():
                    return {"status": STALE, "cause": other}, {}
                return status, measurements(self.directory, status)
        except UserError as error:
            return {"status": condition(error), "cause": self._cause(error)}, {}
        return status, {} if self.error else whole_rows(self.directory)

    def _cause(self, error: UserError) -> str:
        """Return an error as it is said beside the name of the run."""
        return str(error).removeprefix(f"{self.directory.path}/")

    def _other_setting(self) -> str:
        """Say which setting the run was made with is not the one that its experiment has today; '' where all are."""
        recorded = self.directory.config if self.settings else {}
        return staleness({**(recorded.get("_changes_") or {}), **flat(recorded)}, self.settings)

    @cached_property
    def metrics(self) -> dict[str, Column]:
        """Return every metric, one value per evaluation (NaN: not measured, or not finite).

        Besides the recorded ones: SPLIT/error, and the mean seconds per training step up to each evaluation.
        """
        arrays = {name: np.array(values) for name, values in self.columns.items() if name not in NOT_METRICS}
        arrays |= {error: 1 - values for name, values in arrays.items() if (error := error_of(name))}
        return arrays | self._seconds()

    @cached_property
    def steps(self) -> npt.NDArray[np.int64]:
        """The step of every evaluation."""
        return np.array(self.columns.get("step", []), dtype=np.int64)

    @cached_property
    def probes(self) -> list[dict[str, str]]:
        """The rows of probes.csv, as text: step, probe, layer, statistic, value."""
        return [] if self.unreadable else self._rows(PROBES)

    def _rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a file; nothing where it is damaged, as it may be of an unfinished run."""
        try:
            return self.directory.rows(name)
        except UserError:
            return []

    @property
    def curve(self) -> Curve:
        """Return what the claims read: all metrics and `probe/LAYER/STATISTIC`, by step."""
        diverged = self.status["step"] if self.state == "diverged" else None
        metrics = {name: values for name, values in self.metrics.items() if name != "lr"}
        made = Made.of(self.directory.environment, self._chance(), self._learns())
        return Curve(self.steps, metrics | self._probed(), self.state, diverged, made)

    def _chance(self) -> float:
        """Return the accuracy without looking that the data set's option tells; 0 where it tells none."""
        name = self.options["dataset"] if self.options else ""
        return float(said_by("dataset", name, "_chance_") or 0)

    def _learns(self) -> str:
        """Return the split whose accuracy shows whether the run learned: see `Made`."""
        noise = self.options.get("dataset.label_noise") if self.options else None
        return "train" if noise and float(noise) else "test"

    def _seconds(self) -> dict[str, Column]:
        """Return {seconds_per_step: one value per evaluation}, NaN where none was timed; nothing of a study."""
        if not (self.columns and self.directory.has(TIMING)):
            return {}
        seconds = {int(row["step"]): float(row["seconds"]) for row in self._rows(TIMING)}
        steps = self.steps.tolist()
        return {SECONDS_PER_STEP: np.array([seconds.get(step, np.nan) / step if step else np.nan for step in steps])}

    def _probed(self) -> dict[str, Column]:
        """Return {probe/LAYER/STATISTIC: one value per evaluation}, NaN where the probe measured nothing."""
        index = {int(step): i for i, step in enumerate(self.steps)}
        columns: dict[str, Column] = {}
        for row in self.probes:
            name = f"{PROBE}{row['layer']}/{row['statistic']}"
            if (at := index.get(int(row["step"]))) is not None:
                columns.setdefault(name, np.full(len(self.steps), np.nan))[at] = float(row["value"])
        return columns
