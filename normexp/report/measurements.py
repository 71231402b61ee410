"""One run's metrics.csv, read and checked: a damaged file must not turn into a plausible number."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from normexp.errors import UserError, unknown
from normexp.evidence.curves import better_direction
from normexp.evidence.curves import is_share as is_share
from normexp.records import METRICS, PROBES, TIMING, RunDirectory, damaged

Columns = dict[str, list[float]]
RESULTS = [  # the first there is stands beside the training loss; nobody should choose by the test split
    f"{split}/{name}" for split in ("validation", "test") for name in ("accuracy", "rmse", "loss")
]
NEVER_NEGATIVE = ("loss", "rmse", "mse", "error", "perplexity", "bpc", "byte", "variance", "std", "deviation", "abs")


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


def title(metric: str) -> str:
    """Name a metric for people: test/accuracy -> test accuracy (%)."""
    return metric.replace("/", " ").replace("_", " ") + (" (%)" if is_share(metric) else "")


def drawn_unasked(known: Collection[str]) -> list[str]:
    """Return the metrics of which a plot shows the curves where none is named; none of a study, which has others."""
    result = [name for name in RESULTS if name in known][:1]
    return [name for name in ("train/loss", *result) if name in known]


def factor(metric: str) -> float:
    """Return by what a metric is multiplied to be shown: shares are in percent."""
    return 100.0 if is_share(metric) else 1.0


def worst(metric: str) -> float:
    """Return minus or plus infinity, whichever end of an axis is the bad one; plus where the name does not tell."""
    return -math.inf if better_direction(metric) == "higher" else math.inf


def possible(metric: str) -> tuple[float, float]:
    """Return the smallest and the largest value that a metric can have, as it is shown: shares in percent.

    A loss, an error, a variance are never negative; of a name that does not tell, and of logarithms, nothing is known.
    """
    if is_share(metric):
        return 0.0, 100.0
    words = metric.replace("/", "_").split("_")
    return 0.0 if words[-1] in NEVER_NEGATIVE and not words[0].startswith("log") else -math.inf, math.inf


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


def check_metric(metric: str, known: Collection[str]) -> None:
    """Raise UserError for a metric that no run has; of `accuracy` alone that of the validation split is meant."""
    measure = f"validation/{metric}"
    if metric not in known or measure in known:
        raise unknown("metric", metric, known, measure if measure in known else None)
