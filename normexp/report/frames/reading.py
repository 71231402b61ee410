"""Run directories as tidy pandas tables: the one place where reports read records.

`experiment_frame` reads the runs of an experiment, `folder_frame` any run directories, `frame_of` both: what lies
below some paths. Each gives a `Frame` with three tables. All of them begin with the columns that say whose row it is:

    run         str      path of the run directory below the folder that all of them share
    experiment  str      '' for a run of none
    scale       str      smoke | cpu | desk | paper, '' for a run of no experiment
    arm         str      as the experiment calls it; otherwise the scheme and the keys that vary: batch, optim.lr=0.3
    AXIS        any      one column per key of the experiment's grid except the seed; otherwise `dataset` and `model`
    seed        Int64    missing where no config can be read
    status      str      new | running | done | diverged | failed | interrupted | damaged
                         | unreadable: just now, or too large | stale: an experiment's, made with other settings than it
                         has today

and have one row per

    runs    run directory, whatever its status.         step, steps  Int64   where it is or ended; how many it has
                                                        cause  str   why it failed, diverged or cannot be used
                                                        path   str
                                                        norm, dataset, model, and every KEY that varies between runs
    curves  run, evaluation and metric                  step  int64;  epoch  float64;  metric  str;  value  float64
    probes  run, step, layer and statistic              step  int64;  probe, layer, statistic  str;  value  float64

`curves` has the columns of metrics.csv, SPLIT/error for SPLIT/accuracy, and seconds_per_step of training, in the unit
of the file (accuracies are fractions). A value is NaN where nothing was measured, and where it was not finite. An arm
at one value of every axis, over its seeds, is a cell: `groupby(["arm", *frame.axes])`. Nothing is dropped: a mean over
`curves` takes the runs whose status says so. The exceptions, `frame.left_out`, are a second run of one cell and seed,
and the curves of damaged, unreadable and stale runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from normexp.config.own import target_key
from normexp.errors import UserError
from normexp.evidence.curves import named_point
from normexp.evidence.stats import Design
from normexp.experiments.experiment import Experiment, run_place
from normexp.experiments.load import names, read, scales
from normexp.experiments.selection import read_choice
from normexp.records import RunDirectory, find_runs
from normexp.records.sources import source_of
from normexp.report.frames.data_versions import with_data_versions
from normexp.report.frames.declared import declared_records
from normexp.report.frames.frame import Frame, text
from normexp.report.frames.labels import PLACES, Labels, among_values, order
from normexp.report.frames.options import Options, run_options
from normexp.report.frames.own_names import with_names_apart
from normexp.report.frames.record import Record

NEW = "new"  # the status of a run that was never started
RUNS = "runs"  # the folder of an experiment's runs; those of its selection are beside it
Group = tuple[Path, str, str]  # results folder, experiment and scale of a run; a run of no experiment has neither


def experiment_frame(experiment: Experiment, results: Path) -> Frame:
    """Read all runs of an experiment; one that was never started has the status `new`."""
    records = tuple(_experiment_records(experiment, results).values())
    return Frame(records, tuple(experiment.axes), _unreadable(records))


def folder_frame(directories: Sequence[RunDirectory]) -> Frame:
    """Read run directories of no experiment; what varies between those of one data set and model tells arms apart."""
    root = os.path.commonpath([run.path for run in directories])
    records = with_names_apart(with_data_versions([_plain_record(run, _name(run, root)) for run in directories]))
    together: dict[tuple[str, ...], list[Options | None]] = {}
    for record in records:
        together.setdefault(_place(record), []).append(record.options)
    labels = {group: Labels.among(options) for group, options in together.items()}
    named = [_named(record, labels[_place(record)]) for record in records]
    kept, twice = _one_per_seed(named)
    return Frame(tuple(sorted(kept, key=_order)), PLACES, (*twice, *_unreadable(kept)))


def frame_of(paths: Iterable[str | Path]) -> Frame:
    """Read every run directory at or below the paths, those of experiments under the names they have there.

    Runs that chose a hyperparameter count only where a path names their folder (`select`). An experiment of which
    several folders have results, as a colleague's beside one's own, is one in each. Raises UserError where there is no
    run directory.
    """
    unseen: list[str] = []
    groups = _by_experiment(_without_selection(paths, unseen))
    frames, plain = [], []
    for group, runs in groups.items():
        known = _in_folder(_known_frame(group, runs), _folder(group, groups))
        named = {record.directory.path for record in known.records}
        plain += [run for run in runs if run.path not in named]
        frames += [known] if named else []
    found = joined([*frames, *([folder_frame(plain)] if plain else [])])
    return replace(found, left_out=(*found.left_out, *(f"Not looked into: {line}." for line in unseen)))


def where(frame: Frame, wanted: Mapping[str, Sequence[str]]) -> Frame:
    """Return the frame of the runs that have one of the wanted values for every key.

    Raises: UserError for a key or a value that no run has, and where no run is left.
    """
    records = list(frame.records)
    for key, values in wanted.items():
        frame.check_key(key)
        for value in values:
            if not any(_has(record, key, value) for record in frame.records):
                raise _no_match(key, [value], frame.records)
        before, records = records, [record for record in records if any(_has(record, key, value) for value in values)]
        if not records:
            raise _no_match(key, values, before)
    plain = [record.directory for record in records if not record.experiment]
    rest = tuple(record for record in records if record.experiment)
    frames = [Frame(rest, frame.axes)] if rest else []
    chosen = joined([*frames, *([folder_frame(plain)] if plain else [])])  # other keys vary than before
    return replace(chosen, left_out=frame.left_out)


def _no_match(key: str, values: Sequence[str], records: Sequence[Record]) -> UserError:
    there = sorted({text(record.value(key)) for record in records if record.options})
    wanted, known = (",".join(map(among_values, each)) for each in (values, there))
    return UserError(f"{key}={wanted} matches no run; there is {key}={known}")


def _has(record: Record, key: str, value: str) -> bool:
    """Tell whether a run has a value; a part of somebody's own goes by its name, also with modules: my_norms.Scale."""
    target = target_key(key)
    own = record.options is not None and target in record.options.changed
    return _equal(record.value(key), value) or (own and f".{record.value(target)}".endswith(f".{value}"))


def _experiment_records(experiment: Experiment, results: Path) -> dict[Path, Record]:
    """Return the run directory of every arm and point, whether there is one or not."""
    records, chosen = {}, _chosen(experiment, results)
    for arm in experiment.arms:
        for point in experiment.points():
            path = run_place(results, experiment, arm, point)
            axes = named_point((key, value) for key, value in point if key != "seed")
            seed = int(dict(point)["seed"])
            name = PurePath(os.path.relpath(path, results)).as_posix()
            settings = experiment.settings(arm, point, chosen.get(experiment.choice_of(arm, point)))
            run = RunDirectory(path, source_of(path))  # as it is now: it is looked for once
            records[path] = Record(run, name, experiment.name, experiment.scale, arm, axes, seed, settings=settings)
    return _begun(records, experiment.design)


def _chosen(experiment: Experiment, results: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return what was chosen, by the name of the choice; nothing where the record of it cannot be read."""
    try:
        return read_choice(experiment, results)
    except UserError:
        return {}


def _begun(records: dict[Path, Record], design: Design | None) -> dict[Path, Record]:
    """Leave out the seeds of looks that a sequential design never got to: they are not missing."""
    if design is None:
        return records
    begun = [record.seed for record in records.values() if record.seed is not None and record.state != NEW]
    there = [design.seeds.index(seed) for seed in begun]
    look = next(look for look, size in enumerate(design.looks) if max(there, default=0) < size)
    return {path: record for path, record in records.items() if record.seed in design.at(look)}


def _without_selection(paths: Iterable[str | Path], unseen: list[str]) -> list[RunDirectory]:
    found: dict[Path, RunDirectory] = {}
    for path in map(Path, paths):
        runs = find_runs([path], unseen=unseen)
        measured = [run for run in runs if "select" not in PurePath(os.path.relpath(run.path, path.resolve())).parts]
        found |= {run.path: run for run in measured or runs}
    return [found[path] for path in sorted(found)]


def _by_experiment(runs: Sequence[RunDirectory]) -> dict[Group, list[RunDirectory]]:
    """Group runs by (results folder, experiment, scale), from where they lie: results/NAME/SCALE/runs/ARM/POINT."""
    groups: dict[Group, list[RunDirectory]] = {}
    for run in runs:
        above = [*run.path.parents, *[Path()] * 5]
        experiment_key = (above[4], above[3].name, above[2].name) if above[1].name == RUNS else (Path(), "", "")
        groups.setdefault(experiment_key, []).append(run)
    return groups


def _known_frame(group: Group, runs: Sequence[RunDirectory]) -> Frame:
    """Return the runs that an experiment has today, or that one of somebody's own declared; without any, none."""
    results, name, scale = group
    there = {run.path for run in runs}
    if experiment := _ours(name, scale):
        records = [record for path, record in _experiment_records(experiment, results).items() if path in there]
        return Frame(tuple(records), tuple(experiment.axes), _unreadable(records))
    records = declared_records(results, name, scale, runs) if name else []
    axes = tuple(dict.fromkeys(axis for record in records for axis, _ in record.point))  # one with no config has none
    return Frame(tuple(records), axes, _unreadable(records))


def _folder(group: Group, groups: Iterable[Group]) -> str:
    """Return the folder of results below the one that all share that have the experiment; empty where one has."""
    results, name, _ = group
    folders = {each for each, other, _ in groups if other == name}
    return PurePath(os.path.relpath(results, os.path.commonpath(folders))).as_posix() if len(folders) > 1 else ""


def _in_folder(frame: Frame, folder: str) -> Frame:
    """Return the frame of an experiment with a folder in its name, and in those of its runs."""

    def below(name: str) -> str:
        return PurePath(folder, name).as_posix()

    records = tuple(
        replace(record, run=below(record.run), experiment=below(record.experiment)) for record in frame.records
    )
    return Frame(records, frame.axes, _unreadable(records)) if folder else frame


def _ours(name: str, scale: str) -> Experiment | None:
    try:
        return read(name, scale) if name in names() and scale in scales(name) else None
    except UserError:
        return None


def joined(frames: Sequence[Frame]) -> Frame:
    """Return the runs of several frames as one, with the axes of all."""
    if len(frames) == 1:
        return frames[0]
    axes = tuple(dict.fromkeys(axis for frame in frames for axis in frame.axes))
    records = tuple(record for frame in frames for record in frame.records)
    return Frame(records, axes, tuple(line for frame in frames for line in frame.left_out))


def _name(run: RunDirectory, root: str) -> str:
    name = os.path.relpath(run.path, root)
    return run.path.name if name == "." else PurePath(name).as_posix()


def _plain_record(run: RunDirectory, name: str) -> Record:
    try:
        found = run_options(run)
    except UserError as error:
        return Record(run, name, error=error)
    return Record(run, name, seed=found.seed, known_options=found)


def _order(record: Record) -> tuple[Any, ...]:
    """Return the sort key of a run: by data set and model, known schemes first, then by label, seed and path."""
    norm = record.options["norm"] if record.options else ""
    return record.point, *order(norm, record.arm), -1 if record.seed is None else record.seed, record.run


def _place(record: Record) -> tuple[str, ...]:
    """Return the data set and the model, which outputs show beside the arm; empty where no config can be read."""
    return tuple(record.options[key] if record.options else "" for key in PLACES)


def _named(record: Record, labels: Labels) -> Record:
    """Return the record with its arm, data set and model."""
    arm = labels.short(record.options) if record.options else record.arm
    return replace(record, arm=arm, point=tuple(zip(PLACES, _place(record), strict=True)))


def _one_per_seed(records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Return the records without those of the same cell and seed, and a line for each of these; finished ones stay."""
    kept: dict[Any, Record] = {}
    left_out = []
    for record in sorted(records, key=lambda record: (not record.finished, record.run)):
        key = (record.cell, record.seed) if record.arm else record.run
        if (first := kept.setdefault(key, record)) is not record:
            name = f"{record.arm} seed {record.seed}"
            left_out.append(f"{name} is there twice: {first.run} counts, {record.run} does not.")
    return list(kept.values()), left_out


def _equal(value: Any, wanted: str) -> bool:
    """Tell whether a value is the wanted one, as text or as a number (1e-1 is 0.1)."""
    try:
        return text(value) == wanted or float(text(value)) == float(wanted)
    except ValueError:
        return False


def _unreadable(records: Iterable[Record]) -> tuple[str, ...]:
    """Return one line that names the runs that cannot be used, if there are any."""
    named = [f"{record.run} ({record.unreadable})" for record in records if record.unreadable]
    return (f"Left out, {len(named)} that cannot be used: {'; '.join(named)}.",) if named else ()
