"""One run's metrics.csv, read and checked: a damaged file must not turn into a plausible number."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence

from normexp.errors import UserError
from normexp.records import METRICS, PROBES, TIMING, RunDirectory, damaged

Columns = dict[str, list[float]]


def measurements(run: RunDirectory, status: Mapping[str, object]) -> Columns:
    """Return the columns of metrics.csv, one value per evaluation; an empty cell is NaN.

    Raises UserError, naming the file, where it is missing, damaged, or shorter than the status says; or where another
    curve of the run is damaged.
    """
    path = run.path / METRICS
    try:
        text = run.text(METRICS)
        columns = _columns(text)
        _check_steps(columns["step"])
        _check_end(columns["step"], status)
        for name in (TIMING, PROBES):
            run.rows(name)
    except FileNotFoundError:
        raise damaged(path, "it is missing") from None
    except (ValueError, csv.Error) as error:
        raise damaged(path, error) from None
    return columns


def whole_rows(run: RunDirectory) -> Columns:
    """Return the columns of the rows that an unfinished run has written so far; nothing where they cannot be read."""
    try:
        text = run.text(METRICS)
        columns = _columns(text[: text.rfind("\n") + 1])
        _check_steps(columns["step"])
    except (OSError, UserError, ValueError, csv.Error):
        return {}
    return columns


def _columns(text: str) -> Columns:
    header, *rows = csv.reader(text.splitlines()) if text else [[]]
    if "step" not in header:
        raise ValueError("no step column")
    if not text.endswith("\n"):
        raise ValueError("its last row is cut off")
    values = [list(_numbers(header, row, line)) for line, row in enumerate(rows, start=2) if row]  # no blank lines
    return {name: [row[i] for row in values] for i, name in enumerate(header)}


def _numbers(header: Sequence[str], row: Sequence[str], line: int) -> Iterator[float]:
    if len(row) != len(header):
        raise ValueError(f"line {line} has {len(row)} cells, not {len(header)}")
    for name, cell in zip(header, row, strict=True):
        try:
            yield float(cell) if cell else math.nan
        except ValueError:
            raise ValueError(f"line {line}: {name} is {cell!r}, not a number") from None


def _check_steps(steps: Sequence[float]) -> None:
    if not all(math.isfinite(step) for step in steps) or list(steps) != sorted(set(steps)):
        raise ValueError("steps are missing, repeated or out of order")


def _check_end(steps: Sequence[float], status: Mapping[str, object]) -> None:
    """A finished run's last row is its final step; any earlier row would pass for the result."""
    if status["status"] != "done":
        return
    if not steps:
        raise ValueError("no rows, but the run is done")
    end = status.get("step")
    if isinstance(end, int) and steps[-1] < end:
        raise ValueError(f"ends at step {steps[-1]:.0f}, but the run was done at step {end}")
