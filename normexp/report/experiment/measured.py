"""An experiment's run directories as curves: arm and point of the grid -> seed -> what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from normexp.evidence.curves import SECONDS_PER_STEP, Cell, Curve, Curves, error_of
from normexp.experiments.check import PROBE
from normexp.experiments.experiment import Experiment, Point, run_place
from normexp.records import FINISHED, PROBES, TIMING, RunDirectory, read_rows
from normexp.report.measurements import measurements


@dataclass(frozen=True)
class Measured:
    """What there is of an experiment.

    Args:
        curves: finished runs only; a diverged one is finished.
        missing: how many runs of the grid are not finished.
        notes: what the data say of themselves ("CIFAR-10, JPEG copy").
        precisions: in which the runs were computed, where they say; fp32 left out.
        commits: of the code that made the runs; `+` marks changed files.
    """

    curves: Curves
    missing: int
    notes: tuple[str, ...]
    precisions: tuple[str, ...]
    commits: tuple[str, ...]

    @property
    def metrics(self) -> list[str]:
        """The metrics that every run has, in the order of the files."""
        runs = [curve for seeds in self.curves.values() for curve in seeds.values()]
        names = [name for name in (runs[0].columns if runs else {}) if all(name in run.columns for run in runs)]
        return [name for name in names if not name.startswith(PROBE)]

    @property
    def probe_metrics(self) -> list[str]:
        """`probe/LAYER/STATISTIC` of whatever a probe of some run measured: a claim may be about it, too."""
        runs = (curve for seeds in self.curves.values() for curve in seeds.values())
        return list(dict.fromkeys(name for run in runs for name in run.columns if name.startswith(PROBE)))


def measured(experiment: Experiment, results: Path) -> Measured:
    """Read every run of the grid that is finished. Raises UserError where a record is damaged."""
    curves: dict[Cell, dict[int, Curve]] = {}
    missing, notes, precisions, commits = 0, set(), set(), set()
    for arm in experiment.arms:
        for point in experiment.points():
            run = RunDirectory(run_place(results, experiment, arm, point))
            if run.status["status"] not in FINISHED:
                missing += 1
                continue
            cell, seed = split_point(arm, point)
            curves.setdefault(cell, {})[seed] = read_curve(run)
            environment = run.environment
            notes.add(environment.get("data", {}).get("note", ""))
            precisions.add(environment.get("precision", "fp32"))
            commits.add(short_commit(environment.get("commit")))
    sorted_notes, used = sorted(notes - {""}), sorted(precisions - {"fp32"})
    return Measured(curves, missing, tuple(sorted_notes), tuple(used), tuple(sorted(commits)))


def short_commit(commit: str | None) -> str:
    """Return nine digits of a commit, with the + that marks changed files; `no checkout` for an installed wheel."""
    return "no checkout" if commit is None else commit[:9] + ("+" if commit.endswith("+") else "")


def split_point(arm: str, point: Point) -> tuple[Cell, int]:
    """Return the cell (without the seed) and the seed."""
    values = dict(point)
    seed = int(values.pop("seed"))
    return Cell(arm, tuple(values.items())), seed


def read_curve(run: RunDirectory) -> Curve:
    """Read one run's metrics.csv."""
    status = run.status
    columns = measurements(run, status)
    diverged = status["step"] if status["status"] == "diverged" else None
    arrays = {name: np.array(values) for name, values in columns.items() if name not in ("step", "epoch", "lr")}
    arrays |= {error: 1 - values for name, values in arrays.items() if (error := error_of(name))}
    steps = np.array(columns["step"], dtype=np.int64)
    return Curve(steps, arrays | _timed(run, steps) | _probed(run, steps), str(status["status"]), diverged)


def _timed(run: RunDirectory, steps: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
    """Return {seconds_per_step: mean up to every evaluation}, NaN at step 0; nothing of a study."""
    seconds = {int(row["step"]): float(row["seconds"]) for row in read_rows(run.path / TIMING)}
    found = np.array([seconds.get(step, np.nan) / step if step else np.nan for step in steps.tolist()])
    return {SECONDS_PER_STEP: found} if seconds else {}


def _probed(run: RunDirectory, steps: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
    """Return {probe/LAYER/STATISTIC: one value per evaluation}, NaN where the probe measured nothing."""
    place = {int(step): i for i, step in enumerate(steps)}
    columns: dict[str, npt.NDArray[np.float64]] = {}
    for row in read_rows(run.path / PROBES):
        name = f"{PROBE}{row['layer']}/{row['statistic']}"
        if (index := place.get(int(row["step"]))) is not None:
            columns.setdefault(name, np.full(len(steps), np.nan))[index] = float(row["value"])
    return columns
