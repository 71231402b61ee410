"""An experiment's run directories as curves: arm and point of the grid -> seed -> what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from normexp.evidence.claims.sequential import looks_taken
from normexp.evidence.curves import Curves, short_commit
from normexp.evidence.stats import Design
from normexp.experiments.check import PROBE
from normexp.experiments.experiment import Experiment
from normexp.report.frame import experiment_frame
from normexp.report.record import Record

T = TypeVar("T")


@dataclass(frozen=True)
class Measured:
    """What there is of an experiment.

    Args:
        curves: finished runs only; a diverged one is finished.
        left_out: what cannot be read, a line each.
        notes: what the data say of themselves ("CIFAR-10, JPEG copy").
        precisions: in which the runs were computed, where they say; fp32 left out.
        commits: of the code that made the runs; `+` marks changed files.
        records: every run of the grid, whatever its status; under a sequential design those of the looks begun.
        confidence: of an interval that is one of 95 %, given how often it was looked at.
        looked: the seeds of the last look that a sequential design took; None where there is no such design.
        progress: how far a sequential design got, in words.
        waiting: why no claim is judged yet, in words; empty where the grid, or the first look, is trained.
    """

    curves: Curves
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    precisions: tuple[str, ...]
    commits: tuple[str, ...]
    records: tuple[Record, ...] = ()
    confidence: float = 0.95
    looked: tuple[int, ...] | None = None
    progress: str = ""
    waiting: str = ""

    @property
    def partly(self) -> str:
        """How many runs are trained, in words; empty where all are."""
        finished, total = sum(record.finished for record in self.records), len(self.records)
        return f"{finished} of {total} runs are trained" if finished < total else ""

    def at_look(self, by_seed: Mapping[int, T]) -> dict[int, T]:
        """Return what `confidence` holds of: all seeds, but for those that belong to a look that is not complete."""
        return {seed: each for seed, each in by_seed.items() if self.looked is None or seed in self.looked}

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


def read_measured(experiment: Experiment, results: Path) -> Measured:
    """Read every run of the grid that is finished; a damaged one is left out and named in the notes."""
    frame = experiment_frame(experiment, results)
    finished = [record.directory.environment for record in frame.records if record.finished]
    notes = {about.get("data", {}).get("note", "") for about in finished}
    precisions = {about.get("precision", "fp32") for about in finished}
    commits = {short_commit(about.get("commit")) for about in finished}
    cells = dict.fromkeys(record.cell for record in frame.records)
    looks = len(looks_taken(frame.cells, experiment.design, cells)) if experiment.design else 0
    measured = Measured(
        curves=frame.cells,
        left_out=frame.left_out,
        notes=tuple(sorted(notes - {""})),
        precisions=tuple(sorted(precisions - {"fp32"})),
        commits=tuple(sorted(commits)),
        records=frame.records,
        **(_after(experiment.design, looks) if experiment.design else {}),
    )
    if looks or not measured.partly:
        return measured
    return replace(measured, waiting=f"{measured.partly}; claims wait for all of them")


def _after(design: Design, looks: int) -> dict[str, Any]:
    """Return what a sequential design says of itself after so many looks."""
    seeds = design.at(looks - 1) if looks else ()
    return {"confidence": design.confidence(looks), "looked": seeds, "progress": design.progress(looks)}
