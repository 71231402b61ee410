"""Runs of an experiment whose YAML lies somewhere else, under the names that `frozen.json` declared before them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from normexp.config.text import shown
from normexp.errors import UserError
from normexp.evidence.curves import AxisValue, axis_value
from normexp.experiments.experiment import folder_name
from normexp.records import RunDirectory, printable
from normexp.report.frames.options import run_options
from normexp.report.frames.record import Record

Grid = dict[str, list[AxisValue]]


def declared_records(results: Path, name: str, scale: str, runs: Sequence[RunDirectory]) -> list[Record]:
    """Return the records of the runs whose arm was declared, in the order of arms; none without a declaration.

    None of them is stale: whether its experiment has changed since, the YAML alone would tell.
    """
    from normexp.experiments.freeze import recorded  # with the schema of claims, which takes long to import

    try:
        declaration = recorded(results / name / scale)
    except UserError:
        return []
    arms = {folder_name(arm): printable(arm, most=len(arm)) for arm in declaration.get("arm", {})}
    declared = declaration.get("grid", {}).items()
    grid = {axis: [*map(axis_value, values)] for axis, values in declared if isinstance(values, list)}
    found = [
        _with_point(Record(run, PurePath(run.path.relative_to(results)).as_posix(), name, scale, arms[folder]), grid)
        for run in runs
        if (folder := run.path.parent.name) in arms
    ]
    return sorted(found, key=lambda record: _order(record, [*arms.values()], grid))


def _order(record: Record, arms: Sequence[str], grid: Grid) -> tuple[int, list[int], int]:
    values = [grid[axis].index(value) if value in grid[axis] else -1 for axis, value in record.point]
    return arms.index(record.arm), values, -1 if record.seed is None else record.seed


def _with_point(record: Record, grid: Grid) -> Record:
    """Return the record with its seed and its point of the grid, which its config tells."""
    try:
        options = run_options(record.directory)
    except UserError as error:
        return replace(record, error=error)
    return replace(record, point=tuple(_point(options, grid)), seed=options.seed, known_options=options)


def _point(options: dict[str, str], grid: Grid) -> Iterator[tuple[str, AxisValue]]:
    """Yield every axis with the declared value, a number where it is one; else with what the run says."""
    for axis, values in grid.items():
        said = options.get(axis)
        yield axis, next((value for value in values if shown(value) == said), said)
