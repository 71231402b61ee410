"""Runs -> arms. An arm is all runs that agree in everything but the seed and where they were computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

from normexp.config.defaults import with_defaults
from normexp.config.identity import IGNORED_KEYS, PATH_KEYS
from normexp.config.text import shown
from normexp.errors import UserError
from normexp.records import FINISHED, RunDirectory
from normexp.report.labels import NOTE, Labels, Options, order
from normexp.report.measurements import Columns, measurements

# `eval_every` decides how often a run is looked at, not what it is.
SAME_ARM = ("seed", "eval_every", "dataset.archive", *IGNORED_KEYS)


@dataclass(frozen=True, eq=False)
class Run:
    """One run as the reports see it.

    Args:
        name: its path below the folder that all runs share, so that no output names a machine's path.
        options: what makes its arm: chosen options by group, and every resolved key by its dotted name; a key that
            its record does not have yet, at today's default.
        changed: the keys among them that were set, not left at the default.
    """

    directory: RunDirectory
    name: str
    seed: int
    status: Mapping[str, Any]
    note: str
    options: Mapping[str, str]
    changed: frozenset[str]

    @cached_property
    def metrics(self) -> Columns:
        return measurements(self.directory, self.status)

    @property
    def finished(self) -> bool:
        return self.status["status"] in FINISHED

    @property
    def converged(self) -> bool:
        return self.status["status"] == "done"


@dataclass(frozen=True)
class Arm:
    """Runs that differ only in their seed, ordered by it, each seed once.

    Args:
        label: norm, then every key that varies over the report: `batch, model=mlp, optim.lr=0.3`.
        short: the same without data set and model, for outputs that give these their own place.
        runs: done or diverged; only these are in any statistic.
        unfinished: all the others; every report counts and names them.
    """

    dataset: str
    model: str
    norm: str
    label: str
    short: str
    runs: tuple[Run, ...]
    unfinished: tuple[Run, ...]

    @property
    def converged(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.converged)

    @property
    def place(self) -> tuple[str, str]:
        return self.dataset, self.model


@dataclass(frozen=True)
class Selection:
    """All arms of a report in their order, and what was left out.

    Args:
        duplicates: pairs (kept, left out).
        unreadable: why a run directory cannot be read, a line each.
    """

    arms: tuple[Arm, ...]
    duplicates: tuple[tuple[Run, Run], ...]
    unreadable: tuple[str, ...] = ()


def select(directories: Sequence[RunDirectory]) -> Selection:
    """Group runs into arms. The result does not depend on the order or the place of the directories."""
    groups: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    loaded, unreadable = _load(directories)
    for run in loaded:
        groups.setdefault(tuple(sorted(run.options.items())), []).append(run)
    labels = Labels.over([dict(key) for key in groups], {key for run in _all(groups) for key in run.changed})
    unique = {key: _one_per_seed(runs) for key, runs in groups.items()}
    arms = [_arm(dict(key), kept, labels) for key, (kept, _) in unique.items()]
    arms.sort(key=lambda arm: (arm.place, *order(arm.norm, arm.label)))
    by_label = sorted(unique, key=lambda key: labels.full(dict(key)))
    return Selection(tuple(arms), tuple(pair for key in by_label for pair in unique[key][1]), unreadable)


def peers(directory: RunDirectory, others: Sequence[RunDirectory]) -> tuple[list[RunDirectory], list[str]]:
    """Return the runs among `others` that differ from one in norm and seed alone, and what is wrong with any.

    A run that has not finished is no peer yet.
    """
    wanted, found, damaged = _without_norm(directory), [], []
    for other in others:
        try:
            if other.status["status"] in FINISHED and _without_norm(other) == wanted:
                measurements(other, other.status)
                found.append(other)
        except UserError as error:
            damaged.append(str(error))
    return found, damaged


def _without_norm(directory: RunDirectory) -> dict[str, str]:
    options = _run(directory, ".").options
    return {key: value for key, value in options.items() if key.partition(".")[0] != "norm"}


def _all(groups: Mapping[Any, list[Run]]) -> Iterable[Run]:
    return (run for runs in groups.values() for run in runs)


def _load(directories: Sequence[RunDirectory]) -> tuple[list[Run], tuple[str, ...]]:
    """Read the runs that trained, and why others cannot be read. Raises UserError where none is left."""
    root = os.path.commonpath([run.path for run in directories])
    runs, unreadable = [], []
    for directory in directories:
        try:
            runs.append(_run(directory, os.path.relpath(directory.path, root)))
            if runs[-1].finished:
                _ = runs[-1].metrics
        except UserError as error:
            runs = [run for run in runs if run.directory is not directory]
            unreadable.append(str(error))
    trained = [run for run in runs if run.options.get("study", "none") == "none"]
    if not trained:
        study = f"{directories[0].path}: a study, it trained nothing; its numbers are in metrics.csv there"
        raise UserError(study if runs else unreadable[0])
    below = tuple(sorted(text.removeprefix(f"{root}/") for text in unreadable))
    return sorted(trained, key=lambda run: run.name), below


def run_options(directory: RunDirectory) -> Options:
    """Read a run's options. Raises UserError where its config cannot be read."""
    run = _run(directory, ".")
    return Options(run.options, run.seed, run.changed)


def _run(directory: RunDirectory, name: str) -> Run:
    config = with_defaults(directory.config)
    changed = frozenset(map(str, config.get("_changes_") or {}))
    note = str(directory.environment.get("data", {}).get("note") or "")
    return Run(
        directory=directory,
        name=PurePath(name).as_posix() if name != "." else directory.path.name,
        seed=int(config.get("seed", 0)),
        status=directory.status,
        note=note,
        options=_options(config, note, changed),
        changed=changed,
    )


def _options(config: Mapping[str, Any], note: str, changed: frozenset[str]) -> dict[str, str]:
    """Return what the runs of an arm share, as text by dotted key.

    The data's note takes the place of the archive's path: the same data from another folder is the same arm,
    a lossy copy is not. Other files count by their name.
    """
    keys = {key: value for key, value in config.items() if key not in ("_choices_", "_changes_")}
    options = {key: shown(value) for key, value in _leaves(keys) if key not in SAME_ARM}
    options |= {key: PurePath(options[key]).name for key in PATH_KEYS if key in options}
    options |= {group: str(option) for group, option in config["_choices_"].items()}
    if "norm._target_" in changed:  # a scheme of the user's own goes by its class name
        options["norm"] = options["norm._target_"].rpartition(".")[2]
    return {**options, NOTE: note}


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _one_per_seed(runs: Sequence[Run]) -> tuple[list[Run], list[tuple[Run, Run]]]:
    """Return the runs, one per seed, and the pairs (kept, left out); a finished run is kept first."""
    kept: dict[int, Run] = {}
    left_out = []
    for run in sorted(runs, key=lambda run: (run.seed, not run.finished, run.name)):
        if run.seed in kept:
            left_out.append((kept[run.seed], run))
        else:
            kept[run.seed] = run
    return list(kept.values()), left_out


def _arm(options: Mapping[str, str], runs: Sequence[Run], labels: Labels) -> Arm:
    return Arm(
        dataset=options["dataset"],
        model=options["model"],
        norm=options["norm"],
        label=labels.full(options),
        short=labels.short(options),
        runs=tuple(run for run in runs if run.finished),
        unfinished=tuple(run for run in runs if not run.finished),
    )
