"""Logs as the real programs read them back, and whether they have the curves of a record."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from normexp.config.extras import LIBRARIES
from normexp.records import FINISHED, RunDirectory, read_rows
from normexp.runs.loggers import Point

Curves = dict[str, list[tuple[int, float]]]  # {column: [(step, value)]}, as a program has them


def loggers() -> list[object]:
    """Return the loggers as parameters; without its extra one is skipped. MLflow needs seconds for a new database."""
    missing = {name: [each for each in LIBRARIES[name] if find_spec(each) is None] for name in READERS}
    return [
        pytest.param(
            name,
            marks=[
                *([pytest.mark.slow] if name == "mlflow" else []),
                pytest.mark.skipif(bool(missing[name]), reason=f"{missing[name]} not installed: normexp[{name}]"),
            ],
        )
        for name in READERS
    ]


def of_tensorboard(results: Path, name: str) -> tuple[Curves, str]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(results / "tensorboard" / name), size_guidance={"scalars": 0, "tensors": 0})
    read.Reload()
    curves = {tag: [(each.step, each.value) for each in read.Scalars(tag)] for tag in read.Tags()["scalars"]}
    texts = {tag: read.Tensors(tag)[-1].tensor_proto.string_val[0].decode() for tag in read.Tags()["tensors"]}
    return curves, f"{texts.get('status', '')} {texts['settings']}"


def of_mlflow(results: Path, name: str) -> tuple[Curves, str]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{results / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("normexp").experiment_id
    (run,) = client.search_runs([experiment], f"tags.`mlflow.runName` = '{name}'")
    histories = {key: client.get_metric_history(run.info.run_id, key) for key in run.data.metrics}
    curves = {key: [(each.step, each.value) for each in history] for key, history in histories.items()}
    status = f"{run.data.tags['status']} {run.data.tags.get('cause')} {run.info.status}"
    return curves, f"{status} {' '.join(f'{key}={value}' for key, value in run.data.params.items())}"


def of_trackio(results: Path, name: str) -> tuple[Curves, str]:
    from trackio import Api, sqlite_storage

    sqlite_storage.TRACKIO_DIR = results / "trackio"
    (run,) = [each for each in Api().runs("normexp") if each.name == name]
    rows = sqlite_storage.SQLiteStorage.get_logs("normexp", name)
    keys = {key for row in rows for key in row} - {"step", "timestamp"}
    curves = {key: [(row["step"], row[key]) for row in rows if key in row] for key in keys}
    alerts = [f"{each['title']} {each['text']}" for each in run.alerts()]
    return curves, " ".join([*alerts, *(f"{key}={value}" for key, value in (run.config or {}).items())])


READERS: dict[str, Callable[[Path, str], tuple[Curves, str]]] = {
    "tensorboard": of_tensorboard,
    "mlflow": of_mlflow,
    "trackio": of_trackio,
}


def recorded(run: RunDirectory) -> Curves:
    """Return the curves of metrics.csv, of the test split the last point of a run that is finished."""
    curves: Curves = {}
    for point in map(Point.of, read_rows(run.path / "metrics.csv")):
        for name, value in point.values.items():
            curves.setdefault(name, []).append((point.step, value))
    last = slice(-1, None) if run.status["status"] in FINISHED else slice(0)
    parts = {name: points[last] if name.startswith("test/") else points for name, points in curves.items()}
    return {name: points for name, points in parts.items() if points}


def assert_same(curves: Curves, run: RunDirectory) -> None:
    """Compare as exactly as TensorBoard has numbers, in float32."""
    expected = recorded(run)
    assert set(curves) == set(expected) >= {"lr", "epoch", "train/loss"}
    for name, points in expected.items():
        assert [step for step, _ in curves[name]] == [step for step, _ in points]
        np.testing.assert_allclose([value for _, value in curves[name]], [value for _, value in points], rtol=1e-6)
