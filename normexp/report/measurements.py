"""One run's metrics.csv, checked: a damaged file must not turn into a plausible number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from normexp.errors import UserError
from normexp.records import METRICS, RunDirectory

if TYPE_CHECKING:
    import pandas as pd

NOT_METRICS = ("step", "epoch")
HIGHER_IS_BETTER = ("accuracy",)


def measurements(run: RunDirectory) -> pd.DataFrame:
    """Return the rows of metrics.csv by step. Raises UserError, naming the file, where it is damaged."""
    frame = run.metrics
    damage = _damage(run, frame)
    if damage:
        raise UserError(f"{run.path / METRICS}: damaged ({damage})")
    return frame


def metric_names(run: RunDirectory) -> list[str]:
    """Return the columns of metrics.csv that can be drawn, in the file's order."""
    return [str(name) for name in measurements(run).columns if name not in NOT_METRICS]


def is_share(metric: str) -> bool:
    """Tell whether a metric is a fraction, shown in percent."""
    return metric.endswith("accuracy")


def higher_is_better(metric: str) -> bool:
    return metric.endswith(HIGHER_IS_BETTER)


def title(metric: str) -> str:
    """Name a metric for people: test/accuracy -> test accuracy (%)."""
    return metric.replace("/", " ") + (" (%)" if is_share(metric) else "")


def _damage(run: RunDirectory, frame: pd.DataFrame) -> str:
    """Say what is wrong with the file, or return the empty string."""
    if "step" not in frame.columns:
        return "no step column"
    texts = [str(name) for name in frame.columns if frame[name].dtype.kind not in "iuf"]
    if len(frame) and texts:
        return f"not a number in column {texts[0]}"
    if frame["step"].isna().any() or not frame["step"].is_monotonic_increasing:
        return "steps missing or out of order"
    if not (run.path / METRICS).read_bytes().endswith(b"\n"):
        return "its last row is cut off"
    return _too_short(run, frame)


def _too_short(run: RunDirectory, frame: pd.DataFrame) -> str:
    """A finished run's last row is its final step; any earlier row would pass for the result."""
    status = run.status
    if status["status"] != "done":
        return ""
    last = int(frame["step"].iloc[-1]) if len(frame) else None
    if last is None:
        return "no rows"
    end = int(status.get("step", last))
    return f"ends at step {last}, but the run was done at step {end}" if last < end else ""
