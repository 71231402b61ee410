"""An experiment's run directories as curves: arm and point of the grid -> seed -> what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from normexp.evidence.claims.sequential import looks_taken
from normexp.evidence.curves import PROBE, Cell, Curve, Curves, short_commit
from normexp.evidence.metrics import better_direction
from normexp.evidence.reading import MissingRuns, value_at
from normexp.evidence.stats import CONFIDENCE, Design
from normexp.experiments.experiment import Experiment
from normexp.report.frames.reading import experiment_frame
from normexp.report.frames.record import STALE, Record

T = TypeVar("T")


@dataclass(frozen=True)
class Measured:
    """What there is of an experiment.

    Args:
        curves: finished runs only; a diverged one is finished.
        left_out: what cannot be read, a line each.
        notes: what the data say of themselves ("CIFAR-10, JPEG copy").
        precisions: in which the runs were computed, where they say; fp32 left out.
        gpus: on which runs were computed.
        commits: of the code that made the runs; `+` marks changed files.
        records: every run of the grid, whatever its status; under a sequential design those of the looks begun.
        design: of seeds that are added in batches, where there is one.
        looks: how many of them it has taken.
        waiting: why no claim is judged yet, in words; empty where the grid, or the first look, is trained.
    """

    curves: Curves
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    precisions: tuple[str, ...]
    gpus: tuple[str, ...]
    commits: tuple[str, ...]
    records: tuple[Record, ...] = ()
    design: Design | None = None
    looks: int = 0
    waiting: str = ""

    @property
    def partly(self) -> str:
        """How many runs are trained, in words; empty where all are."""
        finished, total = sum(record.finished for record in self.records), len(self.records)
        stale = f", {len(self.stale)} with other settings" if self.stale else ""
        return f"{finished} of {total} runs are trained{stale}" if finished < total else ""

    @property
    def stale(self) -> list[Record]:
        """The runs that were made with settings that are not those of the experiment today."""
        return [record for record in self.records if record.state == STALE]

    @property
    def confidence(self) -> float:
        """That of an interval that is one of 95 %, given how often it was looked at."""
        return self.design.confidence(self.looks) if self.design else CONFIDENCE

    @property
    def progress(self) -> str:
        """How far a sequential design got, in a sentence; empty where there is none."""
        return f"Looked at in batches of seeds: {self.design.progress(self.looks)}." if self.design else ""

    def at_look(self, by_seed: Mapping[int, T]) -> dict[int, T]:
        """Return what `confidence` holds of: all seeds, but for those that belong to a look that is not complete."""
        if self.design is None:
            return dict(by_seed)
        seeds = self.design.at(self.looks - 1) if self.looks else ()
        return {seed: each for seed, each in by_seed.items() if seed in seeds}

    @property
    def metrics(self) -> list[str]:
        """The metrics that every run has, in the order of the files."""
        runs = self.runs
        names = [name for name in (runs[0].columns if runs else {}) if all(name in run.columns for run in runs)]
        return [name for name in names if not name.startswith(PROBE)]

    @property
    def probe_metrics(self) -> list[str]:
        """`probe/LAYER/STATISTIC` of whatever a probe of some run measured: a claim may be about it, too."""
        return list(dict.fromkeys(name for run in self.runs for name in run.columns if name.startswith(PROBE)))

    @property
    def runs(self) -> list[Curve]:
        """The finished runs of all cells."""
        return runs_of(self.curves)

    def values(self, cell: Cell, metric: str, at: str) -> dict[int, float]:
        """Return seed -> value at a place of the curves, not finite for a diverged run; {} where runs end before it."""
        better = better_direction(metric)
        try:
            return {seed: value_at(run, metric, at, better) for seed, run in self.curves.get(cell, {}).items()}
        except MissingRuns:
            return {}


def runs_of(curves: Curves) -> list[Curve]:
    """Return the runs of all cells, in their order."""
    return [run for seeds in curves.values() for run in seeds.values()]


def read_measured(experiment: Experiment, results: Path) -> Measured:
    """Read every run of the grid that is finished; a damaged one is left out and named in the notes."""
    frame = experiment_frame(experiment, results)
    finished = [record.directory.environment for record in frame.records if record.finished]
    notes = {about.get("data", {}).get("note", "") for about in finished}
    precisions = {about.get("precision", "fp32") for about in finished}
    gpus = {str(about.get("processor")) for about in finished if about.get("device", "cpu") != "cpu"}
    commits = {short_commit(about.get("commit")) for about in finished}
    cells = dict.fromkeys(record.cell for record in frame.records)
    looks = len(looks_taken(frame.cells, experiment.design, cells)) if experiment.design else 0
    measured = Measured(
        curves=frame.cells,
        left_out=frame.left_out,
        notes=tuple(sorted(notes - {""})),
        precisions=tuple(sorted(precisions - {"fp32"})),
        gpus=tuple(sorted(gpus)),
        commits=tuple(sorted(commits)),
        records=frame.records,
        design=experiment.design,
        looks=looks,
    )
    if looks or not measured.partly:
        return measured
    claims = "; claims wait for all of them" if experiment.claims else ""
    return replace(measured, waiting=f"{measured.partly}{claims}")
