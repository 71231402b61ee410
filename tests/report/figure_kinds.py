"""A figure of every kind, and records to draw it from."""

from typing import Any

from drawn import Made, Rows, learning, made
from fabricated import Fabric

FIGURE: dict[str, dict[str, Any]] = {
    "curves": {"metric": "test/loss", "log": ["y"]},
    "percentiles": {"layer": "hidden.0"},
    "steps_to_target": {"metric": "test/accuracy", "target": 0.9, "sort": True},
    "against": {"metric": "test/accuracy", "axis": "batch_size", "log": ["x"]},
    "bars": {"metric": "test/loss", "axis": "batch_size", "log": ["x"], "sort": True},
    "counts": {"metrics": ["test/accuracy", "test/loss"]},
    "contour": {"table": "surface", "x": "w", "y": "b", "z": "loss", "path": "path", "log": ["z"]},
    "lines": {"table": "surface", "x": "w", "y": "loss", "by": "b", "panels": "arm", "boxes": "boxes"},
    "multiples": {"statistic": ["p15", "p85"], "layers": "all"},
    "heat": {"metric": "test/accuracy", "axis": "batch_size"},
}
HERE = {"where": {"batch_size": 8}}


def surface(arm: str, seed: int) -> Rows:
    return [
        {"w": w, "b": b, "loss": w * w + b * b + 0.01} for w in (-2.0, -1.0, 0.0, 1.0, 2.0) for b in (-1.0, 0.0, 1.0)
    ]


def probes(arm: str, seed: int) -> Rows:
    return [
        {"step": step, "probe": "percentiles", "layer": layer, "statistic": name, "value": value * step + seed}
        for layer in ("hidden.0", "hidden.1")
        for step in range(0, 101, 10)
        for name, value in (("p15", -1.0), ("p50", 0.0), ("p85", 1.0))
    ] + [
        {"step": step, "probe": "moments", "layer": layer, "statistic": "std", "value": 1.0}
        for layer in ("hidden.0", "hidden.0.0")
        for step in range(0, 101, 10)
    ]


def full(fabric: Fabric, scale: str = "cpu", **changes: Any) -> Made:
    """Return an experiment whose runs have everything that some kind of figure reads."""
    experiment = made(fabric, scale, **changes)
    experiment.statuses = {(next(iter(experiment.experiment.arms)), 1): "diverged"}
    experiment.run(learning)
    experiment.probes(probes)
    experiment.tables("surface", surface)
    experiment.tables("path", lambda arm, seed: [{"x": -1.5, "y": 0.5}, {"x": 1.0, "y": -0.5}, {"x": 5.0, "y": 0.0}])
    experiment.tables("boxes", lambda arm, seed: [{"x0": -2, "x1": 0, "y0": 0.5, "y1": 2, "label": "here"}])
    return experiment
